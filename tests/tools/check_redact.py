#!/usr/bin/env python3
"""check_redact.py --program PROG --work DIR: what must not be told is told in no file, at each level of
--redact. Pictures are read as --dump plots prints them. Last line: "N passed, N failed"."""
import argparse
import json
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

GIB = 1 << 30
USER, HOST, LABEL, JOB, SAMPLE, PHASE, MARK = ("alice", "gpunode17", "projectx", "speechjob", "clip-88120",
                                               "distilling", "after-fusion")
SECRETS = [USER, HOST, LABEL, JOB, SAMPLE, PHASE, MARK, "/data/", "nightly", "seedlog", "topsecret"]
USER_FRAMES = "/home/alice/topsecret/src/"


def step_log(path, seed, job):
    """Two seeds fail on the same sample, with a message that holds a traceback and a host's name."""
    rows = [{"oomlog": 1, "run": job, "seed": seed, "rank": 0, "device": "NVIDIA A100-SXM4-40GB",
             "capacity_bytes": 40 * GIB}]
    for i in range(120):
        at = 90 + 7 * seed
        last = i == at
        rows.append({"step": i, "allocated_bytes": 10 * GIB, "peak_bytes": 20 * GIB + (i * 37 % 11) * (GIB // 16),
                     "batch_size": 8, "max_len": 4000 if last else 400 + i * 37 % 11 * 20,
                     "batch_ids": [SAMPLE if last else "clip-%d" % (i * 8 + seed)],
                     "phase": PHASE if i % 10 == 9 else "train"})
        if i % 5 == 0:
            rows.append({"step": i, "label": MARK, "allocated_bytes": 12 * GIB})
        if last:
            break
    rows.pop(-1 if "label" not in rows[-1] else -2)
    rows.append({"event": "oom", "step": i, "phase": "train", "batch_size": 8, "max_len": 4000, "batch_ids": [SAMPLE],
                 "message": "[%s] Traceback: File \"/home/alice/topsecret/src/train.py\", line 9; "
                            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 GiB (GPU 0; "
                            "39.59 GiB total capacity; 30.12 GiB already allocated; 5.20 GiB free; 33.80 GiB "
                            "reserved in total by PyTorch)" % HOST,
                 "requested_bytes": 12 * GIB, "free_bytes": 5 * GIB, "total_bytes": 40 * GIB})
    path.write_text("".join(json.dumps(r) + "\n" for r in rows) + '{"step": "%s' % LABEL)


def snapshot(path):
    """Twenty steps; a line of the user's keeps a block each."""
    def frame(file, line, name):
        return {"filename": file, "line": line, "name": name}
    torch = frame("/opt/envs/alice/lib/python3.10/site-packages/torch/nn/modules/module.py", 1501, "_call_impl")
    keep = [torch, frame(USER_FRAMES + "hooks/keep.py", 12, "on_step"), frame(USER_FRAMES + "train.py", 40, "main")]
    work = [torch, frame(USER_FRAMES + "model.py", 7, "forward"), frame(USER_FRAMES + "train.py", 41, "main")]
    trace, live, at, now = [], [], 1 << 40, 0
    for step in range(20):
        for frames, size in ((keep, 1 << 20), (work, 4 << 20)):
            now += 10
            trace.append({"action": "alloc", "addr": at, "size": size, "stream": 0, "time_us": now, "frames": frames})
            if frames is keep:
                live.append({"address": at, "size": size, "requested_size": size, "state": "active_allocated",
                             "frames": frames})
            else:
                for action in ("free_requested", "free_completed"):
                    trace.append({"action": action, "addr": at, "size": size, "stream": 0, "time_us": now + 1,
                                  "frames": frames})
            at += size
    segments = [{"device": 0, "address": 1 << 40, "total_size": 1 << 30, "allocated_size": 20 << 20,
                 "active_size": 20 << 20, "requested_size": 20 << 20, "stream": 0, "segment_type": "large",
                 "frames": [], "is_expandable": False, "segment_pool_id": (0, 0), "blocks": live}]
    with open(path, "wb") as f:
        pickle.dump({"segments": segments, "device_traces": [trace], "allocator_settings": {}}, f)


class Check:
    def __init__(self, program, work):
        self.program, self.work, self.passed, self.failed = program, work, 0, 0

    def run(self, *args):
        p = subprocess.run([str(self.program), *map(str, args)], capture_output=True, timeout=120)
        if p.returncode != 0:
            raise SystemExit("%s: exit status %d: %s" % (args, p.returncode, p.stderr.decode()))
        return p.stdout

    def say(self, name, good, why=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print("FAILED: %s: %s" % (name, why))

    def outputs(self, level, inputs):
        """Every file, and the pictures as text."""
        out = self.work / ("report-" + level)
        shown = self.run("--redact", level, "--label", LABEL, "--force", "-o", out, *inputs)
        files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        files["the pictures"] = self.run("--redact", level, "--dump", "plots", *inputs)
        files["standard output"] = shown.split(b"report: ")[0]  # the last line says where the report is
        return files

    def default(self, inputs):
        out = self.work / "report-default"
        self.run("--label", LABEL, "--force", "-o", out, *inputs)
        return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*")
                if p.is_file() and p.suffix in (".md", ".txt")}

    def none_of(self, name, files, words):
        for word in words:
            where = sorted(f for f, data in files.items() if word.encode() in data)
            self.say("%s: %r" % (name, word), not where, "stands in " + ", ".join(where))


def sites(report):
    for run in report["runs"]:
        for h in run["memory_holders"] or []:
            yield from [s for s in [h["site"], *h["stack"]] if s]
        if run["blame"]:
            yield run["blame"]["site"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", required=True, type=pathlib.Path)
    p.add_argument("--work", required=True, type=pathlib.Path)
    a = p.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    logs = a.work / "home" / USER / "data" / "nightly"
    logs.mkdir(parents=True)
    c = Check(a.program.resolve(), a.work)
    named = [logs / ("seedlog%d.jsonl" % s) for s in (1, 2, 3)]
    for seed, path in enumerate(named, 1):
        step_log(path, seed, "%s%d" % (JOB, seed))
    snap = a.work / "home" / USER / "other" / "topsecret.pickle"
    snap.parent.mkdir()
    snapshot(snap)
    inputs = named + [snap]

    told = c.outputs("none", inputs)
    for word in [USER, HOST, LABEL, JOB, SAMPLE, PHASE, MARK, USER_FRAMES]:
        c.say("none: %r is there to be found" % word, any(word.encode() in d for d in told.values()))
    c.say("none: the sample is there to be found in the pictures", SAMPLE.encode() in told["the pictures"])

    paths = c.outputs("paths", inputs)
    c.none_of("paths", paths, [USER, "/opt/envs", "topsecret/src"])
    c.say("paths: samples are named", SAMPLE.encode() in paths["report.json"])
    c.say("paths is the default", all(
        (a.work / "report-paths" / f).read_bytes() == d for f, d in c.default(inputs).items()))
    before = list(sites(json.loads(told["report.json"])))
    for level in ("paths", "all"):
        files = paths if level == "paths" else c.outputs("all", inputs)
        report = json.loads(files["report.json"])
        after = list(sites(report))
        c.say(level + ": as many sites", len(before) == len(after) > 0, "%d, %d" % (len(before), len(after)))
        c.say(level + ": sites are suffixes of the real paths",
              all(b.endswith(s) and s for b, s in zip(before, after)), str(after[:4]))
        c.say(level + ": the blame", any(s.endswith("keep.py:12 on_step") for s in after), str(after[:4]))
        for key in ("cause", "subtype", "confidence"):
            c.say("%s: the %s stays" % (level, key),
                  [r["verdict"][key] for r in report["runs"]] ==
                  [r["verdict"][key] for r in json.loads(told["report.json"])["runs"]])
        c.say(level + ": cross-run evidence stays", report["cross_run"]["says"] == "data", str(report["cross_run"]))
        if level == "paths":
            c.say("paths: the common folder is cut", "hooks/keep.py:12 on_step" in after, str(after[:4]))
            continue
        c.none_of("all", files, SECRETS)
        c.say("all: no ids", all(not r["failure"] or r["failure"]["batch"]["batch_ids"] is None
                                 for r in report["runs"]) and 
              report["cross_run"]["failing_batch"]["shared_ids"] == [])
        c.say("all: the batch is still counted", re.search(rb"3 of 3 ", files["summary.md"]), files["summary.md"])
        c.say("all: it says so", any(q["code"] == "redacted" for q in report["quality"]))
    homes_of_two(c)
    print("%d passed, %d failed" % (c.passed, c.failed))
    return c.failed != 0


def homes_of_two(c):
    """Two inputs below one folder of homes: neither name is told, and the runs stay two."""
    # The real /home cannot be written to; the names that messages carry are enough for that rule.
    text = json.dumps({"step": 1, "peak_bytes": GIB, "run": "/home/alice/x"}) + "\n"
    other = json.dumps({"step": 1, "peak_bytes": 2 * GIB, "run": "/home/bob/x"}) + "\n"
    (c.work / "two.jsonl").write_text(text + text.replace('"step": 1', '"step": 2'))
    (c.work / "two-b.jsonl").write_text(other + other.replace('"step": 1', '"step": 2'))
    report = json.loads(c.run("--stdout", "json", c.work / "two.jsonl", c.work / "two-b.jsonl"))
    names = sorted(r["run"] for r in report["runs"])
    c.say("two runs that would have one name are told apart", names == ["x", "x (2)"], str(names))


if __name__ == "__main__":
    sys.exit(main())
