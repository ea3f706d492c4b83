"""Runs that the device was too small for, or was made so: nothing grows, no batch is out of line."""
import shapes as sh
from case import Case, kind, make_log, need, rows_of
from physics import GIB, MIB, Job, Plan, simulate, up

TEXT = ("peak_bytes", "batch_size", "max_len", "tokens")


@kind
def capacity_sizing(rng, hard):
    """The first step does not fit."""
    shapes = sh.moderate(rng)
    job = Job(rng, hard, shapes, top=rng.uniform(1.1, 1.9), at=shapes.typical())
    log = make_log(rng, hard, job, TEXT, figures=True)
    out = simulate(job, log, Plan(3))
    need(out.failed_at == 0)
    return Case("capacity", "sizing", status="failed").add("run.jsonl", log)


@kind
def capacity_sizing_weights(rng, hard):
    """Not even weights and gradients fit: hardly any of it is the batch."""
    shapes = sh.Fixed(batch=1, length=512)
    job = Job(rng, hard, shapes, top=rng.uniform(1.05, 1.3), floor=rng.uniform(0.85, 0.98))
    log = make_log(rng, hard, job, TEXT, figures=True)
    out = simulate(job, log, Plan(2))
    need(out.failed_at == 0)
    return Case("capacity", ["sizing", "optimizer"], status="failed").add("run.jsonl", log)


@kind
def capacity_optimizer(rng, hard):
    """Forward and backward fit, for all the micro-steps; the first update's state does not."""
    accum = rng.choice((4, 8, 16))
    shapes = sh.Fixed(batch=2, length=1024)
    job = Job(rng, hard, shapes, top=rng.uniform(0.55, 0.8), floor=0.4)
    job.optimiser = int(job.weights * 4)
    job.keeps_grads = True
    need(job.weights + job.grads + job.activations(shapes.largest()) < 0.9 * job.ceiling())
    if job.weights + job.grads + job.optimiser + job.activations(shapes.largest()) < 1.05 * job.ceiling():
        job.optimiser = int(1.1 * job.ceiling() - job.weights - job.grads)
    log = make_log(rng, hard, job, TEXT + ("allocated_bytes",), head=("grad_accum",), grad_accum=accum, figures=True)
    plan = Plan(accum * 2, accum=accum)
    out = simulate(job, log, plan)
    need(out.failed_at == accum - 1)
    if rng.random() < 0.6:
        log.lines[-1]["phase"] = "optimizer"
    return Case("capacity", "optimizer", status="failed").add("run.jsonl", log)


def at_ceiling(rng, hard, shapes, noise):
    """A job whose usual step is two to three deviations of chance below the ceiling."""
    job = Job(rng, hard, shapes, top=0.975, noise=noise)
    usual = job.state(True) + job.transient() + job.activations(shapes.largest())
    chance = job.noise * job.activations(shapes.largest())
    job.stuck = int(job.room - usual - (rng.uniform(2.1, 2.6) if hard else rng.uniform(2.5, 3.0)) * chance)
    need(job.stuck > 0.002 * job.room)
    return job


@kind
def capacity_typical_fixed(rng, hard):
    """Every step is at the ceiling; in one of them what varies by chance does not fit."""
    job = at_ceiling(rng, hard, sh.Fixed(), rng.uniform(0.003, 0.006))
    log = make_log(rng, hard, job, ("peak_bytes",), head=("capacity_bytes",), figures=True)
    out = simulate(job, log, Plan(2500))
    need(out.failed_at is not None and (60 if hard else 120) <= log.rows <= (300 if hard else 2000))
    return Case("capacity", "typical", status="failed").add("run.jsonl", log)


@kind
def capacity_typical_shapes(rng, hard):
    """Ordinary batches of nearly one length at the ceiling: half of all would be close."""
    def draw(n):
        return sh.text_shape(8, 1000 + rng.randrange(-8, 9))
    shapes = sh.Drawn(draw, sh.text_shape(8, 1008))
    job = at_ceiling(rng, hard, shapes, rng.uniform(0.005, 0.008))
    log = make_log(rng, hard, job, TEXT + ("allocated_bytes",), head=("capacity_bytes",), figures=True)
    out = simulate(job, log, Plan(2500))
    need(out.failed_at is not None and (60 if hard else 120) <= log.rows <= (300 if hard else 2000))
    need(out.shape["max_len"] <= 1006)  # not the longest: it was passed before
    return Case("capacity", "typical", status="failed").add("run.jsonl", log)


@kind
def capacity_fragmentation(rng, hard):
    """Holes that no request fits: reserved climbs to the ceiling, allocated is flat."""
    rows = rows_of(rng, hard)
    shapes = sh.moderate(rng, spread=0.12)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.68))
    peak = job.need(shapes.largest())
    room = job.room - peak
    start, share = rng.uniform(0.02, 0.2), rng.uniform(0.9, 0.99)

    def before(step, _):
        job.fragmentation = int(room * min(share, start + (share - start) * step / rows))

    def figures(needed, step):
        free = int(rng.uniform(40, 300)) * MIB
        allocated = int(peak * rng.uniform(0.86, 0.93))
        requested = up(min(0.9 * (peak - allocated), 0.7 * room))
        reserved = job.room - free
        need(requested > free and reserved - allocated > 1.2 * requested and reserved - allocated > 0.1 * job.capacity)
        return {"requested_bytes": requested, "total_bytes": job.capacity, "free_bytes": free, "allocated_bytes": allocated,
                "reserved_bytes": reserved, "this_process_bytes": reserved + job.context}
    at = int(rows * rng.uniform(1.0, 1.2))
    job.shapes = shapes
    cols = ("allocated_bytes", "peak_bytes", "reserved_bytes") if not hard or rng.random() < 0.6 else ("allocated_bytes", "peak_bytes")
    log = make_log(rng, hard, job, cols, head=("capacity_bytes",), figures=True)
    plan = Plan(at + 2, before=before, oom=figures, spike=lambda step, shape: 2 * job.capacity if step == at else 0)
    out = simulate(job, log, plan)
    need(out.failed_at == at)
    return Case("capacity", "fragmentation", status="failed").add("run.jsonl", log)


@kind
def capacity_external(rng, hard):
    """Another process takes the room in the middle of the run."""
    rows = rows_of(rng, hard)
    shapes = sh.moderate(rng, spread=0.15)
    job = Job(rng, hard, shapes, top=rng.uniform(0.45, 0.7))
    taken = max(2.2 * GIB, 1.08 * job.room - job.need(shapes.typical()))
    need(taken < 0.85 * job.room and taken > 0.18 * job.capacity)

    def before(step, _):
        if step == rows:
            job.others = int(taken)
    log = make_log(rng, hard, job, ("peak_bytes",) + (("device_used_bytes",) if rng.random() < 0.5 else ()), figures=True)
    if log.figures == "fields":
        log.figures = "new"
    out = simulate(job, log, Plan(rows * 2, before=before))
    need(out.failed_at is not None and out.need < 1.05 * out.largest)
    return Case("capacity", "external", status="failed").add("run.jsonl", log)


@kind
def capacity_external_from_start(rng, hard):
    """A forgotten notebook holds the card before the first step."""
    shapes = sh.moderate(rng, spread=0.15)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.7))
    job.others = int(max(2.5 * GIB, 1.1 * job.room - job.need(shapes.typical())))
    need(job.others < 0.85 * job.room and job.others > 0.2 * job.capacity)
    log = make_log(rng, hard, job, ("peak_bytes", "device_used_bytes"), figures=True)
    log.figures = rng.choice(("new", "old"))
    out = simulate(job, log, Plan(12))
    need(out.failed_at is not None and out.failed_at < 6)
    return Case("capacity", "external", status="failed").add("run.jsonl", log)


@kind
def capacity_resume(rng, hard):
    """Fits from the start; after the restart the loaded checkpoint stands beside the model."""
    rows = rows_of(rng, hard)
    shapes = sh.moderate(rng, spread=0.15)
    job = Job(rng, hard, shapes, top=rng.uniform(0.65, 0.85))
    seen = rng.random() < 0.6
    extra = rng.uniform(1.1, 1.3) * job.ceiling() - job.need(shapes.typical())
    every = rng.choice((50, 100))
    at = rows // every * every or every
    if seen:
        log = make_log(rng, hard, job, TEXT, figures=True, save_every=every)
        plan = Plan(at + 3, resume=at, spike=lambda step, shape: extra if step >= at else 0)
    else:
        log = make_log(rng, hard, job, TEXT, figures=True, head=("resumed_from",), resumed_from=at, save_every=every)
        plan = Plan(3, spike=lambda step, shape: extra)
    out = simulate(job, log, plan)
    need(out.failed_at is not None and out.failed_at >= (at if seen else 0))
    if not seen:
        log.lines[-1]["step"] = at
    return Case("capacity", "resume", status="failed").add("run.jsonl", log)


@kind
def capacity_save(rng, hard):
    """Writing a checkpoint gathers the state once more."""
    every = rng.randrange(60, 140) if hard else rng.randrange(100, 500)
    shapes = sh.moderate(rng, spread=0.15)
    job = Job(rng, hard, shapes, top=rng.uniform(0.7, 0.88))
    log = make_log(rng, hard, job, TEXT + ("allocated_bytes",), head=("save_every",), save_every=every, figures=True)
    passes = rng.randrange(1, 4)
    at = every * passes
    out = simulate(job, log, Plan(at, ending=None))
    need(out.failed_at is None)
    for k in range(1, passes):  # earlier saves went well
        where = next(i for i, e in enumerate(log.lines) if e.get("step") == every * k and "event" not in e)
        log.lines.insert(where, {"event": "save", "step": every * k})
    figures = job.figures(1.1 * job.ceiling())
    named = rng.random() < 0.6
    if not named or rng.random() < 0.5:
        log.event("save", step=at)
    log.event("oom", None, figures, step=at, phase="save" if named else None)
    return Case("capacity", "save", status="failed").add("run.jsonl", log)
