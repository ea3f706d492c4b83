#!/usr/bin/env python3
"""Reads every file of fixtures/logs with `OOMREPORT --to jsonl` and compares with EXPECTED.json.

    check_fixtures.py OOMREPORT [NAME...]      prints what differs and "N passed, N failed"

What the fields of EXPECTED.json mean stands in fixtures/logs.py. Standard library only.
"""
import json
import os
import subprocess
import sys

LOGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "logs")
MEMORY = ("allocated_bytes", "peak_bytes", "reserved_bytes", "peak_reserved_bytes", "device_used_bytes",
          "host_rss_bytes")


def same(want, have, tolerance):
    if isinstance(want, bool) or isinstance(want, (list, str)) or want is None:
        return want == have
    if not isinstance(have, (int, float)):
        return False
    return abs(want - have) <= (tolerance if isinstance(want, int) and want > 1e6 else 1e-6 * max(1, abs(want)))


def differences(want, record, tolerance):
    out = []
    for key, value in want.items():
        names = key.split("|")
        if not any(same(value, record.get(name), tolerance) for name in names):
            out.append("%s is %r, expected %r" % (key, {n: record.get(n) for n in names if n in record}, value))
    return out


def check(expected, records):
    """The list of what is wrong."""
    tolerance = expected.get("tolerance", 1)
    headers = [r for r in records if "oomlog" in r]
    events = [r for r in records if "event" in r]
    memory = [r for r in records if "event" not in r and "oomlog" not in r and "label" not in r
              and any(k in r for k in MEMORY)]
    wrong = []
    want = expected["memory_records"]
    least, most = want if isinstance(want, list) else (want, want)
    if not least <= len(memory) <= most:
        wrong.append("%d records with memory, expected %s" % (len(memory), want))
    if "events" in expected and [e["event"] for e in events] != expected["events"]:
        wrong.append("events %s, expected %s" % ([e["event"] for e in events], expected["events"]))
    if "event" in expected and events:
        wrong += ["event: " + d for d in differences(expected["event"], events[-1], tolerance)]
    for name, at in (("first", 0), ("last", -1)):
        if name in expected and memory:
            wrong += ["%s: %s" % (name, d) for d in differences(expected[name], memory[at], tolerance)]
    for some in expected.get("has", []):
        if not any(not differences(some, r, tolerance) for r in memory):
            wrong.append("no record has %s" % json.dumps(some))
    if "labels" in expected and [r["label"] for r in records if "label" in r] != expected["labels"]:
        wrong.append("labels %s, expected %s" % ([r["label"] for r in records if "label" in r], expected["labels"]))
    if "header" in expected and not any(not differences(expected["header"], r, tolerance) for r in headers + records):
        wrong.append("no header has %s" % json.dumps(expected["header"]))
    if "ranks" in expected:
        ranks = sorted({r["rank"] for r in headers + memory if "rank" in r})
        if ranks != expected["ranks"]:
            wrong.append("ranks %s, expected %s" % (ranks, expected["ranks"]))
    return wrong


def convert(binary, path, args):
    """(records, exit status, messages) of `binary --to jsonl path`."""
    done = subprocess.run([binary, "--to", "jsonl", *args, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=30)
    records = [json.loads(entry) for entry in done.stdout.decode("utf-8").splitlines() if entry.strip()]
    return records, done.returncode, done.stderr.decode("utf-8", "replace")


def main(argv):
    if len(argv) < 2:
        sys.stderr.write(__doc__)
        return 2
    with open(os.path.join(LOGS, "EXPECTED.json"), encoding="utf-8") as f:
        expected = json.load(f)
    passed = failed = 0
    for name in sorted(argv[2:] or expected):
        try:
            records, status, said = convert(argv[1], os.path.join(LOGS, name), expected[name].get("args", []))
            if status != 0 and not records and expected[name].get("undetected_ok"):
                wrong = []
            elif status != 0:
                wrong = ["exit status %d: %s" % (status, said.strip()[:300])]
            else:
                wrong = check(expected[name], records)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            wrong = [str(error)]
        if wrong:
            failed += 1
            print("FAIL " + name)
            for text in wrong[:6]:
                print("     " + text)
        else:
            passed += 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
