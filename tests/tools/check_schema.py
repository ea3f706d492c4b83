#!/usr/bin/env python3
"""check_schema.py --program PROG --work DIR: every report of the tests against the shipped schema.

The schema that ships lets readers skip fields they do not know; here unknown fields are
forbidden, so that a field without a line in the schema is found. Also: two runs give the same
bytes, in another folder, locale and time zone. Last line: "N passed, N failed".
"""
import argparse
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys

import jsonschema


def close(node):
    """Forbids unknown keys in every object of the schema that lists its keys."""
    if isinstance(node, dict):
        if "properties" in node and "additionalProperties" not in node:
            node["additionalProperties"] = False
        elif node.get("additionalProperties") is True:
            node["additionalProperties"] = False
        for value in node.values():
            close(value)
    elif isinstance(node, list):
        for value in node:
            close(value)
    return node


def sets_of_inputs(root):
    """Each folder of fixtures with logs in it is one call; each log of it alone is another."""
    suffixes = {".jsonl", ".csv", ".json", ".log", ".txt"}
    for folder in sorted({p.parent for p in (root / "fixtures").rglob("*") if p.suffix in suffixes}):
        logs = sorted(p for p in folder.iterdir() if p.suffix in suffixes)
        yield str(folder.relative_to(root)), [str(p.relative_to(root)) for p in logs]
        if len(logs) > 1:
            for log in logs:
                yield str(log.relative_to(root)), [str(log.relative_to(root))]


def no_nan(name):
    raise ValueError(f"{name} in JSON")


class Checker:
    def __init__(self, program, work, root):
        self.program, self.work, self.root = program, work, root
        self.passed = self.failed = 0
        schema = json.loads((root / "templates" / "report.schema.json").read_text())
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        self.open, self.closed = kind(schema), kind(close(json.loads(json.dumps(schema))))

    def count(self, name, problems):
        if problems:
            self.failed += 1
            print(f"FAILED: {name}")
            for p in problems[:8]:
                print(f"  {p}")
        else:
            self.passed += 1

    def run(self, args, **env):
        full = dict(os.environ, **env)
        full.pop("SOURCE_DATE_EPOCH", None)
        return subprocess.run([self.program, *args], capture_output=True, cwd=self.root, env=full, check=False)

    def validate(self, name, logs):
        done = self.run(["--stdout", "json", *logs])
        if done.returncode == 2 and b"no input with memory figures" in done.stderr:
            return
        problems = []
        if done.returncode != 0:
            problems.append(f"exit status {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}")
        else:
            try:
                report = json.loads(done.stdout, parse_constant=no_nan)
                for validator in (self.open, self.closed):
                    for e in validator.iter_errors(report):
                        problems.append("/".join(map(str, e.absolute_path)) + ": " + e.message[:200])
            except ValueError as e:
                problems.append(str(e))
        self.count(f"report.json of {name}", problems)

    def same_bytes(self, logs):
        here, there = self.work / "here", self.work / "there" / "elsewhere"
        for path in (here, there):
            shutil.rmtree(path, ignore_errors=True)
            path.parent.mkdir(parents=True, exist_ok=True)
        first = self.run(["-o", str(here.resolve()), *logs], LC_ALL="C", TZ="UTC")
        second = self.run(["-o", str(there.resolve()), *reversed(logs)], LC_ALL="C.UTF-8", TZ="Asia/Tokyo")
        problems = []
        if first.returncode or second.returncode:
            problems.append((first.stderr + second.stderr).decode(errors="replace")[-400:])
        else:
            names = [sorted(str(p.relative_to(d)) for p in d.rglob("*") if p.is_file()) for d in (here, there)]
            if names[0] != names[1]:
                problems.append(f"different files: {names[0]} {names[1]}")
            _, differ, errors = filecmp.cmpfiles(here, there, names[0], shallow=False)
            problems += [f"differs: {n}" for n in differ + errors]
        self.count("two runs give the same bytes", problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    args.work.mkdir(parents=True, exist_ok=True)
    checker = Checker(os.path.abspath(args.program), args.work, root)
    demo = []
    for name, logs in sets_of_inputs(root):
        checker.validate(name, logs)
        if name == "fixtures/demo":
            demo = logs
    if demo:
        checker.same_bytes(demo)
    else:
        checker.count("fixtures/demo", ["no logs there"])
    print(f"{checker.passed} passed, {checker.failed} failed")
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
