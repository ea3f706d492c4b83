#!/usr/bin/env python3
"""The naive rule, scored beside the program: a straight line through the peaks, a z-score, the phase.

    naive.py OUT_DIR       prints its accuracy on the cases that generate.py wrote there

It is what a person writes in an afternoon. Where it does well, the set is too easy.
"""
import json
import math
import os
import sys

MEMORY = ("peak_bytes", "allocated_bytes", "reserved_bytes", "device_used_bytes", "host_rss_bytes")


def read(path):
    with open(path, encoding="utf-8") as f:
        records = [json.loads(entry) for entry in f]
    head = records[0] if "oomlog" in records[0] else {}
    rows = [r for r in records if "event" not in r and "oomlog" not in r]
    events = [r for r in records if r.get("event") in ("oom", "kill") and not r.get("recovered")]
    return head, rows, events[-1] if events else None


def line_t(values):
    """(rise over the values, t of the slope) of a least-squares line."""
    n = len(values)
    mx, my = (n - 1) / 2, sum(values) / n
    sxx = sum((i - mx) ** 2 for i in range(n))
    slope = sum((i - mx) * (v - my) for i, v in enumerate(values)) / sxx
    rest = sum((v - my - slope * (i - mx)) ** 2 for i, v in enumerate(values))
    error = math.sqrt(rest / max(1, n - 2) / sxx)
    return slope * n, slope / error if error > 0 else (0.0 if slope == 0 else math.inf)


def z_score(value, values):
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    return (value - mean) / deviation if deviation > 0 else (0.0 if value == mean else math.inf)


def on_boundary(head, step):
    return any(head.get(k) and step and (step % head[k] == 0 or (step + 1) % head[k] == 0)
               for k in ("eval_every", "steps_per_epoch"))


def naive(paths):
    runs = [read(p) for p in paths]
    head, rows, event = next((r for r in runs if r[2]), runs[0])
    if event and event["event"] == "kill":
        return "leak"
    train = [r for r in rows if r.get("phase", "train") == "train"]
    column = next((c for c in MEMORY if any(c in r for r in train)), None)
    values = [r[column] for r in train if column in r][5:] if column else []
    if len(values) >= 10:
        rise, t = line_t(values)
        if t > 5 and rise > 0.03 * max(values):
            return "leak"
    if not event:
        return "none"
    for key in ("tokens", "max_len", "batch_size", "height"):
        seen = [r[key] for r in train if key in r]
        if len(seen) >= 10 and key in event and z_score(event[key], seen) > 3:
            return "peak"
    if len(values) >= 10 and z_score(values[-1], values) > 3:
        return "peak"
    if event.get("phase") == "eval" or on_boundary(head, event.get("step")):
        return "eval"
    return "capacity"


def accuracy(out):
    """(right, decidable cases, {kind: [right, n]}) of the naive rule on the cases in a folder."""
    kinds = {}
    for name in sorted(os.listdir(out)):
        folder = os.path.join(out, name)
        if not os.path.exists(os.path.join(folder, "truth.json")):
            continue
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as f:
            truth = json.load(f)
        if truth["decidable"]:
            says = naive([os.path.join(folder, n) for n in truth["files"]])
            tally = kinds.setdefault(truth["kind"], [0, 0])
            tally[0] += says in truth["accept"]
            tally[1] += 1
    return sum(k[0] for k in kinds.values()), sum(k[1] for k in kinds.values()), kinds


def main(argv):
    if len(argv) != 2:
        sys.stderr.write(__doc__)
        return 2
    right, n, kinds = accuracy(argv[1])
    for kind, (good, all_of) in sorted(kinds.items()):
        print("%-32s %3d of %3d" % (kind, good, all_of))
    print("naive rule: %.1f %% of %d decidable cases" % (100.0 * right / max(1, n), n))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
