#!/usr/bin/env python3
"""write_snapshot.py --size MB [--stacks python|cpp|distinct] [--form pickle|json] OUT: a large memory snapshot.

A training loop as PyTorch's allocator records it (context "all"): each allocation with its own list of frames,
each free with another, frames shared as dictionaries, in the bytes that Python's pickler writes in protocol 4
(frames of 64 KiB, batches of 1000, memo entries in the order of creation). Written as it is made: the memory
needed does not grow with the file. One tensor of each step stays; the last event is a failed request.
"""
import argparse
import json
import pathlib
import random
import struct

LAYERS = 250
BASE, KEPT, SLOT = 0x7F0000000000, 0x7F8000000000, 8 << 20
KEPT_SIZE = 3 << 20
PLACES = {"python": (4000, 16000, 26, 0), "cpp": (4000, 16000, 20, 60), "distinct": (0, 16000, 24, 0)}
FREE, OOM_LINE = 3, 44
KEPT_FILE = "/home/ana/speech/main.py"


class Frames:
    """Frames and stacks as numbers; frame i is the same for the same i."""

    def __init__(self, kind, rng):
        n_stacks, self.n, self.python, self.cpp = PLACES[kind]
        self.rng = rng
        self.stacks = [self.draw() for _ in range(n_stacks)]

    def draw(self):
        depth = self.rng.randrange(self.python * 2 // 3, self.python * 4 // 3)
        own = [self.rng.randrange(self.n // 2) * 2 for _ in range(depth)]
        return [self.rng.randrange(self.n // 2) * 2 + 1 for _ in range(self.cpp)] + own + [self.n]

    def pick(self, place):
        return self.stacks[place % len(self.stacks)] if self.stacks else self.draw()

    def fields(self, i):
        if i == self.n:
            return "train_step", KEPT_FILE, OOM_LINE
        if i % 2 and self.cpp:
            return "at::native::op_%d(at::Tensor const&, c10::Scalar const&)" % (i % 700), "??", 0
        package = "/opt/env/lib/python3.12/site-packages/torch/nn/modules/m%d.py" if i % 8 else "/home/ana/speech/net%d.py"
        return "call_%d" % (i % 900), package % (i % 60), 10 + i // 60


class Pickle:
    """CPython's protocol 4, for the few kinds of values that a snapshot has."""

    def __init__(self, out, frames):
        self.out, self.frames, self.memo, self.known, self.parts, self.size = out, frames, 0, {}, [], 0
        self.joined = {}        # bytes of stacks whose frames have all been written
        self.out.write(b"\x80\x04")

    def put(self, data):
        self.parts.append(data)
        self.size += len(data)
        if self.size >= 1 << 16:
            self.flush()

    def flush(self):
        if self.size:
            self.out.write(b"\x95" + struct.pack("<Q", self.size) + b"".join(self.parts))
        self.parts, self.size = [], 0

    def entry(self):
        i = self.memo
        self.memo += 1
        return b"h%c" % i if i < 256 else b"j" + struct.pack("<I", i)

    def string(self, s):
        known = self.known.get(s)
        if known is None:
            raw = s.encode()
            self.known[s] = self.entry()
            return (b"\x8c%c" % len(raw) if len(raw) < 256 else b"X" + struct.pack("<I", len(raw))) + raw + b"\x94"
        return known

    def text(self, s):      # not shared
        raw = s.encode()
        self.memo += 1
        return b"\x8c%c" % len(raw) + raw + b"\x94"

    @staticmethod
    def number(x):
        if x < 256:
            return b"K%c" % x
        if x < 65536:
            return b"M" + struct.pack("<H", x)
        if x < 1 << 31:
            return b"J" + struct.pack("<i", x)
        n = x.bit_length() // 8 + 1
        return b"\x8a%c" % n + x.to_bytes(n, "little")

    def frame(self, i):
        known = self.known.get(i)
        if known is None:
            name, file, line = self.frames.fields(i)
            self.known[i] = self.entry()
            return b"}\x94(" + self.string("name") + self.text(name) + self.string("filename") + self.text(file) + \
                self.string("line") + self.number(line) + b"u"
        return known

    def stack(self, frames):
        """A new list of frames: its bytes, and those that refer to it later."""
        get = self.entry()
        if not frames:
            return b"]\x94", get
        data = self.joined.get(id(frames))
        if data is None:
            whole = len(frames) > 1 and all(i in self.known for i in frames)
            data = b"]\x94(" + b"".join([self.frame(i) for i in frames]) + b"e"
            if whole and self.frames.stacks:
                self.joined[id(frames)] = data
        return data, get

    def event(self, action, addr, size, time, frames):
        string, number = self.string, self.number
        self.memo += 1
        data = b"}\x94(" + string("action") + string(action) + string("device_free" if action == "oom" else "addr") + \
            number(addr) + string("size") + number(size) + string("stream") + b"K\0" + string("time_us") + number(time)
        key = string("frames")
        if isinstance(frames, bytes):
            self.put(data + key + frames + b"u")
            return frames
        made, get = self.stack(frames)
        self.put(data + key + made + b"u")
        return get

    def dict_open(self):
        self.memo += 1
        self.put(b"}\x94(")

    def list_open(self, key):
        self.put(self.string(key) + b"]\x94(")
        self.memo += 1

    def field(self, key, value):
        key = self.string(key)
        if isinstance(value, list):
            self.put(key + self.stack(value)[0])
        elif isinstance(value, bool):
            self.put(key + (b"\x88" if value else b"\x89"))
        else:
            self.put(key + (self.string(value) if isinstance(value, str) else self.number(value)))


class Work:
    """The loop: what is allocated and freed, with the places that ask for it."""

    def __init__(self, frames, steps):
        self.frames, self.steps, self.time = frames, steps, 1_750_000_000_000_000
        rng = random.Random(5)
        self.sizes = [rng.randrange(1 << 12, SLOT) for _ in range(LAYERS * 4)]

    def events(self):
        """(action, address, size, time, stack or None for the one of the event before)."""
        for step in range(self.steps):
            places = range(LAYERS * 4)
            for i in places:
                yield "alloc", BASE + i * SLOT, self.sizes[i], self.tick(), self.frames.pick(i)
            yield "alloc", KEPT + step * KEPT_SIZE, KEPT_SIZE, self.tick(), [self.frames.n]
            for i in reversed(places):
                stack = self.frames.pick(i + LAYERS * 4) if i % FREE else []
                yield "free_requested", BASE + i * SLOT, self.sizes[i], self.tick(), stack
                yield "free_completed", BASE + i * SLOT, self.sizes[i], self.tick(), None
        yield "oom", 1 << 20, 1 << 30, self.tick(), [self.frames.n]

    def tick(self):
        self.time += 3
        return self.time

    def blocks(self):
        """(segment address, [(address, size, requested, live)]) of the end."""
        for i in range(LAYERS * 4):
            yield BASE + i * SLOT, [(BASE + i * SLOT, SLOT, self.sizes[i], False)]
        per = SLOT // KEPT_SIZE * 8
        for at in range(0, self.steps, per):
            n = min(per, self.steps - at)
            yield KEPT + at * KEPT_SIZE, [(KEPT + k * KEPT_SIZE, KEPT_SIZE, KEPT_SIZE, True) for k in range(at, at + n)]


def write_pickle(out, work):
    p = Pickle(out, work.frames)

    def segments():
        for address, blocks in work.blocks():
            p.dict_open()
            for key, value in (("device", 0), ("address", address), ("total_size", sum(b[1] for b in blocks)),
                               ("stream", 0), ("segment_type", "large"), ("is_expandable", False), ("frames", [])):
                p.field(key, value)
            p.list_open("blocks")
            for at, size, requested, live in blocks:
                p.dict_open()
                for key, value in (("address", at), ("size", size), ("requested_size", requested),
                                   ("state", "active_allocated" if live else "inactive"),
                                   ("frames", [work.frames.n] if live else [])):
                    p.field(key, value)
                p.put(b"u")
            p.put(b"eu")
            yield

    def trace():
        before = None
        for action, addr, size, time, stack in work.events():
            before = p.event(action, addr, size, time, before if stack is None else stack)
            yield

    def batches(items):
        for n, _ in enumerate(items, 1):
            if n % 1000 == 0:
                p.put(b"e(")

    p.dict_open()
    p.list_open("segments")
    batches(segments())
    p.put(b"e" + p.string("device_traces") + b"]\x94]\x94(")
    p.memo += 2
    batches(trace())
    p.put(b"eau.")
    p.flush()


def write_json(out, work):
    def stack_of(frames):
        return [dict(zip(("name", "filename", "line"), work.frames.fields(i))) for i in frames]

    def put(text):
        out.write(text.encode())

    put('{"segments": [')
    for i, (address, blocks) in enumerate(work.blocks()):
        put((", " if i else "") + json.dumps(
            {"device": 0, "address": address, "total_size": sum(b[1] for b in blocks), "stream": 0,
             "segment_type": "large", "is_expandable": False, "frames": [],
             "blocks": [{"address": a, "size": s, "requested_size": r, "state": "active_allocated" if live else "inactive",
                         "frames": stack_of([work.frames.n]) if live else []} for a, s, r, live in blocks]}))
    put('], "device_traces": [[')
    frames = []
    for i, (action, addr, size, time, stack) in enumerate(work.events()):
        frames = frames if stack is None else stack_of(stack)
        put((", " if i else "") + json.dumps({"action": action, "device_free" if action == "oom" else "addr": addr,
                                              "size": size, "stream": 0, "time_us": time, "frames": frames}))
    put("]]}")


class Counter:
    def __init__(self):
        self.n = 0

    def write(self, data):
        self.n += len(data)


def write(path, size, stacks="python", form="pickle"):
    """About size bytes into path: as many steps as fit."""
    make = write_pickle if form == "pickle" else write_json
    lengths = []
    for steps in (2, 6):        # the first step makes the frames, the others are of one length
        counter = Counter()
        make(counter, Work(Frames(stacks, random.Random(7)), steps))
        lengths.append(counter.n)
    per = (lengths[1] - lengths[0]) / 4
    steps = max(2, round(2 + (size - lengths[0]) / per))
    with open(path, "wb", buffering=1 << 20) as out:
        make(out, Work(Frames(stacks, random.Random(7)), steps))
    return steps


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--size", type=float, required=True, help="MB (10^6)")
    p.add_argument("--stacks", choices=sorted(PLACES), default="python")
    p.add_argument("--form", choices=("pickle", "json"), default="pickle")
    p.add_argument("out", type=pathlib.Path)
    a = p.parse_args()
    steps = write(a.out, a.size * 1e6, a.stacks, a.form)
    print("%s: %d steps, %d bytes" % (a.out, steps, a.out.stat().st_size))


if __name__ == "__main__":
    main()
