"""What the log cannot decide: the answer is "unknown", or one of the candidates at no more than "possible"."""
import shapes as sh
from case import Case, kind, make_log, need
from physics import MIB, Job, Plan, simulate, up

ALL = ("allocated_bytes", "peak_bytes", "reserved_bytes", "device_used_bytes")
TEXT = ("peak_bytes", "batch_size", "max_len", "tokens")


def undecided(cause, candidates, status=None):
    return Case(cause, None, accept=candidates, status=status, decidable=False)


@kind
def undecidable_sorted_or_leak(rng, hard):
    """Lengths that rise in a straight line, and peaks alone: a leak and a longer batch look the same in every step."""
    rows = rng.randrange(80, 300) if hard else rng.randrange(300, 900)
    leak = rng.random() < 0.5
    rise = rng.uniform(0.4, 0.9)

    def draw(n):
        return sh.text_shape(8, int(400 * (1 + rise * n / rows)))
    shapes = sh.Drawn(draw, sh.text_shape(8, int(400 * (1 + rise))))
    job = Job(rng, hard, shapes, top=rng.uniform(0.8, 0.9) if leak else rng.uniform(1.03, 1.15), noise=0.004)
    job.quad = 0.0
    each = (1.1 * job.ceiling() - job.need(shapes.largest())) / rows if leak else 0
    log = make_log(rng, hard, job, TEXT, [c for c in ALL if c != "peak_bytes"], head=("capacity_bytes",))
    out = simulate(job, log, Plan(rows + 40, grow=lambda step, shape: each))
    need(out.failed_at is not None and 60 <= log.rows <= rows and out.need < 1.03 * out.largest)
    return undecided("leak" if leak else "peak", ["leak", "peak"], "failed").add("run.jsonl", log)


@kind
def undecidable_record_or_fragmentation(rng, hard):
    """The step needed a little more than any before, and the allocator held as much that it could not use."""
    rows = rng.randrange(80, 300) if hard else rng.randrange(300, 900)
    shapes = sh.Drawn(lambda n: sh.text_shape(8, int(500 * rng.uniform(0.8, 1.2))), sh.text_shape(8, 600))
    job = Job(rng, hard, shapes, top=rng.uniform(0.72, 0.8))

    def figures(needed, step):
        wanted = int(highest(log) * rng.uniform(1.055, 1.095))
        requested = up(rng.uniform(0.05, 0.08) * job.room)
        allocated, free = wanted - requested, int(rng.uniform(20, 120)) * MIB
        reserved = job.room - free
        need(reserved - allocated > max(1.02 * requested, 0.08 * job.capacity) and free < requested)
        return {"requested_bytes": requested, "total_bytes": job.capacity, "free_bytes": free, "allocated_bytes": allocated,
                "reserved_bytes": reserved, "this_process_bytes": reserved + job.context}
    log = make_log(rng, hard, job, ("peak_bytes", "allocated_bytes"), ("batch_size", "max_len", "tokens", "reserved_bytes",
                                                                    "device_used_bytes"), figures=True)
    plan = Plan(rows + 2, oom=figures, no_shape=True, spike=lambda step, shape: 2 * job.capacity if step == rows else 0)
    out = simulate(job, log, plan)
    need(out.failed_at == rows)
    return undecided(rng.choice(("peak", "capacity")), ["peak", "capacity"], "failed").add("run.jsonl", log)


def highest(log):
    return max(e["peak_bytes"] for e in log.lines if "peak_bytes" in e)


@kind
def undecidable_eval_or_save(rng, hard):
    """Evaluation and checkpoint on one cadence, neither logged, and the error names no phase."""
    every = rng.randrange(60, 140) if hard else rng.randrange(100, 500)
    job = Job(rng, hard, sh.moderate(rng, spread=0.12), top=rng.uniform(0.55, 0.75))
    log = make_log(rng, hard, job, ("peak_bytes", "allocated_bytes"), head=("eval_every", "save_every"), eval_every=every,
                   save_every=every, figures=True)
    at = every * rng.randrange(1, 3)
    need(simulate(job, log, Plan(at, ending=None)).failed_at is None)
    log.event("oom", None, job.figures(1.2 * job.ceiling()), step=at)
    return undecided(rng.choice(("eval", "capacity")), ["eval", "capacity"], "failed").add("run.jsonl", log)


@kind
def undecidable_resume_or_sizing(rng, hard):
    """Nothing but the step's number hints at a restart: sized wrong, or a checkpoint too much."""
    shapes = sh.moderate(rng, spread=0.15)
    job = Job(rng, hard, shapes, top=rng.uniform(0.65, 0.85))
    extra = rng.uniform(1.1, 1.3) * job.ceiling() - job.need(shapes.typical())
    log = make_log(rng, hard, job, TEXT, figures=True)
    out = simulate(job, log, Plan(3, spike=lambda step, shape: extra))
    need(out.failed_at == 0)
    log.lines[-1]["step"] = rng.choice((1000, 2000, 4500))
    return undecided("capacity", ["capacity"], "failed").add("run.jsonl", log)


@kind
def undecidable_dies_in_warmup(rng, hard):
    """Three or four steps, each higher than the last: caches being built, or a leak of whole graphs."""
    leak = rng.random() < 0.5
    steps = rng.randrange(2, 5)
    job = Job(rng, hard, sh.Fixed(), top=rng.uniform(0.6, 0.75), noise=0.001)
    job.keeps_grads = True
    job.stepped = True
    each = 1.05 * (job.ceiling() - job.need(job.shapes.largest())) / steps
    log = make_log(rng, hard, job, ("peak_bytes", "allocated_bytes"), head=("capacity_bytes",))
    out = simulate(job, log, Plan(steps + 3, grow=lambda step, shape: each))
    need(out.failed_at is not None and 2 <= log.rows <= 4)
    return undecided("leak" if leak else "capacity", ["leak", "capacity"], "failed").add("run.jsonl", log)


@kind
def undecidable_short_log(rng, hard):
    """A handful of steps, and then nothing: neither completed nor failed."""
    job = Job(rng, hard, sh.moderate(rng), top=rng.uniform(0.5, 0.8))
    log = make_log(rng, hard, job, TEXT)
    need(simulate(job, log, Plan(rng.randrange(2, 5), ending=None)).failed_at is None)
    return undecided("none", ["none"]).add("run.jsonl", log)


@kind
def undecidable_bare_error(rng, hard):
    """A few steps far from the ceiling, then an error without a figure, a batch or a phase, in a log of no shapes."""
    job = Job(rng, hard, sh.moderate(rng), top=rng.uniform(0.45, 0.6))
    log = make_log(rng, hard, job, ("peak_bytes",), ("batch_size", "max_len", "tokens"))
    log.figures = None
    need(simulate(job, log, Plan(rng.randrange(4, 12), ending=None)).failed_at is None)
    log.event("oom", None, None, step=log.last_step + rng.randrange(1, 4))
    return undecided(rng.choice(("peak", "capacity", "eval")), ["peak", "capacity", "eval", "unknown"], "failed").add(
        "run.jsonl", log)


@kind
def two_sufficient_causes(rng, hard):
    """A leak and a giant batch: without either the step would have passed. Naming either is right."""
    rows = rng.randrange(100, 300) if hard else rng.randrange(300, 900)
    usual = sh.moderate(rng, spread=0.2)
    draw = usual.draw
    usual.draw = lambda n: sh.text_shape(8, int(usual.most["max_len"] * 1.45)) if n == rows else draw(n)
    job = Job(rng, hard, usual, top=rng.uniform(0.55, 0.65))
    big = job.need(sh.text_shape(8, int(usual.most["max_len"] * 1.45)))
    need(big < 0.97 * job.ceiling())
    each = (1.04 * job.ceiling() - big) / rows
    log = make_log(rng, hard, job, TEXT + ("allocated_bytes",), head=("capacity_bytes",), figures=True)
    out = simulate(job, log, Plan(rows + 3, grow=lambda step, shape: each))
    need(out.failed_at == rows and out.kept > 0.05 * job.room)
    return Case("leak", None, accept=["leak", "peak"], status="failed").add("run.jsonl", log)
