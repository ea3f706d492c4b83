#!/usr/bin/env python3
"""Writes labelled runs: OUT_DIR/NNNN/ with the files of one case and truth.json.

    generate.py --seed N --count M [--kinds NAME,NAME…] OUT_DIR
    generate.py --list            the kinds

Seeds: 1, 2, 3, … are for tuning; 20261129 is the one whose score is published. The same seed gives the same
bytes. Standard library only.
"""
import argparse
import json
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from case import KINDS, Retry  # noqa: E402
import kinds_leak  # noqa: E402,F401
import kinds_peak  # noqa: E402,F401
import kinds_eval  # noqa: E402,F401
import kinds_capacity  # noqa: E402,F401
import kinds_healthy  # noqa: E402,F401
import kinds_cross  # noqa: E402,F401
import kinds_undecidable  # noqa: E402,F401

ATTEMPTS = 2000


def make(seed, number, names):
    """Case `number` of a set: kinds in turn, every other one hard."""
    name = names[number % len(names)]
    hard = (number % len(names) + number // len(names)) % 2 == 1
    rng = random.Random("%d/%s/%d" % (seed, name, number))
    for _ in range(ATTEMPTS):
        try:
            case = KINDS[name](rng, hard)
        except Retry:
            continue
        case.truth.update({"kind": name, "hard": hard, "files": sorted(case.files)})
        return case
    raise SystemExit("%s (%s) did not come about in %d attempts" % (name, "hard" if hard else "easy", ATTEMPTS))


def write(job):
    seed, number, names, out = job
    case = make(seed, number, names)
    folder = os.path.join(out, "%04d" % number)
    os.makedirs(folder, exist_ok=True)
    for name, text in case.files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as f:
        json.dump(case.truth, f, indent=1, sort_keys=True)
        f.write("\n")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("out", nargs="?")
    args = parser.parse_args()
    if args.list:
        for name in KINDS:
            print("%-32s %s" % (name, (KINDS[name].__doc__ or "").strip().split("\n")[0]))
        return 0
    if not args.out:
        parser.error("OUT_DIR is missing")
    names = [n for n in args.kinds.split(",") if n] or list(KINDS)
    unknown = [n for n in names if n not in KINDS]
    if unknown:
        parser.error("no such kind: " + ", ".join(unknown))
    jobs = [(args.seed, i, names, args.out) for i in range(args.count)]
    with ProcessPoolExecutor(2) as pool:
        done = sum(1 for _ in pool.map(write, jobs, chunksize=8))
    print("%d cases of %d kinds in %s" % (done, len(names), args.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
