"""Runs that grow: what retains, how often, how it is logged, what hides it."""
import random

import shapes as sh
from case import Case, detectable, kind, make_log, need, rows_of
from physics import GIB, MIB, Evaluation, Job, Plan, simulate


def leaking(rng, hard, shapes, increment, subtype, cols=("allocated_bytes",), never=(), every=1, reset="step",
            rows=None, fails=None, top=None, onset=0, evaluation=None, head=(), ending=None,
            resume=None, rewind=0, per_epoch=None, noise=None, jitter=None, rise_min=None, fields=None,
            figures=False, accept=None, declare=None, jump=None):
    """A run that retains `increment(step, shape)` (of mean 1 per step) times a slope chosen so that it fails, or rises
    visibly without failing. jump: instead of grow, a function (slope) -> dict of plan hooks."""
    rows = rows or rows_of(rng, hard)
    steps = rows * every
    fails = (rng.random() < 0.65) if fails is None else fails
    top = top or ((rng.uniform(0.86, 0.94) if hard else rng.uniform(0.55, 0.8)) if fails else rng.uniform(0.5, 0.75))
    job = Job(rng, hard, shapes, top=top, noise=noise)
    if jitter:
        job.jitter = jitter
    headroom = job.ceiling() - job.need(shapes.largest())
    growing = steps - onset
    if fails:
        slope = headroom / (growing * rng.uniform(0.75, 0.95))
    else:
        rise = max(detectable(job) * (rng.uniform(1.6, 3.0) if hard else rng.uniform(5, 14)), rise_min(job) if rise_min else 0)
        need(rise < 0.8 * headroom)
        slope = rise / growing
    log = make_log(rng, hard, job, cols, never, ("capacity_bytes",) + tuple(head), figures, every, reset, declare,
                   steps_per_epoch=per_epoch, eval_every=evaluation.every if evaluation else None, **(fields or {}))
    hooks = jump(slope) if jump else {
        "grow": lambda step, shape: slope * increment(step, shape) if step >= onset else 0}
    plan = Plan(steps * 3 if fails else steps, per_epoch, evaluation=evaluation, resume=resume, rewind=rewind,
                quiet=0 if fails else steps * 10, ending=ending or rng.choice(("end", None)), **hooks)
    if resume is not None:
        # Where the memory is given back at the restart, growth has to start over: it may take longer.
        plan.steps = steps * 4 if fails else steps
    out = simulate(job, log, plan)
    need((out.failed_at is not None) == fails)
    need(log.rows >= (40 if hard else 120))
    if fails:
        need(log.rows <= (420 if hard else 2600))
        need(out.kept >= 0.025 * job.capacity)
        # Without the peaks and without the error's figures only a large rise says what was missing.
        need("peak_bytes" in log.columns or log.figures or out.kept >= 0.1 * job.capacity)
        # A batch like the fatal one has passed before, or the rise is large: else the batch is to blame as well.
        need(out.kept >= 0.1 * job.capacity or job.units(out.shape) <= 1.03 * out.heaviest)
    case = Case("leak", subtype, accept=accept, status="failed" if fails else "at-risk", slope=slope, onset=onset or None,
                rise=out.kept, forecast_step=out.failed_at if fails else out.would_fail)
    return case, job, log, out


def one(step, shape):
    return 1.0


@kind
def leak_step(rng, hard):
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), one, "step")
    return case.add("run.jsonl", log)


@kind
def leak_step_fixed_shape(rng, hard):
    case, _, log, _ = leaking(rng, hard, sh.Fixed(), one, "step")
    return case.add("run.jsonl", log)


@kind
def leak_whole_graph(rng, hard):
    """An undetached loss: each step keeps its activations, so the run dies young."""
    shapes = sh.moderate(rng, spread=0.12)
    job = Job(rng, hard, shapes, top=rng.uniform(0.15, 0.3), floor=rng.uniform(0.08, 0.12), noise=0.004)
    log = make_log(rng, hard, job, ("allocated_bytes",), head=("capacity_bytes",))
    share = rng.uniform(0.12, 0.6)
    size = job.activations(shapes.typical()) * share
    plan = Plan(600, grow=lambda step, shape: job.activations(shape) * share)
    out = simulate(job, log, plan)
    need(out.failed_at is not None and out.failed_at >= 12)
    return Case("leak", ["step", "batch"], status="failed", slope=size, rise=out.kept,
                forecast_step=out.failed_at).add("run.jsonl", log)


@kind
def leak_batch(rng, hard):
    """Outputs are kept: the increment follows the size of the batch, which differs widely."""
    shapes = sh.moderate(rng, spread=0.6)
    probe = sh.moderate(random.Random(1), spread=0.6)
    mean = sum(probe.next()["tokens"] for _ in range(2000)) / 2000
    case, _, log, out = leaking(rng, hard, shapes, lambda step, shape: shape["tokens"] / mean, "batch",
                                cols=("allocated_bytes", "batch_size", "max_len", "tokens"), jitter=2 * MIB,
                                rise_min=lambda job: 0.02 * job.capacity)
    return case.add("run.jsonl", log)


@kind
def leak_periodic(rng, hard):
    period = rng.choice((5, 10, 20, 25))
    rows = max(rows_of(rng, hard), 9 * period)
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), lambda step, shape: period if step % period == period - 1 else 0,
                              "periodic", rows=rows, jitter=2 * MIB,
                              rise_min=lambda job: 24 * MIB * rows / period)
    return case.add("run.jsonl", log)


@kind
def leak_epoch(rng, hard):
    epochs = rng.randrange(5, 9)
    per = max(14, rows_of(rng, hard) // epochs)
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), lambda step, shape: per if step % per == per - 1 else 0, "epoch",
                              cols=("allocated_bytes", "epoch"), rows=per * epochs, per_epoch=per, head=("steps_per_epoch",),
                              rise_min=lambda job: 40 * MIB * epochs)
    return case.add("run.jsonl", log)


@kind
def leak_eval(rng, hard):
    """Each evaluation pass leaves something; training itself does not."""
    passes = rng.randrange(6, 14)
    every = max(12, rows_of(rng, hard) // passes)
    logged = rng.random() < 0.7
    evaluation = Evaluation(every, rng.randrange(2, 6), logged=logged)

    per = every * rng.choice((3, 7))
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), one, "eval", rows=every * passes, evaluation=evaluation,
                              per_epoch=per, head=("eval_every", "steps_per_epoch"),
                              jump=lambda slope: {"grow_eval": int(slope * every)},
                              rise_min=lambda job: 40 * MIB * passes)
    return case.add("run.jsonl", log)


@kind
def leak_host(rng, hard):
    shapes, rows = sh.moderate(rng), rows_of(rng, hard)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.85))
    total = rng.choice((64, 128, 256)) * GIB
    start, dies = total * rng.uniform(0.1, 0.3), rng.random() < 0.7
    slope = (total * 0.93 - start) / rows if dies else (total * rng.uniform(0.1, 0.4)) / rows
    log = make_log(rng, hard, job, ("allocated_bytes", "host_rss_bytes"), head=("host_capacity_bytes",),
                   host_capacity_bytes=total)
    plan = Plan(rows, host=lambda step: start + slope * step + rng.gauss(0, 30 * MIB), ending=None)
    need(simulate(job, log, plan).failed_at is None)
    if dies:
        log.event("kill", signal=9, step=rows)
    return Case("leak", "host", status="failed" if dies else "at-risk", host_slope=slope).add("run.jsonl", log)


@kind
def leak_under_noise(rng, hard):
    """Batches swing by ten times what the leak adds over the whole log."""
    shapes = sh.moderate(rng, spread=0.6)
    case, job, log, out = leaking(rng, hard, shapes, one, "step",
                                  cols=rng.choice((("allocated_bytes",), ("peak_bytes", "batch_size", "max_len", "tokens"))),
                                  fails=False, noise=0.002)
    spread = job.activations(shapes.largest()) - job.activations(shapes.typical())
    need(out.kept < spread / 4)
    return case.add("run.jsonl", log)


@kind
def leak_late_onset(rng, hard):
    rows = rows_of(rng, hard)
    onset = int(rows * rng.uniform(0.3, 0.6))
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), one, "step", rows=rows, onset=onset)
    return case.add("run.jsonl", log)


@kind
def leak_one_rank(rng, hard):
    """One rank grows; the others are healthy and stop with it."""
    ranks = rng.randrange(2, 9)
    bad = rng.randrange(ranks)
    seed = rng.randrange(1 << 30)
    must = ("allocated_bytes", "peak_bytes")
    case, job, log, out = leaking(rng, hard, sh.moderate(rng), one, "step", cols=must, fails=True,
                                  fields={"rank": bad, "world_size": ranks}, figures=True)
    case.add("run-rank%d.jsonl" % bad, log)
    for rank in range(ranks):
        if rank == bad:
            continue
        r = random.Random(seed + rank)
        other = Job(r, hard, sh.moderate(r), top=rng.uniform(0.5, 0.75))
        other.capacity, other.room, other.context = job.capacity, job.room, job.context
        other.weights, other.optimiser, other.grads, other.keeps_grads = job.weights, job.optimiser, job.grads, job.keeps_grads
        other.per_unit = job.per_unit
        log = make_log(r, hard, other, must, head=("capacity_bytes",), rank=rank, world_size=ranks)
        need(simulate(other, log, Plan(out.failed_at, ending=None)).failed_at is None)
        case.add("run-rank%d.jsonl" % rank, log)
    case.truth["rank"] = bad
    return case


@kind
def leak_cut_by_resume(rng, hard):
    rows = rows_of(rng, hard)
    at = int(rows * rng.uniform(0.3, 0.55))
    case, _, log, out = leaking(rng, hard, sh.moderate(rng), one, "step", rows=rows, fails=True, resume=at,
                                rewind=rng.randrange(0, at // 4 + 1))
    need(out.failed_at > at + 40)
    case.truth["no_forecast"] = True  # the restart moves the step of the failure
    return case.add("run.jsonl", log)


@kind
def leak_sawtooth_in_epoch(rng, hard):
    """A list that is cleared at each epoch's start; the run dies near the top of a tooth."""
    shapes = sh.moderate(rng)
    per = rng.randrange(40, 80) if hard else rng.randrange(120, 300)
    job = Job(rng, hard, shapes, top=rng.uniform(0.7, 0.82))
    headroom = job.ceiling() - job.need(shapes.largest())
    slope = headroom / (per * rng.uniform(0.75, 0.97))  # the largest batch fits only before the tooth's top
    log = make_log(rng, hard, job, ("allocated_bytes", "epoch"), head=("capacity_bytes", "steps_per_epoch"),
                   steps_per_epoch=per)
    plan = Plan(per * 9, per, kept_at=lambda step: slope * ((step + 1) % per))
    out = simulate(job, log, plan)
    need(out.failed_at is not None and out.failed_at > 2.3 * per and out.failed_at % per > 0.7 * per)
    return Case("leak", "step", status="failed", slope=slope, rise=out.kept).add("run.jsonl", log)


@kind
def leak_gc_sawtooth_rising(rng, hard):
    """The collector takes most of it back at odd steps; the floor under the teeth rises all the same."""
    state = {"cyclic": 0.0, "next": rng.randrange(20, 60)}
    share = rng.uniform(0.4, 0.6)

    def increment(step, shape):
        if step == state["next"]:
            state["next"] += rng.randrange(20, 60)
            freed, state["cyclic"] = state["cyclic"], 0.0
            return 1.0 - freed
        state["cyclic"] += share
        return 1.0
    case, job, log, out = leaking(rng, hard, sh.moderate(rng), increment, "step", rows=rng.randrange(220, 301) if hard else None,
                                  rise_min=lambda job: 2 * detectable(job))
    case.truth["slope"] *= 1 - share
    return case.add("run.jsonl", log)


@kind
def leak_only_peak(rng, hard):
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), one, "step", cols=("peak_bytes", "batch_size", "max_len", "tokens"),
                              never=("allocated_bytes", "reserved_bytes", "device_used_bytes"), noise=0.002,
                              rise_min=lambda job: 0.03 * job.capacity)
    return case.add("run.jsonl", log)


@kind
def leak_only_reserved(rng, hard):
    case, _, log, _ = leaking(rng, hard, sh.Fixed(), one, "step", cols=("reserved_bytes",),
                              never=("allocated_bytes", "peak_bytes", "device_used_bytes"), fails=True, noise=0.001,
                              top=rng.uniform(0.5, 0.7))
    return case.add("run.jsonl", log)


@kind
def leak_only_device_used(rng, hard):
    case, _, log, _ = leaking(rng, hard, sh.Fixed(), one, "step", cols=("device_used_bytes",),
                              never=("allocated_bytes", "peak_bytes", "reserved_bytes"), fails=True, noise=0.001,
                              top=rng.uniform(0.5, 0.7))
    return case.add("run.jsonl", log)


@kind
def leak_by_time_only(rng, hard):
    """A monitor's log: the device's use by the clock, no steps."""
    case, _, log, _ = leaking(rng, hard, sh.Fixed(), one, "step", cols=("device_used_bytes", "time"),
                              never=("allocated_bytes", "peak_bytes", "reserved_bytes", "epoch"), fails=True, noise=0.001,
                              top=rng.uniform(0.5, 0.7))
    for entry in log.lines:
        entry.pop("step", None)
    case.truth.update({"slope": None, "forecast_step": None, "onset": None})
    return case.add("run.jsonl", log)


@kind
def leak_counter_never_reset(rng, hard):
    """Only the maximum since the start is logged; it rises at nearly every record."""
    case, _, log, _ = leaking(rng, hard, sh.Fixed() if rng.random() < 0.5 else sh.moderate(rng, spread=0.03), one, "step",
                              cols=("peak_bytes",), never=("allocated_bytes", "reserved_bytes", "device_used_bytes"),
                              reset="never", fails=True, noise=0.001, every=rng.choice((1, 10)), top=rng.uniform(0.5, 0.75))
    return case.add("run.jsonl", log)


@kind
def leak_sparse_rows(rng, hard):
    every = rng.choice((10, 20, 50))
    rows = rng.randrange(60, 140) if hard else rng.randrange(120, 300)
    case, _, log, _ = leaking(rng, hard, sh.moderate(rng), one, "step", rows=rows, every=every,
                              reset=rng.choice(("step", "interval", "never")),
                              cols=rng.choice((("allocated_bytes",), ("allocated_bytes", "peak_bytes"))))
    return case.add("run.jsonl", log)


@kind
def leak_tips_over_in_eval(rng, hard):
    """Training leaks; the evaluation, dearer than a training step, is only where it meets the ceiling."""
    passes = rng.randrange(4, 9)
    every = max(15, rows_of(rng, hard) // passes)
    shapes = sh.moderate(rng)
    evaluation = Evaluation(every, 4, factor=rng.uniform(1.25, 1.4))
    case, job, log, out = leaking(rng, hard, shapes, one, "step", rows=every * passes, evaluation=evaluation, fails=True,
                                  top=rng.uniform(0.5, 0.62), per_epoch=every, head=("eval_every", "steps_per_epoch"))
    need(out.phase == "eval" and out.kept > 0.1 * job.capacity)
    case.truth["no_forecast"] = True  # what evaluation needs is not in the training rows
    return case.add("run.jsonl", log)


@kind
def leak_sorted_floor(rng, hard):
    """Sorted lengths push the peaks up; the floor rises too, and only a leak does that."""
    n = rows_of(rng, hard)
    shapes = sh.Corpus(rng, n * 8, 8, "sorted", spread=0.4)
    case, _, log, _ = leaking(rng, hard, shapes, one, "step", rows=int(n * 0.9), fails=False,
                              cols=("allocated_bytes", "peak_bytes", "batch_size", "max_len", "tokens"),
                              rise_min=lambda job: 0.04 * job.capacity)
    case.truth["no_forecast"] = True  # whether the next epoch is sorted as well, the log cannot tell
    return case.add("run.jsonl", log)


@kind
def leak_with_accumulation(rng, hard):
    """Gradients stand between micro-steps and hide what is retained under a tooth of its own."""
    accum = rng.choice((4, 8))
    rows = rows_of(rng, hard)
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(0.6, 0.8))
    job.keeps_grads = False
    headroom = job.ceiling() - job.need(shapes.largest())
    slope = headroom / (rows * 0.9)
    log = make_log(rng, hard, job, ("allocated_bytes",), head=("capacity_bytes", "grad_accum"), grad_accum=accum)
    out = simulate(job, log, Plan(rows * 3, grow=lambda step, shape: slope, accum=accum))
    need(out.failed_at is not None and out.failed_at > 40)
    return Case("leak", "step", status="failed", slope=slope, rise=out.kept,
                forecast_step=out.failed_at).add("run.jsonl", log)
