#!/usr/bin/env python3
"""check_verdicts.py PROG: the runs of fixtures/verdicts, whose cause is known, get it; the demo too.
Last line: "N passed, N failed"."""
import json
import pathlib
import subprocess
import sys

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"


def problems(program, folder, name, want):
    logs = [str(folder / f) for f in want["files"]]
    done = subprocess.run([program, "--stdout", "json", *logs], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        yield f"exit status {done.returncode}: {done.stderr.strip()[-200:]}"
        return
    report = json.loads(done.stdout)
    verdict = report["verdict"]
    if verdict["cause"] != want["cause"] or verdict["subtype"] not in want["subtype"]:
        yield (f"is {verdict['cause']}/{verdict['subtype']} ({verdict['confidence']:.2f}), not {want['cause']}/"
               f"{' or '.join(str(s) for s in want['subtype'])}: {verdict['summary']}")
    if verdict["status"] != want["status"]:
        yield f"status {verdict['status']}, not {want['status']}"
    cross = report["cross_run"] or {"says": None, "failing_batch": {"shared_ids": []}}
    if "says" in want and cross["says"] != want["says"]:
        yield f"runs say {cross['says']}, not {want['says']}"
    if "shared_ids" in want and cross["failing_batch"]["shared_ids"] != want["shared_ids"]:
        yield f"shared ids {cross['failing_batch']['shared_ids']}, not {want['shared_ids']}"


def main(argv):
    passed = failed = 0
    folder = FIXTURES / "verdicts"
    for name, want in json.loads((folder / "EXPECTED.json").read_text(encoding="utf-8")).items():
        wrong = list(problems(argv[1], folder, name, want))
        if wrong:
            failed += 1
            print(f"FAILED: fixtures/verdicts, {name}")
            for text in wrong:
                print(f"  {text}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv))
