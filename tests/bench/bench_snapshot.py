#!/usr/bin/env python3
"""bench_snapshot.py --program PROG [--rounds N] FILE...: snapshots against Python's pickle.load.

In each round, in turn: pickle.load, pickle.load with its collector off, reading with replay and
holders (`--stdout json`), and the whole report (`-o`). Processor seconds are compared (least of the
rounds), and the private memory that each took at most. JSON files are compared with json.load.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

LOAD = """
import gc, json, pickle, sys
if sys.argv[2] == "off": gc.disable()
with open(sys.argv[1], "rb") as f:
    x = json.load(f) if sys.argv[1].endswith(".json") else pickle.load(f)
import os
os._exit(0)
"""


def run(argv):
    """Processor seconds and peak resident memory [B] of one command."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execvp(argv[0], argv)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit("%s: exit status %d" % (" ".join(argv), status))
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--program", default="build/oomreport")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("files", nargs="+", type=pathlib.Path)
    a = p.parse_args()
    for f in a.files:
        size = f.stat().st_size
        work = pathlib.Path(tempfile.mkdtemp(prefix="oomreport-bench-"))
        commands = {"load": [a.python, "-c", LOAD, str(f), "on"], "load, no gc": [a.python, "-c", LOAD, str(f), "off"],
                    "read": [a.program, str(f), "--stdout", "json"],
                    "report": [a.program, str(f), "-o", str(work / "r"), "--force", "--quiet"]}
        best = {}
        for _ in range(a.rounds):
            for name, argv in commands.items():
                got = run(argv)
                best[name] = min(best.get(name, got), got)
        shutil.rmtree(work)
        load, off, read, report = (best[n][0] for n in commands)
        print("%s: %.0f MB" % (f.name, size / 1e6))
        for name, (seconds, memory) in best.items():
            print("  %-12s %7.2f s  %6.0f MB/s  memory %6.0f MB = %3.0f %% of the file" %
                  (name, seconds, size / 1e6 / seconds, memory / 1e6, 100 * memory / size))
        print("  read: %.1f x load, %.1f x without gc; report: %.1f x load" % (load / read, off / read, load / report))


if __name__ == "__main__":
    main()
