#!/usr/bin/env python3
"""check_snapshots.py --program PROG [--timings] FILE|DIR...: memory snapshots, checked to the byte.

For a FILE with FILE.truth.json beside it, the figures, the cause and the blame that were planted
must be what `PROG FILE --stdout json` says. Every snapshot, with or without, is also replayed
here, by an unpickler that refuses to import anything (or by json), and compared.
One line for each file; the last is "N passed, N failed"; exit status 1 on a failure.
"""
import argparse
import base64
import gzip
import io
import json
import pathlib
import pickle
import re
import subprocess
import sys


class Refuses(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("refused: %s.%s" % (module, name))

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("refused: persistent id")


class Wrong(Exception):
    """What is wrong, in one line."""


def load(path):
    opened = gzip.open(path, "rb") if path.open("rb").read(2) == b"\x1f\x8b" else path.open("rb")
    with opened as f:
        start = f.read(1)
        f.seek(0)
        if start == b"<":
            page = re.search(rb'"base64": "([A-Za-z0-9+/=]*)"', f.read())
            return Refuses(io.BytesIO(base64.b64decode(page.group(1)))).load()
        return json.load(f) if start in b"{[" else Refuses(f).load()


# --- an independent replay -----------------------------------------------------------------

def requested(block):
    if "requested_size" in block:
        return block["requested_size"]
    history = block.get("history") or []
    return history[0]["real_size"] if history else block["size"]


def replay(events, live_at_end, has_segments):
    """Levels of one device: base, peak, index of the peak, unmatched frees, level at each oom."""
    by_request = any(e.get("action") == "free_requested" for e in events)
    freeing = "free_requested" if by_request else "free_completed"
    level = top = low = 0
    peak_at = None
    open_now, unmatched, ooms = set(), 0, []
    sizes = {}
    for i, e in enumerate(events):
        action = e.get("action")
        if action == "alloc":
            if e["addr"] in open_now:
                level -= sizes[e["addr"]]
            open_now.add(e["addr"])
            sizes[e["addr"]] = e["size"]
            level += e["size"]
        elif action == freeing:
            if e["addr"] in open_now:
                open_now.discard(e["addr"])
                level -= sizes[e["addr"]]
            else:
                level -= e["size"]
                unmatched += 1
        elif action == "oom":
            ooms.append((i, e["size"], e.get("device_free"), level))
        low = min(low, level)
        if level > top:
            top, peak_at = level, i
    base = live_at_end - level if has_segments else -low
    return {"peak_bytes": base + top, "peak_event": peak_at, "unmatched_frees": unmatched, "events": len(events),
            "oom": [(i, size, free, base + at) for i, size, free, at in ooms], "base": base,
            "live_bytes_at_end": base + level}


def figures(snapshot):
    """What a snapshot says of each device that has events or memory."""
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot}
    traces = snapshot.get("device_traces", [])
    segments = snapshot.get("segments", [])
    out = {}
    for device in sorted({s.get("device", 0) for s in segments} | {i for i, t in enumerate(traces) if t}):
        mine = [s for s in segments if s.get("device", 0) == device]
        blocks = [b for s in mine for b in s["blocks"]]
        live = sum(requested(b) for b in blocks if b["state"] == "active_allocated")
        got = replay(traces[device] if device < len(traces) else [], live, bool(mine))
        got.update({
            "allocated_bytes": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
            "reserved_bytes": sum(s["total_size"] for s in mine),
            "inactive_split_bytes": sum(b["size"] for s in mine if len(s["blocks"]) > 1 for b in s["blocks"]
                                        if b["state"] == "inactive"),
            "largest_free_block_bytes": max([b["size"] for b in blocks if b["state"] == "inactive"], default=0)})
        if not mine:
            del got["reserved_bytes"]
        out[device] = got
    return out


# --- comparison ----------------------------------------------------------------------------

def same(what, ours, theirs):
    if ours != theirs:
        raise Wrong("%s is %s, not %s" % (what, ours, theirs))


def compare_replay(device, want, got):
    for key in ("peak_bytes", "peak_event", "unmatched_frees", "events", "live_bytes_at_end", "allocated_bytes",
                "reserved_bytes", "inactive_split_bytes", "largest_free_block_bytes"):
        if key in want:
            same("device %d: %s" % (device, key), got[key], want[key])
    if not want["oom"]:
        same("device %d: oom" % device, got["oom"], None)
    else:
        event, size, free, live = want["oom"][-1]
        same("device %d: oom" % device, got["oom"],
             {"event": event, "requested_bytes": size, "device_free_bytes": free, "live_bytes": live})


def compare_truth(truth, got, in_file):
    device = truth["device"]
    name = "device %d: " % device
    recorded = in_file and truth["events_recorded"] == truth["events_total"]
    same(name + "live_bytes_at_end", got["live_bytes_at_end"], truth["end_live_requested"])
    same(name + "allocated_bytes", got["allocated_bytes"], truth["end_live_rounded"])
    same(name + "reserved_bytes", got["reserved_bytes"], truth["reserved_end"])
    same(name + "inactive_split_bytes", got["inactive_split_bytes"], truth["inactive_split_bytes"])
    if in_file:
        same(name + "truncated", got["truncated"], truth["truncated"])
        same(name + "events", got["events"], truth["events_kept"])
    if in_file and truth["peak_index_in_file"] is not None and truth["peak_index_in_file"] >= 0:
        same(name + "peak_bytes", got["peak_bytes"], truth["peak_requested"])
        same(name + "peak_event", got["peak_event"], truth["peak_index_in_file"])
    if recorded and truth["oom"]:
        same(name + "oom.requested_bytes", got["oom"]["requested_bytes"], truth["oom"]["requested_rounded"])
        same(name + "oom.device_free_bytes", got["oom"]["device_free_bytes"], truth["oom"]["device_free"])


CAUSES = {
    "healthy": lambda c, s: c in ("none", "unknown"),
    "leak-loss-list": lambda c, s: c == "leak",
    "leak-logits-list": lambda c, s: c == "leak",
    "cache-never-evicted": lambda c, s: c == "leak",
    "peak-outlier": lambda c, s: c == "peak",
    "eval-grad": lambda c, s: (c == "eval" and s == "grad") or (c == "leak" and s == "eval"),
    "fragmentation": lambda c, s: c == "capacity" and s == "fragmentation",
    "capacity": lambda c, s: c == "capacity",
}


def site_matches(site, frame):
    """`site` is "file:line function"; `frame` "/path/file.py:line"."""
    return site is not None and (site == frame or site.split(" ")[0] == frame or
                                 frame.endswith("/" + site.split(" ")[0]))


def compare_cause(truth, run, few):
    verdict = run["verdict"]
    cause, subtype = verdict["cause"], verdict["subtype"]
    if not CAUSES[truth["cause"]](cause, subtype) and not (few and cause == "unknown"):
        raise Wrong("cause is %s/%s, planted was %s" % (cause, subtype, truth["cause"]))
    if truth["cause"] == "healthy" and not few and cause != "none":
        raise Wrong("cause is %s/%s, and nothing was planted" % (cause, subtype))
    guilty = truth["devices"][0]["guilty"]
    if guilty and guilty["user_frame"] and not few:
        site = run["blame"]["site"] if run["blame"] else None
        if not site_matches(site, guilty["user_frame"]):
            raise Wrong("blame is %s, planted was %s" % (site, guilty["user_frame"]))
    elif not guilty and truth["cause"] == "healthy" and run["blame"]:
        raise Wrong("blame is %s, and nothing was planted" % run["blame"]["site"])


def check(path, program, causes):
    done = subprocess.run([program, str(path), "--stdout", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Wrong("exit status %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()[-200:]))
    runs = {r["snapshot"]["device"]: r for r in json.loads(done.stdout)["runs"] if r["snapshot"]}
    snapshot = load(path)
    want = figures(snapshot)
    same("devices", sorted(runs), sorted(want))
    for device in want:
        compare_replay(device, want[device], runs[device]["snapshot"])
    side = path.with_name(path.name + ".truth.json")
    if not side.exists():
        return "replayed"
    truth = json.loads(side.read_text())
    for d in truth["devices"]:
        compare_truth(d, runs[d["device"]]["snapshot"], isinstance(snapshot, dict))
    if causes:
        few = any(d["steps_done"] < 8 or d["events_kept"] < 2000 for d in truth["devices"]) or isinstance(snapshot, list)
        few = few and truth["cause"] != "capacity"
        compare_cause(truth, runs[truth["devices"][0]["device"]], few)
    return "truth"


def is_snapshot(path):
    if path.name.endswith(".truth.json"):
        return False
    if path.with_name(path.name + ".truth.json").exists():
        return True
    with path.open("rb") as f:
        return path.suffix == ".pickle" and f.read(1) == b"\x80"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--program", default="build/oomreport")
    p.add_argument("--figures-only", action="store_true", help="leave causes and blame out")
    p.add_argument("paths", nargs="+", type=pathlib.Path)
    a = p.parse_args()
    files = []
    for path in a.paths:
        files += sorted(f for f in path.iterdir() if f.is_file() and is_snapshot(f)) if path.is_dir() else [path]
    passed = failed = 0
    for f in files:
        try:
            how = check(f, a.program, not a.figures_only)
            passed += 1
            print("ok    %-36s %s" % (f.name, how))
        except Wrong as wrong:
            failed += 1
            print("WRONG %-36s %s" % (f.name, wrong))
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not files else 0)


if __name__ == "__main__":
    main()
