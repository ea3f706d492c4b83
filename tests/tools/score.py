#!/usr/bin/env python3
"""score.py --program PROG DIR: labelled runs -> confusion matrix.

Each folder of DIR with a truth.json is a case: {"cause", "accept": [causes], "key": {"name", "value"}};
the other files in it are the logs. Exit status 1 when a run ends without a report.
"""
import argparse
import json
import pathlib
import subprocess
import sys

CAUSES = ["leak", "peak", "eval", "capacity", "none", "unknown"]


def verdict_of(program, folder):
    logs = sorted(p for p in folder.iterdir() if p.is_file() and p.name != "truth.json")
    done = subprocess.run([program, "--stdout", "json", *map(str, logs)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        return None, f"exit status {done.returncode}: {reason[0]}"
    return json.loads(done.stdout)["verdict"], ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("dir", type=pathlib.Path)
    args = parser.parse_args()
    matrix, right, total, broken, brier = {}, 0, 0, 0, 0.0
    for folder in sorted(p.parent for p in args.dir.glob("*/truth.json")):
        truth = json.loads((folder / "truth.json").read_text())
        verdict, why = verdict_of(args.program, folder)
        total += 1
        if verdict is None:
            broken += 1
            print(f"{folder.name:24} expected {truth['cause']:9} {why}")
            continue
        got = verdict["cause"]
        good = got in truth.get("accept", [truth["cause"]])
        right += good
        brier += (verdict["confidence"] - good) ** 2
        matrix[truth["cause"], got] = matrix.get((truth["cause"], got), 0) + 1
        subtype = verdict["subtype"] or "-"
        print(f"{folder.name:24} expected {truth['cause']:9} got {got + '/' + subtype:24} "
              f"{verdict['confidence']:.2f} {'' if good else 'WRONG'}")
    if total == 0:
        print(f"score: no case in {args.dir}", file=sys.stderr)
        return 1
    print("\n" + "truth \\ verdict".ljust(16) + "".join(c.rjust(10) for c in CAUSES))
    for t in sorted({t for t, _ in matrix}):
        print(t.ljust(16) + "".join(str(matrix.get((t, c), 0)).rjust(10) for c in CAUSES))
    print(f"\n{right} of {total} right; Brier score {brier / max(1, total - broken):.3f}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
