#!/usr/bin/env python3
"""bench_snapshot.py --program PROG [--sizes 100,300,1000] [--rounds N] [FILE...]: snapshots against pickle.load.

Without files, generated ones: Python stacks, C++ frames too, and stacks that are all distinct, at each size [MB],
and the JSON form of the smallest. In each round, in turn: Python's pickle.load, the same with its collector off,
reading with replay and holders (`--stdout json`), the whole report (`-o`) and the totals alone (`--to jsonl`).
Processor seconds are compared, the least of the rounds, and the private memory, the most of them. JSON files are
compared with json.load. Every bar stands beside its figure; the exit status is 1 where one is missed.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import write_snapshot

LOAD = """
import gc, json, os, pickle, sys
if sys.argv[2] == "off": gc.disable()
with open(sys.argv[1], "rb") as f:
    x = json.load(f) if f.read(1) == b"{" and not f.seek(0) else (f.seek(0), pickle.load(f))
os._exit(0)
"""
# what is compared, by kind of file: (name, least value or None, greatest value or None)
BARS = {"python": {"x load": 12, "x load, no gc": 4, "report x load": 10, "memory %": -30, "totals memory %": -15},
        "json": {"x load": 10}, "distinct": {"MB/s": 300, "memory %": -80}}
BARS["cpp"] = BARS["python"]


def anonymous(pid):
    """Private memory of a process now [B]; the exit status's ru_maxrss would have that of ours before exec."""
    try:
        with open("/proc/%d/status" % pid) as f:
            for line in f:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def run(argv):
    """Processor seconds and greatest private memory [B], looked at every few milliseconds, of one command."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    memory = 0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        memory = max(memory, anonymous(process.pid))
        time.sleep(0.003)
    process.returncode = status
    if status:
        sys.exit("%s: exit status %d" % (" ".join(argv), status))
    return used.ru_utime + used.ru_stime, memory


def measure(a, f, work):
    """{command: (seconds, memory)}."""
    commands = {"load": [a.python, "-c", LOAD, str(f), "on"], "load, no gc": [a.python, "-c", LOAD, str(f), "off"],
                "read": [a.program, str(f), "--stdout", "json"],
                "report": [a.program, str(f), "-o", str(work / "r"), "--force", "--quiet"],
                "totals": [a.program, str(f), "--to", "jsonl"]}
    best = {}
    for _ in range(a.rounds):
        for name, argv in commands.items():
            got = run(argv)
            had = best.get(name, got)
            best[name] = min(had[0], got[0]), max(had[1], got[1])
    return best


def report(name, kind, size, best):
    """Prints the figures; returns how many bars were missed."""
    print("%s: %.0f MB" % (name, size / 1e6))
    for command, (seconds, memory) in best.items():
        print("  %-12s %7.2f s  %6.0f MB/s  memory %6.0f MB = %3.0f %% of the file" %
              (command, seconds, size / 1e6 / seconds, memory / 1e6, 100 * memory / size))
    figures = {"x load": best["load"][0] / best["read"][0], "x load, no gc": best["load, no gc"][0] / best["read"][0],
               "report x load": best["load"][0] / best["report"][0], "MB/s": size / 1e6 / best["read"][0],
               "memory %": 100 * best["read"][1] / size, "totals memory %": 100 * best["totals"][1] / size}
    missed = 0
    for figure, value in figures.items():
        bar = BARS.get(kind, {}).get(figure)
        good = bar is None or (value >= bar if bar > 0 else value <= -bar)
        missed += not good
        print("  %-16s %7.1f%s" % (figure, value, "" if bar is None else "  bar %s %d%s" % (
            ">=" if bar > 0 else "<=", abs(bar), "" if good else "  MISSED")))
    sys.stdout.flush()
    return missed


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--program", default="build/oomreport")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--sizes", default="100,300,1000", help="MB (10^6)")
    p.add_argument("--kinds", default="python,cpp,distinct,json")
    p.add_argument("--work", type=pathlib.Path, help="where the files are made (default: a temporary directory)")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("files", nargs="*", type=pathlib.Path)
    a = p.parse_args()
    if a.work:
        a.work.mkdir(parents=True, exist_ok=True)
    work, missed = pathlib.Path(tempfile.mkdtemp(prefix="oomreport-bench-", dir=a.work)), 0
    try:
        for f in a.files:
            missed += report(f.name, None, f.stat().st_size, measure(a, f, work))
        sizes = [] if a.files else [float(s) for s in a.sizes.split(",")]
        for kind in a.kinds.split(","):
            for size in sizes[:1] if kind == "json" else sizes:
                f = work / "snapshot"
                write_snapshot.write(f, size * 1e6, "python" if kind == "json" else kind, "json" if kind == "json" else "pickle")
                missed += report("%s, %.0f MB" % (kind, size), kind, f.stat().st_size, measure(a, f, work))
                f.unlink()
    finally:
        shutil.rmtree(work)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
