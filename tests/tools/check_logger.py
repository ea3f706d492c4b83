#!/usr/bin/env python3
"""check_logger.py --program PROG --work DIR: the hooks of --logger, run with stand-ins for torch and the frameworks;
what they write is read back, and must give the cause that was played. Last line: "N passed, N failed"."""
import argparse
import ast
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import types

GIB = 1 << 30
CAPACITY = 16 * GIB


# --- stand-ins -------------------------------------------------------------------------------

class OutOfMemoryError(RuntimeError):
    pass


class Device:
    """An allocator with a peak counter and a limit; a cache that never gives back."""

    def __init__(self):
        self.live = self.peak = self.reserved = self.peak_reserved = 0

    def take(self, n):
        if self.live + n > CAPACITY - GIB // 2:
            raise OutOfMemoryError(
                "CUDA out of memory. Tried to allocate %.2f GiB. GPU 0 has a total capacity of %.2f GiB of which "
                "%.2f GiB is free. Including non-PyTorch memory, this process has %.2f GiB memory in use. Of the allocated memory %.2f GiB is "
                "allocated by PyTorch, and %.2f GiB is reserved by PyTorch but unallocated." % (
                    n / GIB, CAPACITY / GIB, (CAPACITY - GIB // 2 - self.reserved) / GIB,
                    (self.reserved + GIB // 2) / GIB, self.live / GIB, (self.reserved - self.live) / GIB))
        self.live += n
        self.peak = max(self.peak, self.live)
        self.reserved = max(self.reserved, self.live)
        self.peak_reserved = max(self.peak_reserved, self.reserved)

    def give(self, n):
        self.live -= n

    def reset(self):
        self.peak, self.peak_reserved = self.live, self.reserved


def fake_torch(gpu):
    torch = types.ModuleType("torch")
    torch.__version__ = "2.6.0"
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: gpu is not None, current_device=lambda: 0, OutOfMemoryError=OutOfMemoryError,
        get_device_properties=lambda d: types.SimpleNamespace(name="Stand-in 16GB", total_memory=CAPACITY),
        memory_allocated=lambda d: gpu.live, max_memory_allocated=lambda d: gpu.peak,
        memory_reserved=lambda d: gpu.reserved, max_memory_reserved=lambda d: gpu.peak_reserved,
        reset_peak_memory_stats=lambda d: gpu.reset(),
        mem_get_info=lambda d: (CAPACITY - gpu.reserved - GIB // 2, CAPACITY))
    return torch


class Tensor:
    is_cuda = True

    def __init__(self, *shape):
        self.shape = shape

    def tolist(self):
        raise AssertionError("a hook must not read from the device")


def load(c, name, gpu, **modules):
    """The hook as a module, in a process where the frameworks are stand-ins."""
    source = c.run("--logger", name)
    for key, module in {"torch": fake_torch(gpu), **modules}.items():
        sys.modules[key.replace("__", ".")] = module
    space = {"__name__": "hook"}
    exec(compile(source, "hook.py", "exec", dont_inherit=True), space)
    return types.SimpleNamespace(**space)


def batch(rng, size=8, length=None):
    n = length or rng.randrange(200, 400)
    return {"input_ids": Tensor(size, n), "labels": Tensor(size, n),
            "ids": ["s%d" % rng.randrange(10 ** 6) for _ in range(size)]}


def cost(b, per_token=600_000):
    size, n = b["input_ids"].shape
    return size * n * per_token


# --- what is played -----------------------------------------------------------------------------

def torch_leak(c, gpu, seed):
    """A loop that keeps 20 MiB a step, with evaluation each 100 steps."""
    hook, rng = load(c, "torch", gpu), random.Random(seed)
    log = hook.OomLog(run="leak", seed=seed, path=str(c.work / ("leak%d.jsonl" % seed)))
    gpu.take(4 * GIB)
    step = 0
    try:
        while True:
            b = batch(rng)
            with log.step(step, b, epoch=step / 400):
                gpu.take(cost(b))
                gpu.give(cost(b))
                gpu.take(20 << 20)
            if step % 100 == 99:
                log.event("eval_begin", step)
                for _ in range(3):
                    b = batch(rng)
                    with log.step(step, b, phase="eval"):
                        gpu.take(cost(b) // 3)
                        gpu.give(cost(b) // 3)
                log.event("eval_end", step)
            step += 1
    except OutOfMemoryError:
        return step, b


def lightning_peak(c, gpu, seed):
    """A batch ten times as long; the trainer calls the hooks that Lightning would."""
    callbacks = types.ModuleType("lightning.pytorch.callbacks")
    callbacks.Callback = type("Callback", (), {})
    hook = load(c, "lightning", gpu, lightning=types.ModuleType("lightning"),
                lightning__pytorch=types.ModuleType("lightning.pytorch"), lightning__pytorch__callbacks=callbacks)
    rng = random.Random(seed)
    trainer = types.SimpleNamespace(global_step=0, global_rank=0, world_size=1, accumulate_grad_batches=1,
                                    current_epoch=0, interrupted=False)
    callback = hook.OomLogCallback(run="peak", seed=seed, path=str(c.work / ("peak%d.jsonl" % seed)))
    callback.setup(trainer, None, "fit")
    gpu.take(4 * GIB)
    bad = 170 + 40 * seed
    for i in range(400):
        b = batch(rng, length=3600 if i == bad else None)
        if i == bad:
            b["ids"][0] = "the-long-one"
        callback.on_train_batch_start(trainer, None, b, i)
        try:
            gpu.take(cost(b))
        except OutOfMemoryError as error:
            callback.on_exception(trainer, None, error)
            return i, b
        gpu.give(cost(b))
        trainer.global_step += 1
        callback.on_train_batch_end(trainer, None, None, b, i)
        if i % 100 == 99:
            callback.on_validation_start(trainer, None)
            for k in range(3):
                v = batch(rng)
                callback.on_validation_batch_start(trainer, None, v, k)
                gpu.take(cost(v) // 3)
                gpu.give(cost(v) // 3)
                callback.on_validation_batch_end(trainer, None, None, v, k)
            callback.on_validation_end(trainer, None)
            callback.on_save_checkpoint(trainer, None, {})
            callback.on_train_epoch_end(trainer, None)
            trainer.current_epoch += 1


class Trainer:
    """As much of transformers.Trainer as a callback meets."""

    def __init__(self, gpu, rng, eval_cost):
        self.gpu, self.rng, self.eval_cost = gpu, rng, eval_cost
        self.args = types.SimpleNamespace(seed=rng.randrange(100), process_index=0, world_size=1,
                                          gradient_accumulation_steps=2)
        self.state = types.SimpleNamespace(global_step=0, epoch=0.0)
        self.callbacks = []

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def call(self, name):
        for callback in self.callbacks:
            getattr(callback, name)(self.args, self.state, None)

    def training_step(self, model, inputs, num_items_in_batch=None):
        self.gpu.take(cost(inputs))
        self.gpu.give(cost(inputs))
        return 1.0

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        self.gpu.take(self.eval_cost(inputs))
        self.gpu.give(self.eval_cost(inputs))

    def evaluate(self):
        for _ in range(4):
            self.prediction_step(None, batch(self.rng, size=32), True)
        self.call("on_evaluate")

    def train(self, steps=450):
        for _ in range(steps):
            for _ in range(2):
                self.training_step(None, batch(self.rng), num_items_in_batch=8)
            self.state.global_step += 1
            self.state.epoch = self.state.global_step / 150
            self.call("on_step_end")
            if self.state.global_step % 150 == 0:
                self.call("on_epoch_end")
                self.evaluate()
                self.call("on_save")
        self.call("on_train_end")


def hf(c, gpu, seed, name, eval_cost, steps=450):
    transformers = types.ModuleType("transformers")
    transformers.TrainerCallback = type("TrainerCallback", (), {})
    hook = load(c, "hf", gpu, transformers=transformers)
    gpu.take(4 * GIB)
    trainer = Trainer(gpu, random.Random(seed), eval_cost)
    hook.OomLogCallback(run=name, seed=seed, path=str(c.work / ("%s%d.jsonl" % (name, seed)))).attach(trainer)
    try:
        trainer.train(steps)
    except OutOfMemoryError:
        pass
    return trainer.state.global_step, None


# --- the checks -----------------------------------------------------------------------------------

class Check:
    def __init__(self, program, work):
        self.program, self.work, self.passed, self.failed = program, work, 0, 0

    def say(self, name, good, why=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print("FAILED: %s: %s" % (name, why))

    def run(self, *args):
        p = subprocess.run([str(self.program), *map(str, args)], capture_output=True, text=True, timeout=120)
        if p.returncode != 0:
            raise SystemExit("%s: exit status %d: %s" % (args, p.returncode, p.stderr))
        return p.stdout


def read_back(c, name, cause, subtypes, ends):
    logs = [c.work / ("%s%d.jsonl" % (name, s)) for s in (1, 2, 3)]
    report = json.loads(c.run("--stdout", "json", *logs))
    v = report["verdict"]
    c.say(name + ": the cause", v["cause"] == cause, (v["cause"], v["summary"]))
    c.say(name + ": the subtype", v["subtype"] in subtypes, v["subtype"])
    c.say(name + ": sure of it", cause == "none" or v["certainty"] in ("confirmed", "likely"), v["certainty"])
    c.say(name + ": nothing skipped, no note", all(i["format"] == "oomlog" and i["skipped"] == 0 and not i["notes"]
                                                   for i in report["inputs"]), report["inputs"])
    for run, (step, b) in zip(sorted(report["runs"], key=lambda r: r["seed"]), ends):
        c.say(name + ": header", (run["run"].split()[0], run["rank"], run["capacity_bytes"], run["device"]) ==
              (name, 0, CAPACITY, "Stand-in 16GB"), run["run"])
        if cause == "none":
            c.say(name + ": it ended well", run["outcome"] == "completed" and run["failure"] is None, run["outcome"])
            continue
        f = run["failure"]
        c.say(name + ": the step that failed", f["step"] == step, (f["step"], step))
        c.say(name + ": the message was read", f["requested_bytes"] and f["total_bytes"] and f["message"], f)
        if b is not None:
            c.say(name + ": the batch", f["batch"]["batch_size"] == 8 and
                  f["batch"]["max_len"] == b["input_ids"].shape[1] and f["batch"]["batch_ids"] == b["ids"], f["batch"])
    for record in map(json.loads, logs[0].read_text().splitlines()):
        if record.get("phase") == "train" and "event" not in record:
            c.say(name + ": the peak is the step's own", record["peak_bytes"] >= record["allocated_bytes"])
            break
    return report


def pieces(c):
    """What needs no run."""
    for name in ("torch", "lightning", "hf"):
        source = c.run("--logger", name)
        tree = ast.parse(source, feature_version=(3, 8))
        imports = {(n.module if isinstance(n, ast.ImportFrom) else n.names[0].name).split(".")[0]
                   for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))}
        c.say(name + ": needs nothing else", imports <= {"json", "os", "time", "torch", "lightning",
                                                         "pytorch_lightning", "transformers"}, imports)
        c.say(name + ": short lines", max(map(len, source.splitlines())) <= 120)
    gpu = Device()
    hook = load(c, "torch", gpu)
    shape = hook.shape_of
    c.say("an image", shape({"pixel_values": Tensor(4, 3, 224, 448), "labels": Tensor(4)}) ==
          {"batch_size": 4, "height": 224, "width": 448})
    c.say("a pair", shape((Tensor(16, 80), Tensor(16))) == {"batch_size": 16, "max_len": 80, "tokens": 1280})
    c.say("a tensor", shape(Tensor(5)) == {"batch_size": 5})
    c.say("a mapping that is no dict", shape(collections.OrderedDict(x=Tensor(2, 3)))["tokens"] == 6)
    c.say("nothing", shape(None) == shape("text") == shape({}) == shape([]) == {})
    c.say("ids of a device are not read", "batch_ids" not in shape({"ids": Tensor(4), "x": Tensor(4, 9)}))
    path = c.work / "full.jsonl"
    log = hook.OomLog(path=str(path))
    log.file.close()
    log.record(1)
    log.record(2)
    c.say("a log that cannot be written stops nothing", True)
    try:
        with hook.OomLog(path=str(c.work / "other.jsonl")).step(3):
            raise KeyError("something else")
    except KeyError:
        pass
    c.say("another error is no OOM", "oom\"" not in (c.work / "other.jsonl").read_text())
    log = hook.OomLog(path=str(c.work / "survived.jsonl"))
    log.oom(OutOfMemoryError("CUDA out of memory."), 4, {"batch_size": 8}, recovered=True)
    log.record(4, {"batch_size": 4})
    log.end()
    lines = [json.loads(x) for x in (c.work / "survived.jsonl").read_text().splitlines()]
    c.say("an OOM that was survived", [x.get("event") for x in lines] == [None, "oom", None, "end"] and
          lines[1]["recovered"] is True, lines)
    os.environ.update(RANK="3", WORLD_SIZE="8")
    hook.OomLog(path=str(c.work / "rank.jsonl"))
    os.environ.pop("RANK"), os.environ.pop("WORLD_SIZE")
    head = json.loads((c.work / "rank.jsonl").read_text())
    c.say("rank and world of torchrun", (head["rank"], head["world_size"]) == (3, 8), head)
    host = load(c, "torch", None).OomLog(path=str(c.work / "host.jsonl"))
    host.record(1)
    record = json.loads((c.work / "host.jsonl").read_text().splitlines()[1])
    c.say("without a GPU the host's memory", record["host_rss_bytes"] > 0 and "peak_bytes" not in record)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", required=True, type=pathlib.Path)
    p.add_argument("--work", required=True, type=pathlib.Path)
    a = p.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    c = Check(a.program.resolve(), a.work.resolve())
    pieces(c)
    seeds = (1, 2, 3)
    read_back(c, "leak", "leak", ["step"], [torch_leak(c, Device(), s) for s in seeds])
    report = read_back(c, "peak", "peak", ["length", "tokens"], [lightning_peak(c, Device(), s) for s in seeds])
    c.say("peak: the sample is named", report["cross_run"]["failing_batch"]["shared_ids"] == ["the-long-one"],
          report["cross_run"])
    read_back(c, "eval", "eval", ["grad", "batch"],
              [hf(c, Device(), s, "eval", lambda b: cost(b, 1_100_000)) for s in seeds])
    read_back(c, "fine", "none", [None], [hf(c, Device(), s, "fine", lambda b: cost(b) // 8) for s in seeds])
    print("%d passed, %d failed" % (c.passed, c.failed))
    return c.failed != 0


if __name__ == "__main__":
    sys.exit(main())
