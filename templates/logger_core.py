# Step log of a training run for oomreport: one JSON object a line, one file a rank.
# Needs nothing but the torch that is there. Paste it in; what to call stands at the end.
import json
import os
import time

import torch


def _is_oom(error):
    return type(error).__name__ == "OutOfMemoryError" or "out of memory" in str(error).lower()


def _listed(value):
    """Ids as a list of texts; None where reading them would wait for the device."""
    if getattr(value, "is_cuda", False):
        return None
    value = value.tolist() if hasattr(value, "tolist") else value
    return [str(v) for v in value] if isinstance(value, (list, tuple)) else [str(value)]


def shape_of(batch):
    """What a batch holds, from shapes alone: nothing is copied, nothing waits for the device."""
    out, tensors = {}, []
    if hasattr(batch, "items"):
        for key, value in batch.items():
            if key in ("ids", "id", "idx", "index", "sample_id", "sample_ids", "batch_ids"):
                ids = _listed(value)
                if ids:
                    out["batch_ids"] = ids
            elif getattr(value, "shape", None) is not None:
                tensors.append((str(key), tuple(value.shape)))
    elif isinstance(batch, (list, tuple)):
        tensors = [("", tuple(v.shape)) for v in batch if getattr(v, "shape", None) is not None]
    elif getattr(batch, "shape", None) is not None:
        tensors = [("", tuple(batch.shape))]
    tensors = [(key, shape) for key, shape in tensors if len(shape) > 0]
    if not tensors:
        return out
    out["batch_size"] = int(tensors[0][1][0])
    # Most dimensions first: an image before its labels; of equals the one named as input.
    key, shape = max(tensors, key=lambda t: (len(t[1]), t[0] in ("input_ids", "pixel_values"), len(t[1]) and t[1][-1]))
    if len(shape) == 4:
        out["height"], out["width"] = int(shape[2]), int(shape[3])
    elif len(shape) >= 2:
        out["max_len"] = int(shape[1])
        out["tokens"] = int(shape[0]) * int(shape[1])
    return out


class OomLog:
    """Writes the log. run, seed: as you name them; header: what else is known of the run, as grad_accum=4."""

    def __init__(self, run="run", seed=None, path=None, rank=None, world_size=None, device=None, **header):
        self.rank = int(os.environ.get("RANK", 0)) if rank is None else rank
        world = int(os.environ.get("WORLD_SIZE", 1)) if world_size is None else world_size
        self.cuda = torch.cuda.is_available()
        self.device = device if device is not None or not self.cuda else torch.cuda.current_device()
        self.failed = False  # the failure is in the log
        self.ended = False
        path = path or "oomlog-%s%s-rank%d.jsonl" % (run, "" if seed is None else "-seed%s" % seed, self.rank)
        self.file = open(path, "a", buffering=1, encoding="utf-8")  # a line is out as soon as it is written
        head = {"oomlog": 1, "run": run, "seed": seed, "rank": self.rank, "world_size": world,
                "framework": "torch %s" % torch.__version__, "peak_reset": "step"}
        if self.cuda:
            about = torch.cuda.get_device_properties(self.device)
            head["device"], head["capacity_bytes"] = about.name, int(about.total_memory)
            torch.cuda.reset_peak_memory_stats(self.device)
        head.update(header)
        self.write(head)

    def write(self, record):
        """One line. A log that cannot be written never stops the training."""
        try:
            self.file.write(json.dumps({k: v for k, v in record.items() if v is not None}) + "\n")
        except (OSError, ValueError) as error:
            if not self.ended:
                print("oomlog: %s; nothing more is logged" % error)
            self.ended = True

    def memory(self):
        out = {}
        if self.cuda:
            out["allocated_bytes"] = int(torch.cuda.memory_allocated(self.device))
            out["peak_bytes"] = int(torch.cuda.max_memory_allocated(self.device))
            out["reserved_bytes"] = int(torch.cuda.memory_reserved(self.device))
            out["peak_reserved_bytes"] = int(torch.cuda.max_memory_reserved(self.device))
        try:
            with open("/proc/self/statm") as f:
                out["host_rss_bytes"] = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            pass
        return out

    def record(self, step, shape=None, phase="train", epoch=None):
        """A step that went well; its peak counts from the record before."""
        self.write({"step": int(step), "epoch": epoch, "phase": phase, "time": round(time.time(), 3),
                    **self.memory(), **(shape or {})})
        if self.cuda:
            torch.cuda.reset_peak_memory_stats(self.device)

    def label(self, step, label):
        """A place inside a step, as log.label(step, "after backward")."""
        self.write({"step": int(step), "label": label, **self.memory()})

    def event(self, event, step=None, epoch=None, **more):
        """eval_begin, eval_end, epoch_end, save, resume, end."""
        self.write({"event": event, "step": None if step is None else int(step), "epoch": epoch,
                    "time": round(time.time(), 3), **more})

    def oom(self, error, step, shape=None, phase="train", epoch=None, recovered=None):
        """The failing step, with its batch; the figures of the message are read by oomreport."""
        if self.failed and not recovered:
            return
        self.failed = not recovered
        more = {"message": str(error)[:4000], "phase": phase, "recovered": recovered, **(shape or {})}
        if self.cuda:
            try:
                free, total = torch.cuda.mem_get_info(self.device)
                more["free_bytes"], more["total_bytes"] = int(free), int(total)
                # What the frames of the error still hold is part of it: no collection before this.
                more["allocated_bytes"] = int(torch.cuda.memory_allocated(self.device))
                more["reserved_bytes"] = int(torch.cuda.memory_reserved(self.device))
            except RuntimeError:
                pass
        self.event("oom", step, epoch, **more)

    def end(self):
        """The run ended well. Without it the log just stops, and says nothing of the end."""
        if not self.ended and not self.failed:
            self.event("end")
        self.ended = True
        self.file.close()

    def step(self, step, batch=None, phase="train", epoch=None):
        """`with log.step(i, batch):` around a step: records it, or its failure."""
        return _Step(self, step, shape_of(batch), phase, epoch)


class _Step:
    def __init__(self, log, *what):
        self.log, self.what = log, what

    def __enter__(self):
        return self.log

    def __exit__(self, kind, error, trace):
        if error is None:
            self.log.record(*self.what)
        elif _is_oom(error):
            self.log.oom(error, *self.what)
        return False
