#!/usr/bin/env python3
"""check_merge.py --program PROG --work DIR: reports as inputs.

One report for each log and then one over those reports has to say what one report over all logs says:
cause, subtype, runs, ranks and cross_run, field by field. Last line: "N passed, N failed".
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys


class Checker:
    def __init__(self, program, work, root):
        self.program, self.work, self.root = program, work, root
        self.passed = self.failed = 0

    def count(self, name, problems):
        if problems:
            self.failed += 1
            print(f"FAILED: {name}")
            for p in problems[:8]:
                print(f"  {p}")
        else:
            self.passed += 1

    def report(self, out, inputs, *more):
        args = [self.program, "-q", "-o", str(out), "--only", "json", *more, *map(str, inputs)]
        done = subprocess.run(args, capture_output=True, cwd=self.work, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{args}: {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}")
        return json.loads((self.work / out / "report.json").read_text())

    def same(self, name, inputs, parts):
        """Parts: lists of logs that get a report each; a list of one log named "=" stays a log."""
        try:
            whole = self.report("whole", inputs)
            merged_of = []
            for i, part in enumerate(parts):
                if part[0] == "=":
                    merged_of += part[1:]
                else:
                    self.report(f"part{i}", part)
                    merged_of.append(f"part{i}/report.json")
            merged = self.report("merged", merged_of)
            again = self.report("again", ["merged/report.json"])
        except RuntimeError as e:
            self.count(name, [str(e)])
            return
        problems = differences(comparable(whole), comparable(merged), "")
        problems += [f"merged again: {p}" for p in differences(comparable(merged), comparable(again), "")]
        self.count(name, problems)


VALUES = [None, True, "", "x", "oom", -1, 0, 3, 1e300, 2**53, [], {}, [[1, 2], [None, 3], "a"], "1" * 16]


def mutate(node, rng, left):
    """Replaces or drops members at random; the number of changes still to make."""
    items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
    for key, value in rng.sample(items, len(items)):
        if left == 0:
            return 0
        if isinstance(value, (dict, list)) and value and rng.random() < 0.8:
            left = mutate(value, rng, left)
        elif rng.random() < 0.3:
            if isinstance(node, dict) and rng.random() < 0.3:
                del node[key]
            else:
                node[key] = rng.choice(VALUES)
            left -= 1
    return left


def mutations(c, source, count):
    """No change to a report makes the program crash, hang or write what the schema forbids."""
    rng = random.Random(7)
    text = (c.work / source).read_text()
    problems = []
    for i in range(count):
        report = json.loads(text)
        mutate(report, rng, rng.choice([1, 3, 20]))
        report["schema"] = "oomreport/1"
        changed = json.dumps(report)
        if i % 10 == 0:
            changed = changed[: rng.randrange(len(changed))]
        (c.work / "changed.json").write_text(changed)
        args = [c.program, "-q", "-o", "mutated", "--plots", "light", "changed.json"]
        args += ["--baseline", "changed.json", "--max-peak", "90%"] if i % 2 else []
        try:
            done = subprocess.run(args, capture_output=True, cwd=c.work, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            problems.append(f"mutation {i} hangs")
            continue
        if done.returncode not in (0, 1, 2):
            (c.work / f"crash{i}.json").write_text(changed)
            problems.append(f"crash{i}.json: {done.returncode}: {done.stderr.decode(errors='replace')[-200:]}")
    c.count(f"{count} changed reports", problems)


def comparable(report):
    """What has to be the same: all but where the runs were read from and the points of the plots."""
    out = {k: report[k] for k in ("verdict", "runs", "cross_run", "ranks")}
    for run in out["runs"]:
        run.pop("merge", None)
    return out


def differences(a, b, at):
    if isinstance(a, dict) and isinstance(b, dict):
        keys = sorted(set(a) | set(b))
        return [p for k in keys for p in differences(a.get(k, "absent"), b.get(k, "absent"), f"{at}.{k}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [p for i, (x, y) in enumerate(zip(a, b)) for p in differences(x, y, f"{at}[{i}]")]
    return [] if a == b else [f"{at}: {str(a)[:100]} != {str(b)[:100]}"]


def log(path, run, seed, rank, fails_at, batch, grows):
    """A step log in our own schema: peaks by batch, a floor that grows, an OOM."""
    gib = 1 << 30
    lines = [{"oomlog": 1, "run": run, "seed": seed, "rank": rank, "capacity_bytes": 24 * gib, "device": "A"}]
    state = seed * 7919 + rank * 104729 + 1
    for step in range(fails_at):
        state = (state * 1103515245 + 12345) % 2**31
        tokens = 2000 + state // 65536 % 2000
        floor = 8 * gib + step * grows
        lines.append({"step": step, "phase": "train", "tokens": tokens, "batch_size": 8, "max_len": tokens // 8,
                      "allocated_bytes": floor, "peak_bytes": floor + 8 * gib + tokens * 1_000_000,
                      "batch_ids": [f"s{state % 997}", f"s{state % 499}"]})
    if batch:
        lines.append({"event": "oom", "step": fails_at, "phase": "train", "tokens": batch, "batch_size": 8,
                      "max_len": batch // 8, "batch_ids": ["s48113", f"s{state % 997}"],
                      "requested_bytes": 3 * gib, "free_bytes": gib, "total_bytes": 24 * gib})
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    work = pathlib.Path(args.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    c = Checker(str(pathlib.Path(args.program).resolve()), work, root)
    demo = [shutil.copy(p, work) for p in sorted((root / "fixtures/demo").glob("seed*.jsonl"))]
    demo = [pathlib.Path(p).name for p in demo]
    c.same("three seeds of a leak", demo, [[x] for x in demo])
    c.same("a report and logs", demo, [demo[:1], ["=", *demo[1:]]])
    seeds = [log(work / f"five-{s}.jsonl", "five", s, 0, 150 + 17 * s, 30000, 0).name for s in range(5)]
    c.same("five seeds on one sample", seeds, [[x] for x in seeds])
    c.same("five seeds in two reports", seeds, [seeds[:2], seeds[2:]])
    c.same("five seeds, mixed", seeds, [seeds[:2], ["=", seeds[2]], seeds[3:]])
    ranks = [log(work / f"job-rank{r}.jsonl", "job", 1, r, 200, 30000 if r == 5 else 0, 5_000_000 if r == 5 else 0).name
             for r in range(8)]
    c.same("eight ranks, a report each", ranks, [[x] for x in ranks])
    c.same("eight ranks, mixed", ranks, [ranks[:3], ["=", *ranks[3:5]], ranks[5:]])
    c.same("two jobs", seeds + ranks, [seeds, ranks])
    twice = c.report("whole", seeds[:1])
    c.report("part0", seeds[:1])
    both = c.report("merged", ["part0/report.json", seeds[0]])
    c.count("a log beside its own report counts once",
            [] if len(both["runs"]) == len(twice["runs"]) == 1 and any(q["code"] == "copy" for q in both["quality"])
            else [f"{len(both['runs'])} runs"])
    c.report("ranks", ranks)
    mutations(c, "ranks/report.json", 40)
    mutations(c, "whole/report.json", 40)
    print(f"{c.passed} passed, {c.failed} failed")
    return c.failed > 0


if __name__ == "__main__":
    sys.exit(main())
