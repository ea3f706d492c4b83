"""Runs with nothing wrong in them, each of which looks like something."""
import math

import shapes as sh
from case import Case, kind, make_log, need, rows_of
from physics import GIB, MIB, Evaluation, Job, Plan, simulate

TEXT = ("peak_bytes", "batch_size", "max_len", "tokens")


def healthy(rng, hard, shapes, cols, never=(), top=None, rows=None, every=1, reset="step", noise=None, per_epoch=None,
            declare=None, floor=None, status="ok", job=None, head=(), fields=None, **hooks):
    rows = rows or rows_of(rng, hard)
    job = job or Job(rng, hard, shapes, top=top or rng.uniform(0.5, 0.85), noise=noise, floor=floor)
    log = make_log(rng, hard, job, cols, never, head=("capacity_bytes",) + tuple(head), every=every, reset=reset,
                   declare=declare, steps_per_epoch=per_epoch, **(fields or {}))
    out = simulate(job, log, Plan(rows * every, per_epoch, ending=hooks.pop("ending", rng.choice(("end", "end", None))), **hooks))
    need(out.failed_at is None and log.rows >= 50)
    need(out.largest < 0.96 * job.ceiling())
    return Case("none", None, status=status).add("run.jsonl", log), job, log, out


@kind
def ok_plain(rng, hard):
    return healthy(rng, hard, sh.moderate(rng), TEXT + ("allocated_bytes",))[0]


@kind
def ok_warmup_plateau(rng, hard):
    """Caches and workspaces fill in the first steps, then nothing changes."""
    rows = rows_of(rng, hard)
    n, size = rng.randrange(5, max(6, rows // 6)), rng.uniform(0.03, 0.15)
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.75))
    return healthy(rng, hard, shapes, rng.choice((("allocated_bytes",), TEXT)), rows=rows, job=job,
                   kept_at=lambda step: job.room * size * (1 - math.exp(-3.0 * step / n)))[0]


@kind
def ok_optimizer_jump(rng, hard):
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.6, 0.85), floor=rng.uniform(0.3, 0.45))
    accum = rng.choice((1, 1, 4, 8))
    return healthy(rng, hard, shapes, ("allocated_bytes",), job=job, accum=accum, head=("grad_accum",),
                   fields={"grad_accum": accum})[0]


@kind
def ok_bounded_cache(rng, hard):
    """A cache fills in a straight line for a good part of the log, and is full."""
    rows = rows_of(rng, hard)
    n, size = int(rows * rng.uniform(0.25, 0.5)), rng.uniform(0.05, 0.15)
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.75))
    return healthy(rng, hard, shapes, ("allocated_bytes",), rows=rows, job=job,
                   kept_at=lambda step: job.room * size * min(1.0, step / n))[0]


@kind
def ok_curriculum(rng, hard):
    """The length is raised by stages up to what fits: peaks climb, the shapes say why."""
    rows = rows_of(rng, hard)
    stage, base = rows // rng.randrange(4, 8) + 1, 256
    last = (rows - 1) // stage

    def draw(n):
        return sh.text_shape(8, int(base * 1.22 ** (n // stage)))
    shapes = sh.Drawn(draw, sh.text_shape(8, int(base * 1.22 ** last)))
    return healthy(rng, hard, shapes, TEXT, rows=rows, top=rng.uniform(0.6, 0.8), head=("corpus_max_len",),
                   fields={"corpus_max_len": int(base * 1.22 ** last)})[0]


@kind
def ok_sorted(rng, hard):
    """Ascending lengths over one epoch, the longest of which fits."""
    rows = rows_of(rng, hard)
    shapes = sh.Corpus(rng, rows * 8, 8, "sorted", spread=0.4)
    cols = TEXT + (("allocated_bytes",) if rng.random() < 0.7 else ())
    return healthy(rng, hard, shapes, cols, rows=rows, top=rng.uniform(0.6, 0.8), noise=0.002,
                   head=("corpus_max_len",), fields={"corpus_max_len": max(shapes.lengths)})[0]


@kind
def ok_level_shift(rng, hard):
    """One step up at an odd place (a library's workspace), and level before and after."""
    rows = rows_of(rng, hard)
    at, size = int(rows * rng.uniform(0.25, 0.7)), rng.uniform(0.02, 0.12)
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.78))
    return healthy(rng, hard, shapes, ("allocated_bytes",), rows=rows, job=job,
                   kept_at=lambda step: job.room * size if step >= at else 0)[0]


@kind
def ok_reserved_creep(rng, hard):
    """Reserved climbs all along; allocated does not, and reserved would give way."""
    rows = rows_of(rng, hard)
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.7))
    extra = rng.uniform(0.1, 0.2) * job.room

    def before(step, _):
        job.fragmentation = int(extra * math.log1p(step) / math.log1p(rows))
    return healthy(rng, hard, shapes, ("allocated_bytes", "reserved_bytes") + rng.choice(((), ("peak_bytes",))), rows=rows,
                   job=job, before=before)[0]


@kind
def ok_irregular_gc(rng, hard):
    """Reference cycles: the collector comes at odd steps and takes everything back."""
    state = {"next": rng.randrange(15, 50), "kept": 0.0}
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.7))
    each = job.room * rng.uniform(0.0008, 0.003)

    def kept_at(step):
        state["kept"] += each
        if step >= state["next"]:
            state["next"], state["kept"] = step + rng.randrange(15, 50), 0.0
        return state["kept"]
    return healthy(rng, hard, shapes, ("allocated_bytes",), job=job, kept_at=kept_at)[0]


@kind
def ok_sawtooth_in_epoch(rng, hard):
    """A list grows through the epoch and is cleared at its end, with room to spare."""
    shapes = sh.moderate(rng)
    per = rng.randrange(25, 60) if hard else rng.randrange(80, 200)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.65))
    each = job.room * rng.uniform(0.05, 0.14) / per
    return healthy(rng, hard, shapes, ("allocated_bytes", "epoch"), rows=per * rng.randrange(4, 6), job=job, per_epoch=per,
                   head=("steps_per_epoch",), kept_at=lambda step: each * ((step + 1) % per))[0]


@kind
def ok_hold_after_eval(rng, hard):
    """The first evaluation leaves its outputs until the next: one step up, once."""
    rows = rows_of(rng, hard)
    every = max(15, rows // rng.randrange(4, 8))
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.75))
    size = job.room * rng.uniform(0.01, 0.08)
    evaluation = Evaluation(every, 4, factor=0.3, logged=rng.random() < 0.8)
    return healthy(rng, hard, shapes, ("allocated_bytes",), rows=rows, job=job, evaluation=evaluation, per_epoch=every,
                   head=("eval_every",), fields={"eval_every": every},
                   kept_at=lambda step: size if step >= every else 0)[0]


@kind
def ok_eval_spikes(rng, hard):
    """Evaluation is dearer than training, and fits."""
    rows = rows_of(rng, hard)
    every = max(15, rows // rng.randrange(3, 8))
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.45, 0.6))
    evaluation = Evaluation(every, 5, factor=rng.uniform(1.0, 1.3))
    return healthy(rng, hard, shapes, TEXT + ("allocated_bytes",), rows=rows, job=job, evaluation=evaluation, per_epoch=every)[0]


@kind
def ok_short_probe(rng, hard):
    """Two hundred steps to see whether it fits; it does, the longest sample included."""
    rows = rng.randrange(200, 301)
    shapes = sh.Corpus(rng, rows * 8, 8)
    return healthy(rng, hard, shapes, TEXT + ("allocated_bytes",), rows=rows, top=rng.uniform(0.6, 0.88),
                   head=("corpus_max_len",), fields={"corpus_max_len": max(shapes.lengths)})[0]


@kind
def ok_wandering_workload(rng, hard):
    """Lengths drift up and down for hundreds of steps."""
    cols = TEXT + (("allocated_bytes",) if rng.random() < 0.6 else ())
    return healthy(rng, hard, sh.wandering(rng), cols, top=rng.uniform(0.55, 0.8))[0]


@kind
def ok_counter_never_reset(rng, hard):
    """A staircase of records over ordinary lengths, far from the ceiling."""
    every = rng.choice((1, 10, 20))
    rows = rng.randrange(100, 300) if hard else rng.randrange(250, 700)
    never = ("allocated_bytes",) if rng.random() < 0.7 else ()
    return healthy(rng, hard, sh.moderate(rng, spread=0.3), ("peak_bytes",), never=never, rows=rows, every=every, reset="never",
                   top=rng.uniform(0.45, 0.7))[0]


@kind
def ok_accumulation(rng, hard):
    """Gradients stand for k-1 micro-steps of k: the floor jumps all the time."""
    accum = rng.choice((4, 8, 16))
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.8))
    job.keeps_grads = False
    return healthy(rng, hard, shapes, ("allocated_bytes",), job=job, accum=accum, head=("grad_accum",),
                   fields={"grad_accum": accum})[0]


@kind
def ok_neighbour_comes_and_goes(rng, hard):
    """Only the device's use is logged, and another process shares the card for a while."""
    rows = rows_of(rng, hard)
    a, size = int(rows * rng.uniform(0.2, 0.4)), rng.uniform(0.5, 3.0) * GIB
    b = a + int(rows * rng.uniform(0.2, 0.35))
    shapes = sh.Fixed()
    job = Job(rng, hard, shapes, top=rng.uniform(0.3, 0.5), noise=0.001)
    need(size < 0.3 * job.room)

    def before(step, _):
        job.others = int(size) if a <= step < b else 0
    return healthy(rng, hard, shapes, ("device_used_bytes",), never=("allocated_bytes", "peak_bytes", "reserved_bytes"),
                   rows=rows, job=job, before=before)[0]


@kind
def ok_below_detectable(rng, hard):
    """Something grows, by less than anyone can tell from this log: no leak larger than so much is all there is to say."""
    rows = rows_of(rng, hard)
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.8))
    job.jitter = max(job.jitter, 8 * MIB)
    # A third of what a least-squares line through this noise could tell from nothing.
    each = 0.6 * job.jitter * math.sqrt(12 / rows) * rng.uniform(0.2, 0.7) / rows
    return healthy(rng, hard, shapes, ("allocated_bytes",), rows=rows, job=job, grow=lambda step, shape: each)[0]


@kind
def ok_resumed(rng, hard):
    """A restart in the middle: the floor begins again lower or higher, and stays."""
    rows = rows_of(rng, hard)
    at = int(rows * rng.uniform(0.3, 0.7))
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.75))
    size = job.room * rng.uniform(0.01, 0.05)
    up = rng.random() < 0.5
    state = {"second": False, "last": -1}

    def kept_at(step):
        if step <= state["last"] or step >= at:
            state["second"] = True
        state["last"] = step
        return size if state["second"] == up else 0
    return healthy(rng, hard, shapes, ("allocated_bytes",), rows=rows, job=job, resume=at, rewind=rng.randrange(0, at // 3),
                   kept_at=kept_at)[0]


@kind
def ok_spiky_lengths(rng, hard):
    """Rare long batches, the corpus's longest among them, all of which fit."""
    rows = rows_of(rng, hard)
    shapes = sh.Corpus(rng, rows * 8, 8, longest=700, giant=1800, spread=0.35)
    job = Job(rng, hard, shapes, top=rng.uniform(0.7, 0.9))
    return healthy(rng, hard, shapes, TEXT, rows=rows, job=job, head=("corpus_max_len",),
                   fields={"corpus_max_len": 1800})[0]


@kind
def ok_only_reserved(rng, hard):
    """Reserved alone: it climbs in the first part, as records of length come, and then hardly."""
    never = ("allocated_bytes", "peak_bytes", "device_used_bytes", "batch_size", "max_len", "tokens")
    return healthy(rng, hard, sh.moderate(rng, spread=0.25), ("reserved_bytes",), never=never, top=rng.uniform(0.45, 0.65))[0]


@kind
def ok_host_plateau(rng, hard):
    """Workers fill their caches on the host, then hold."""
    rows = rows_of(rng, hard)
    total = rng.choice((64, 128, 256)) * GIB
    rise, n = total * rng.uniform(0.05, 0.2), int(rows * rng.uniform(0.1, 0.3))
    start = total * rng.uniform(0.1, 0.3)
    return healthy(rng, hard, sh.moderate(rng), ("allocated_bytes", "host_rss_bytes"), rows=rows, head=("host_capacity_bytes",),
                   fields={"host_capacity_bytes": total},
                   host=lambda step: start + rise * (1 - math.exp(-3.0 * step / n)) + rng.gauss(0, 40 * MIB))[0]


@kind
def ok_uneven_ranks(rng, hard):
    """Ranks hold different parts of a model, so their levels differ; none grows."""
    ranks, rows = rng.randrange(2, 6), rows_of(rng, hard)
    case = Case("none", None, status="ok")
    base = Job(rng, hard, sh.moderate(rng), top=rng.uniform(0.45, 0.6))
    for rank in range(ranks):
        shapes = sh.moderate(rng)
        job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.85))
        job.capacity, job.context, job.room = base.capacity, base.context, base.room
        job.per_unit = (rng.uniform(0.5, 0.85) * job.room - job.state(True) - job.transient()) / job.units(shapes.largest())
        need(job.per_unit > 0)
        log = make_log(rng, hard, job, ("allocated_bytes", "peak_bytes"), head=("capacity_bytes",), rank=rank, world_size=ranks)
        out = simulate(job, log, Plan(rows))
        need(out.failed_at is None and out.largest < 0.95 * job.ceiling())
        case.add("run-rank%d.jsonl" % rank, log)
    return case
