#!/usr/bin/env python3
"""make_snapshot.py DIR: the memory snapshots of fixtures/snapshots, small, with what is true of them.

A toy loop allocates from a toy allocator (one heap a device, first fit, 512-byte grain) and writes what
PyTorch's allocator would have recorded: segments with blocks, a trace of events with shared frames. NAME.truth.json
beside each file says what was planted and what a replay must find.
"""
import base64
import gzip
import json
import pathlib
import pickle
import random
import struct
import sys

GRAIN = 512
HEAP = 1 << 20
USER = "/home/ana/speech/"
TORCH = "/opt/env/lib/python3.12/site-packages/torch/"


class Frames:
    """One dictionary for each line, shared by all stacks that pass it."""

    def __init__(self):
        self.known = {}

    def __call__(self, file, line, name):
        return self.known.setdefault((file, line, name), {"name": name, "filename": file, "line": line})


class Full(Exception):
    pass


class Heap:
    """First fit over heaps of HEAP bytes; every action leaves an entry in the trace."""

    def __init__(self, base, limit=None, ring=None):
        self.base, self.limit, self.ring = base, limit, ring
        self.segments, self.blocks, self.trace = [], [], []     # blocks: [addr, size, requested, frames, state]
        self.clock, self.live, self.peak, self.peak_at, self.count = 1_750_000_000_000_000, 0, 0, None, 0
        self.failed = None

    def note(self, action, addr, size, frames):
        self.clock += 7
        self.count += 1
        self.trace.append({"action": action, "device_free" if action == "oom" else "addr": addr, "size": size,
                           "stream": 0, "time_us": self.clock, "frames": frames})

    def take(self, n, frames):
        size = (n + GRAIN - 1) // GRAIN * GRAIN
        spot = next((b for b in self.blocks if b[4] == "inactive" and b[1] >= size), None)
        if spot is None:
            if self.limit is not None and (len(self.segments) + 1) * HEAP > self.limit:
                self.note("oom", self.limit - len(self.segments) * HEAP, size, frames)
                self.failed = {"event": self.count - 1, "requested": size, "live": self.live,
                               "device_free": self.limit - len(self.segments) * HEAP}
                raise Full()
            addr = self.base + 2 * HEAP * len(self.segments)
            self.segments.append(addr)
            self.note("segment_alloc", addr, HEAP, frames)
            spot = [addr, HEAP, 0, [], "inactive"]
            self.blocks.append(spot)
        if spot[1] > size:
            at = self.blocks.index(spot)
            self.blocks.insert(at + 1, [spot[0] + size, spot[1] - size, 0, [], "inactive"])
        spot[1:] = [size, n, frames, "active_allocated"]
        self.live += n
        self.note("alloc", spot[0], n, frames)
        if self.live > self.peak:
            self.peak, self.peak_at = self.live, self.count - 1
        return spot

    def give(self, spot, frames):
        self.live -= spot[2]
        self.note("free_requested", spot[0], spot[2], frames)
        self.note("free_completed", spot[0], spot[2], frames)
        spot[2:] = [0, [], "inactive"]
        at = self.blocks.index(spot)
        for i in (at, at - 1):      # join with free neighbours of the same heap
            if 0 <= i < len(self.blocks) - 1:
                left, right = self.blocks[i], self.blocks[i + 1]
                if left[4] == right[4] == "inactive" and left[0] + left[1] == right[0]:
                    left[1] += right[1]
                    del self.blocks[i + 1]

    def dump(self, device, addresses=True):
        out = []
        for seg in self.segments:
            mine = [b for b in self.blocks if seg <= b[0] < seg + HEAP]
            used = [b for b in mine if b[4] != "inactive"]
            out.append({"device": device, "address": seg, "total_size": HEAP,
                        "allocated_size": sum(b[1] for b in used), "active_size": sum(b[1] for b in used),
                        "requested_size": sum(b[2] for b in used), "stream": 0, "segment_type": "large",
                        "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                        "blocks": [{"address": b[0], "size": b[1], "requested_size": b[2], "state": b[4], "frames": b[3]}
                                   for b in mine]})
        return out

    def kept(self):
        return self.trace if self.ring is None else self.trace[-self.ring:]


def train(heap, f, steps, leak=None, evaluate=0, rng=None, annotations=None):
    """The loop. leak: "loss" keeps a tensor of each step, "buffer" keeps the last five, "eval" what evaluation makes."""
    main = f(USER + "main.py", 80, "<module>")
    step_frame = f(USER + "main.py", 41, "train_step")
    call = f(TORCH + "nn/modules/module.py", 1750, "_call_impl")
    adam = [f(TORCH + "optim/adam.py", 150, "_init_group"), f(TORCH + "optim/optimizer.py", 485, "wrapper"),
            f(USER + "main.py", 52, "train_step"), main]
    temp = [f(TORCH + "optim/adam.py", 600, "_multi_tensor_adam"), f(TORCH + "optim/optimizer.py", 485, "wrapper"),
            f(USER + "main.py", 52, "train_step"), main]
    weights = [heap.take(n, [f(TORCH + "nn/modules/module.py", 1320, "convert"), f(USER + "main.py", 20, "build"), main])
               for n in (40_000, 90_000, 1_500)]
    grads, state, kept, leaked = [], [], [], []
    layers = [[f(TORCH + "nn/modules/conv.py", 450, "forward"), call, f(USER + "net.py", 30 + i, "forward"), call,
               f(USER + "net.py", 12, "forward"), call] for i in range(3)]
    for step in range(steps):
        if annotations is not None:
            annotations.append({"name": "ProfilerStep#%d" % (step + 100), "stage": "START", "device": 0, "time_us": heap.clock})
        length = rng.choice((3, 4, 5)) * 1000
        for g in grads:
            heap.give(g, [step_frame, main])
        grads = []
        acts = [heap.take(length * (i + 2), layer + [step_frame, main]) for i, layer in enumerate(layers)]
        loss = heap.take(length * 4, [f(TORCH + "nn/functional.py", 3500, "cross_entropy"), f(USER + "main.py", 44, "train_step"), main])
        for a in reversed(acts):
            grads.append(heap.take(a[2], []))
            heap.give(a, [])
        for g in grads[1:]:
            heap.give(g, [])
        grads = grads[:1]
        if not state:
            state = [heap.take(w[2] * 2, adam) for w in weights]
        heap.give(heap.take(30_000, temp), temp)
        if leak == "loss":
            leaked.append(loss)
        elif leak == "buffer":
            kept.append(loss)
            if len(kept) > 5:
                heap.give(kept.pop(0), [step_frame, main])
        else:
            heap.give(loss, [step_frame, main])
        if evaluate and step % evaluate == evaluate - 1:
            inside = [f(USER + "evaluate.py", 17, "evaluate"), main]
            outs = [heap.take(6_000, layer + inside) for layer in layers]
            if leak == "eval":
                leaked += outs
            else:
                for o in outs:
                    heap.give(o, inside)
    return leaked


def snapshot(heaps, version, annotations, empty=0):
    segments = [s for i, h in enumerate(heaps) for s in h.dump(i)]
    traces = [list(h.kept()) for h in heaps] + [[]] * empty
    if version == "1.13":
        for s in segments:
            for b in s["blocks"]:
                if b["state"] != "inactive":
                    b["history"] = [{"addr": b["address"], "real_size": b["requested_size"], "frames": b["frames"]}]
                for key in ("address", "requested_size", "frames"):
                    del b[key]
        return segments
    if version == "2.0":
        for t in traces:
            for e in t:
                del e["time_us"]
        return {"segments": segments, "device_traces": traces}
    return {"segments": segments, "device_traces": traces,
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "max_split_size": 64 << 20,
                                   "garbage_collection_threshold": 0.5, "expandable_segments": False,
                                   "roundup_power2_divisions": {"1": 0, "2": 0}},
            "external_annotations": annotations or [], "something_new": {"a": [1, 2.5, None, True]}}


class OnePiece:
    """Protocol 2 as PyTorch's own pickler writes it: strings by value, each container in one batch, its memo
    entry behind it and only where it is used again."""

    def __init__(self):
        self.out, self.memo, self.strings, self.objects = bytearray(b"\x80\x02"), 0, {}, {}

    def put(self):
        i = self.memo
        self.memo += 1
        self.out += b"q%c" % i if i < 256 else b"r" + struct.pack("<I", i)
        return b"h%c" % i if i < 256 else b"j" + struct.pack("<I", i)

    def save(self, x):
        if isinstance(x, str):
            if x not in self.strings:
                self.out += b"X" + struct.pack("<I", len(x.encode())) + x.encode()
                self.strings[x] = self.put()
            else:
                self.out += self.strings[x]
        elif x is None:
            self.out += b"N"
        elif isinstance(x, bool):
            self.out += b"\x88" if x else b"\x89"
        elif isinstance(x, float):
            self.out += b"G" + struct.pack(">d", x)
        elif isinstance(x, int):
            self.out += (b"K%c" % x if 0 <= x < 256 else b"J" + struct.pack("<i", x) if -2**31 <= x < 2**31
                         else b"\x8a\x08" + struct.pack("<q", x))
        elif isinstance(x, tuple):
            for v in x:
                self.save(v)
            self.out += b"\x86"
        elif id(x) in self.objects:
            self.out += self.objects[id(x)][0]
        else:
            self.out += b"}(" if isinstance(x, dict) else b"]("
            for v in ([w for kv in x.items() for w in kv] if isinstance(x, dict) else x):
                self.save(v)
            self.out += b"u" if isinstance(x, dict) else b"e"
            if "filename" in x or (isinstance(x, list) and x and isinstance(x[0], dict) and "filename" in x[0]):
                self.objects[id(x)] = self.put(), x
        return self


def encode(snap, form):
    if form == "json":
        return json.dumps(snap).encode()
    if form == "cpp":
        return bytes(OnePiece().save(snap).out + b".")
    data = pickle.dumps(snap, protocol=4 if form in ("gz", "html") else int(form))
    if form == "gz":
        return gzip.compress(data, mtime=0)
    if form == "html":
        return (b"<!DOCTYPE html>\n<html><body><script type=\"module\">\nconst local_files = [{\"name\": \"snapshot.pickle\", "
                b"\"base64\": \"" + base64.b64encode(data + b"\0") + b"\"}];\n</script></body></html>\n")
    return data


# name, form, version, options of the loop
CASES = [
    ("healthy.pickle", "4", "2.6", {"steps": 12, "evaluate": 4}),
    ("protocol0.pickle", "0", "2.6", {"steps": 8}),
    ("protocol2.pickle", "2", "2.6", {"steps": 8}),
    ("protocol5.pickle", "5", "2.6", {"steps": 8}),
    ("cpp.pickle", "cpp", "2.6", {"steps": 8}),
    ("healthy.json", "json", "2.6", {"steps": 5}),
    ("packed.pickle.gz", "gz", "2.6", {"steps": 12, "leak": "loss"}),
    ("page.html", "html", "2.6", {"steps": 8}),
    ("list.pickle", "4", "1.13", {"steps": 4}),
    ("no-time.pickle", "4", "2.0", {"steps": 8}),
    ("leak-loss.pickle", "4", "2.6", {"steps": 14, "leak": "loss"}),
    ("leak-eval.pickle", "4", "2.6", {"steps": 20, "leak": "eval", "evaluate": 4}),
    ("buffer.pickle", "4", "2.6", {"steps": 16, "leak": "buffer"}),
    ("leak-oom.pickle", "4", "2.6", {"steps": 4000, "leak": "loss", "limit": HEAP}),
    ("ring.pickle", "4", "2.6", {"steps": 14, "leak": "loss", "ring": 200}),
    ("two-devices.pickle", "4", "2.6", {"steps": 8, "devices": 2, "empty": 1}),
    ("profiler-steps.pickle", "4", "2.6", {"steps": 9, "leak": "loss", "annotate": True}),
]


def make(name, form, version, steps, leak=None, evaluate=0, limit=None, ring=None, devices=1, empty=0, annotate=False):
    f, heaps, annotations = Frames(), [], [] if annotate else None
    truth = {"cause": {"loss": "leak-loss-list", "eval": "eval-grad"}.get(leak, "healthy"), "devices": []}
    for device in range(devices):
        heap = Heap(0x7f0000000000 + (device << 36), limit, ring)
        done, leaked = steps, []
        try:
            leaked = train(heap, f, steps, leak, evaluate, random.Random(name + str(device)), annotations)
        except Full:
            done = 99
        heaps.append(heap)
        kept = heap.kept()
        blocks = [b for b in heap.blocks if b[4] != "inactive"]
        guilty = {"loss": "main.py:44", "eval": "evaluate.py:17"}.get(leak)
        split = sum(b[1] for s in heap.dump(device) if len(s["blocks"]) > 1 for b in heap.blocks
                    if s["address"] <= b[0] < s["address"] + HEAP and b[4] == "inactive")
        first = heap.count - len(kept)
        truth["devices"].append({
            "device": device, "steps_done": done, "events_total": heap.count, "events_recorded": heap.count,
            "events_kept": len(kept), "truncated": len(kept) < heap.count, "peak_requested": heap.peak,
            "peak_index_in_file": heap.peak_at - first if heap.peak_at >= first else None,
            "end_live_requested": heap.live, "end_live_rounded": sum(b[1] for b in blocks),
            "reserved_end": len(heap.segments) * HEAP, "inactive_split_bytes": split,
            "guilty": {"user_frame": USER + guilty} if guilty else None, "leaked_blocks": len(leaked),
            "oom": {"requested_rounded": heap.failed["requested"], "device_free": heap.failed["device_free"]}
            if heap.failed else None})
    return encode(snapshot(heaps, version, annotations, empty), form), truth


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, form, version, options in CASES:
        data, truth = make(name, form, version, **options)
        (out / name).write_bytes(data)
        (out / (name + ".truth.json")).write_text(json.dumps(truth, indent=1) + "\n")
        print("%-24s %7d bytes" % (name, len(data)))


if __name__ == "__main__":
    main()
