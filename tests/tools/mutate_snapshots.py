#!/usr/bin/env python3
"""mutate_snapshots.py --program PROG [--count N] [--seed S] [--keep DIR] FILE|DIR...: damaged and hostile snapshots.

Each of N inputs is one of the files with bytes changed, inserted, removed, repeated or cut off, or with
opcodes put in that import, call, nest or claim gigabytes. The program must end by itself with exit status 0 or 2
within five seconds, take no more than 4 x the size of the input + 64 MiB, and execute nothing: a payload
would make a marker file. What fails is kept in DIR. The last line is "N passed, N failed".
"""
import argparse
import gzip
import os
import pathlib
import random
import sys
import tempfile
import time

SECONDS = 5
MEMORY = 64 << 20


def payloads(marker):
    touch = b"touch %s" % os.fsencode(marker)
    return [b"cos\nsystem\n(S'%s'\ntR." % touch, b"cposix\nsystem\nX%s%sq\x00\x85R." % (len(touch).to_bytes(4, "little"), touch),
            b"\x8c\x02os\x8c\x06system\x93\x8c%c%s\x85R." % (len(touch), touch), b"(S'%s'\nios\nsystem\n." % touch,
            b"\x8d" + b"\xff" * 8, b"X\xff\xff\xff\xff", b"r\xff\xff\xff\x7f", b"\x8b\xff\xff\xff\x7f",
            b"\x95" + b"\xff" * 8, b"B\xff\xff\xff\x7f", b"(" * 5000, b"]" * 5000, b"}" * 5000, b"2" * 3000, b"\x94" * 3000,
            b"0" * 200, b"1", b"}s", b"h\x00" * 1000, b"]q\x00h\x00a", b"}q\x00K\x01h\x00s", b"R", b"b", b"\x81", b"Q",
            b"p4000000000\n", b"g9\n", b"I99999999999999999999999\n", b"F1e999\n", b"S'\n", b"V\\ud800\n"]


def mutate(b, rng, others, marker):
    kind = rng.randrange(9)
    at = rng.randrange(len(b))
    if kind == 0:
        del b[at:]
    elif kind == 1:
        for _ in range(rng.choice((1, 2, 5, 50))):
            b[rng.randrange(len(b))] = rng.randrange(256)
    elif kind == 2:
        b[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 3, 9, 100))))
    elif kind == 3:
        del b[at:at + rng.choice((1, 2, 8, 1000))]
    elif kind == 4:
        p, q = sorted((at, rng.randrange(len(b))))
        r = rng.randrange(len(b))
        b[r:r] = b[p:min(q, p + 20000)]
    elif kind in (5, 6):
        b[at:at] = rng.choice(payloads(marker))
    elif kind == 7:
        for _ in range(20):
            b[rng.randrange(len(b))] ^= 1 << rng.randrange(8)
    else:
        b[at:] = rng.choice(others)[rng.randrange(50):]
    return b


def run(program, path):
    """Exit status (negative: signal), seconds, memory [B]."""
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            os.execv(program, [program, path, "--stdout", "json"])
        finally:
            os._exit(127)
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() - start > 4 * SECONDS:
            os.kill(pid, 9)
        time.sleep(0.001)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--program", default="build/oomreport")
    p.add_argument("--count", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", type=pathlib.Path)
    p.add_argument("--sanitized", action="store_true", help="the program is built with sanitizers: memory is not judged")
    p.add_argument("paths", nargs="+", type=pathlib.Path)
    a = p.parse_args()
    files = [f for path in a.paths for f in (sorted(path.iterdir()) if path.is_dir() else [path])
             if f.is_file() and not f.name.endswith(".truth.json")]
    contents = [f.read_bytes() for f in files]
    rng = random.Random(a.seed)
    failed, program = 0, os.path.abspath(a.program)
    with tempfile.TemporaryDirectory(prefix="oomreport-mutate-") as work:
        marker, path = os.path.join(work, "executed"), os.path.join(work, "input")
        for i in range(a.count):
            data = bytes(mutate(bytearray(rng.choice(contents)), rng, contents, marker))
            size = len(data)
            stored = gzip.compress(data) if rng.random() < 0.05 else data
            pathlib.Path(path).write_bytes(stored)
            code, seconds, memory = run(program, path)
            why = ("exit status %d" % code if code not in (0, 2) else
                   "%.1f s" % seconds if seconds > SECONDS else
                   "%d MiB of memory" % (memory >> 20) if memory > 4 * size + MEMORY and not a.sanitized else
                   "a payload was executed" if os.path.exists(marker) else None)
            if why:
                failed += 1
                print("input %d: %s" % (i, why))
                if a.keep:
                    a.keep.mkdir(parents=True, exist_ok=True)
                    (a.keep / ("mutated-%d-%d" % (a.seed, i))).write_bytes(stored)
    print("%d passed, %d failed" % (a.count - failed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
