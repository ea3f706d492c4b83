"""The physical model: a device, a job on it, and what its log shows of it.

A job holds weights, gradients and optimiser state; a batch adds activations, linear in its tokens and with
a share that grows with the square of its length; the caching allocator reserves segments and gives none
back; the device also holds the context and other processes. `simulate` runs the job under a Plan (what it
retains, when it evaluates, saves, resumes) and hands every observation to a Log, which writes only what the
run's writer would have: every n-th step, some of the columns, a peak counter with its own idea of a reset.
"""
import json

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SEGMENT = 2 * MIB


def up(n, unit=SEGMENT):
    return -(-int(n) // unit) * unit


def size_text(n):
    if n <= 1024:
        return "%d bytes" % n
    if n <= MIB:
        return "%.2f KiB" % (n / KIB)
    if n <= GIB:
        return "%.2f MiB" % (n / MIB)
    return "%.2f GiB" % (n / GIB)


def message(figures, style, others=()):
    """The error text; style "new" (2.3 and later) or "old" (1.10 to 2.0)."""
    f = {k: size_text(v) for k, v in figures.items()}
    if style == "old":
        return ("CUDA out of memory. Tried to allocate %(requested_bytes)s (GPU 0; %(total_bytes)s total capacity;"
                " %(allocated_bytes)s already allocated; %(free_bytes)s free; %(reserved_bytes)s reserved in total by"
                " PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid"
                " fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF" % f)
    process = "".join("Process %d has %s memory in use. " % (pid, size_text(n)) for pid, n in others)
    gap = size_text(figures["reserved_bytes"] - figures["allocated_bytes"])
    return ("CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is free. %sIncluding"
            " non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by"
            " PyTorch, and %s is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try"
            " setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for"
            " Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
            % (f["requested_bytes"], f["total_bytes"], f["free_bytes"], process, f["this_process_bytes"],
               f["allocated_bytes"], gap))


class Job:
    """A model on a device, scaled so that its largest (or another) batch peaks at `top` of the room."""

    def __init__(self, rng, hard, shapes, top=0.8, at=None, floor=None, noise=None):
        self.rng, self.hard, self.shapes = rng, hard, shapes
        self.capacity = int(rng.choice((8, 11, 16, 24, 24, 40, 48, 80)) * GIB * rng.uniform(0.975, 0.992))
        self.context = int(rng.uniform(0.4, 0.85) * GIB)
        self.others = 0
        self.room = self.capacity - self.context
        self.stuck = int(self.room * rng.uniform(0.004, 0.012))  # cached, and of no use under pressure
        self.gap = self.room * rng.uniform(0.01, 0.04)  # cached on top of the peak when there is room
        self.quad = rng.choice((0.0, 0.0, 0.15, 0.4))
        floor = floor if floor is not None else min(rng.uniform(0.22, 0.5), 0.7 * top)
        kind = rng.choice(((1.0, 2.0, 1.0), (1.0, 1.0, 1.0), (1.0, 4.0, 1.0), (1.0, 0.1, 0.1)))
        share = floor * self.room / sum(kind)
        self.weights, self.optimiser, self.grads = (int(share * k) for k in kind)
        self.keeps_grads = rng.random() < 0.3
        self.noise = noise if noise is not None else rng.uniform(0.001, 0.008)  # of the activations
        # What stands on the device between steps jitters a little: inputs, metrics, small caches.
        self.jitter = rng.uniform(0.3, 2.5 if not hard else 6.0) * MIB
        self.length_ref = max(1.0, shapes.largest()["_len"])
        self.per_unit = 1.0
        fixed = self.state(True) + self.transient()
        self.per_unit = (top * self.room - fixed) / self.units(at or shapes.largest())
        assert self.per_unit > 0
        self.kept, self.reserved, self.stepped, self.reserved_extra = 0, 0, False, 0
        self.fragmentation = 0  # reserved beyond use that no request fits

    def state(self, stepped=None):
        stepped = self.stepped if stepped is None else stepped
        return self.weights + (self.optimiser if stepped else 0) + (self.grads if self.keeps_grads else 0)

    def transient(self):
        return 0 if self.keeps_grads else int(self.grads * 0.8)

    def units(self, shape):
        load = shape["_batch"] * shape["_len"]
        return load * (1 - self.quad) + self.quad * load * shape["_len"] / self.length_ref

    def activations(self, shape):
        return self.per_unit * self.units(shape)

    def ceiling(self):
        """Most bytes that tensors may take."""
        return self.room - self.others - self.stuck - self.fragmentation

    def need(self, shape, factor=1.0, extra=0, train=True):
        work = self.activations(shape) * factor * (1 + self.rng.gauss(0, self.noise))
        return int(self.state(True if train else None) + self.kept + (self.transient() if train else 0) + work + extra)

    def floor(self):
        return int(self.state() + self.kept + abs(self.rng.gauss(0, self.jitter)) + self.jitter)

    def reserve(self, peak):
        limit = self.room - self.others - 4 * MIB
        self.reserved = max(self.reserved, min(up(peak + self.gap * self.rng.uniform(0.5, 1) + self.fragmentation),
                                               up(limit) - SEGMENT))

    def restart(self):
        self.kept, self.reserved, self.stepped, self.fragmentation = 0, 0, False, 0

    def figures(self, need):
        """What the error says when `need` did not fit."""
        free = int(self.rng.uniform(0.05, 0.6) * min(self.stuck, 400 * MIB)) // MIB * MIB
        usable = self.ceiling() - free
        allocated = int(usable - self.rng.uniform(0, 0.004) * self.room)
        excess = max(need - self.ceiling(), 2 * MIB)
        requested = up(free + max(2 * MIB, min(excess * self.rng.uniform(0.4, 0.95), 0.9 * need)))
        reserved = min(self.room - self.others - free, allocated + self.stuck + self.fragmentation)
        return {"requested_bytes": requested, "total_bytes": self.capacity, "free_bytes": free,
                "allocated_bytes": allocated, "reserved_bytes": int(reserved),
                "this_process_bytes": int(reserved + self.context)}


class Log:
    """What one rank of one run wrote."""

    COLUMNS = ("epoch", "time", "allocated_bytes", "peak_bytes", "reserved_bytes", "device_used_bytes", "host_rss_bytes",
               "batch_size", "max_len", "tokens", "height", "width", "batch_ids")

    def __init__(self, job, columns, every=1, reset="step", declare=True, header=None, figures="new"):
        self.job, self.columns, self.every, self.reset = job, set(columns), every, reset
        self.figures = figures  # of the error: "new", "old", "fields", None
        self.header = {"oomlog": 1, **(header or {})}
        if declare and "peak_bytes" in self.columns:
            self.header["peak_reset"] = reset
        if declare and every > 1:
            self.header["log_every"] = every
        self.lines, self.since, self.rows, self.last_step = [], 0, 0, None
        self.clock = 0.0

    def keep(self, entry, shape):
        out = {k: v for k, v in entry.items() if k in ("step", "phase") or k in self.columns or k.startswith("size_")}
        out.update({k: v for k, v in shape.items() if k in self.columns or k.startswith("size_")})
        return out

    def observe(self, entry, shape, due):
        """One step happened; it is written when it is due."""
        self.since = max(self.since, entry["peak_bytes"])
        if not due:
            return
        entry = {**entry, "time": round(self.clock, 2)}
        if self.reset != "step":
            entry["peak_bytes"] = self.since
        if self.reset == "interval":
            self.since = 0
        self.lines.append(self.keep(entry, shape))
        self.rows += 1
        self.last_step = entry["step"]

    def event(self, name, shape=None, figures=None, others=(), **fields):
        entry = {"event": name, **{k: v for k, v in fields.items() if v is not None}}
        entry.update({k: v for k, v in (shape or {}).items() if k in self.columns or k.startswith("size_")})
        if figures:
            if self.figures in ("new", "old"):
                entry["message"] = "torch.OutOfMemoryError: " + message(figures, self.figures, others)
            elif self.figures == "fields":
                entry.update({k: v for k, v in figures.items() if k != "this_process_bytes"})
        self.lines.append(entry)

    def text(self):
        return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in [self.header] + self.lines)


class Evaluation:
    """An evaluation of `batches` batches every `every` steps."""

    def __init__(self, every, batches=4, factor=0.3, shapes=None, logged=True, kept=0, hold=0, extra=0, first=None):
        self.every, self.batches, self.factor, self.shapes, self.logged = every, batches, factor, shapes, logged
        self.kept = kept    # bytes that each batch leaves until the pass is over
        self.hold = hold    # bytes that the last pass leaves until the next one
        self.extra = extra  # bytes on top, in every batch
        self.first = first  # step of the first pass; `every` where not given


class Plan:
    """What happens in a run. Hooks take the step; sizes are bytes."""

    def __init__(self, steps, per_epoch=None, **hooks):
        self.steps, self.per_epoch = steps, per_epoch
        self.grow = hooks.pop("grow", None)          # (step, shape) -> bytes retained by that step
        self.kept_at = hooks.pop("kept_at", None)    # (step) -> bytes held after that step, instead of grow
        self.grow_eval = hooks.pop("grow_eval", 0)   # bytes retained by each evaluation pass
        self.spike = hooks.pop("spike", None)        # (step, shape) -> bytes on top of that step's peak
        self.before = hooks.pop("before", None)      # (step, job): anything else
        self.host = hooks.pop("host", None)          # (step) -> resident bytes
        self.evaluation = hooks.pop("evaluation", None)
        self.accum = hooks.pop("accum", 1)
        self.resume = hooks.pop("resume", None)      # step at which the process is started again
        self.rewind = hooks.pop("rewind", 0)         # steps it falls back then
        self.quiet = hooks.pop("quiet", 0)           # steps to go on, unlogged, after the end, to learn when it fails
        self.no_shape = hooks.pop("no_shape", False)  # the event does not name the batch
        self.no_phase = hooks.pop("no_phase", False)
        self.ending = hooks.pop("ending", "end")     # "end", or None: the log just stops
        self.oom = hooks.pop("oom", None)            # (need, step) -> figures, where the model's own will not do
        assert not hooks, hooks


class Outcome:
    def __init__(self):
        self.failed_at = None   # step of the OOM, logged
        self.would_fail = None  # step at which it would have failed, beyond the log
        self.phase = None
        self.shape = None
        self.kept = 0
        self.largest = 0        # highest peak that fitted
        self.need = 0
        self.heaviest = 0       # most units of a training batch that fitted


def fail(job, log, plan, out, step, shape, need, phase, silent):
    out.need, out.phase, out.shape = need, phase, shape
    if silent:
        out.would_fail = step
        return
    out.failed_at, out.kept = step, job.kept
    figures = plan.oom(need, step) if plan.oom else job.figures(need)
    epoch = round(step / plan.per_epoch, 4) if plan.per_epoch and "epoch" in log.columns else None
    log.event("oom", None if plan.no_shape else shape, figures, step=step, epoch=epoch,
              phase=None if plan.no_phase or (phase == "train" and job.rng.random() < 0.5) else phase,
              others=[(4711, job.others)] if job.others and plan.oom is None else ())


def evaluate(job, log, plan, out, step, silent):
    """One pass; False when it did not fit."""
    e, held = plan.evaluation, 0
    before = job.kept
    for _ in range(e.batches):
        shape = (e.shapes or job.shapes).next()
        need = job.need(shape, e.factor, held + e.extra, train=False)
        if need > job.ceiling():
            fail(job, log, plan, out, step, shape, need, "eval", silent)
            return False
        held += int(e.kept * shape["_batch"])
        out.largest = max(out.largest, need)
        job.reserve(need)
        log.clock += 0.3
        if e.logged and not silent:
            entry = {"step": step, "phase": "eval", "allocated_bytes": job.floor() + held, "peak_bytes": need,
                     "reserved_bytes": job.reserved, "device_used_bytes": job.reserved + job.context + job.others}
            log.observe(entry, shape, True)
        elif not silent:
            log.since = max(log.since, need)
    job.kept = before + plan.grow_eval
    return True


def train_step(job, log, plan, out, step, silent):
    """One step; False when it did not fit."""
    shape = job.shapes.next()
    if plan.before:
        plan.before(step, job)
    extra = plan.spike(step, shape) if plan.spike else 0
    need = job.need(shape, 1.0, extra)
    if not job.stepped and step + 1 < plan.accum:
        need -= job.optimiser
    if need > job.ceiling():
        fail(job, log, plan, out, step, shape, need, "train", silent)
        return False
    out.largest, out.heaviest = max(out.largest, need), max(out.heaviest, job.units(shape))
    job.stepped = job.stepped or (step + 1) % plan.accum == 0
    if plan.grow:
        job.kept = max(0, job.kept + int(plan.grow(step, shape)))
    if plan.kept_at:
        job.kept = int(plan.kept_at(step))
    job.reserve(need)
    log.clock += 0.25 + 0.05 * job.rng.random()
    if silent:
        return True
    entry = {"step": step, "allocated_bytes": job.floor(), "peak_bytes": need, "reserved_bytes": job.reserved,
             "device_used_bytes": job.reserved + job.context + job.others}
    if plan.accum > 1 and (step + 1) % plan.accum and not job.keeps_grads:
        entry["allocated_bytes"] = min(need, entry["allocated_bytes"] + job.grads)  # held until the update
    if plan.per_epoch:
        entry["epoch"] = round(step / plan.per_epoch, 4)
    if plan.host:
        entry["host_rss_bytes"] = int(plan.host(step))
    log.observe(entry, shape, step % log.every == (log.every - 1 if log.every > 1 else 0))
    return True


def simulate(job, log, plan):
    out, step, resumed = Outcome(), 0, False
    while step < plan.steps + plan.quiet:
        silent = step >= plan.steps
        if plan.resume is not None and step == plan.resume and not resumed and not silent:
            resumed = True
            job.restart()
            log.since = 0
            step = max(0, step - plan.rewind)
            log.event("resume", step=step)
        if step == plan.steps:
            out.kept = job.kept
        if not train_step(job, log, plan, out, step, silent):
            break
        step += 1
        e = plan.evaluation
        if e and (step - (e.first or 0)) % e.every == 0 and step >= (e.first or e.every):
            if not evaluate(job, log, plan, out, step if plan.no_phase else step - 1, silent):
                break
    if out.failed_at is None:
        out.kept = out.kept or job.kept
        if plan.ending:
            log.event(plan.ending, step=plan.steps - 1)
    return out
