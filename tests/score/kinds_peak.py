"""Runs that one heavy batch ends: what it is heavy in, and what of it is logged."""
import math

import shapes as sh
from case import Case, kind, make_log, need, rows_of
from physics import Job, Plan, simulate

TEXT = ("peak_bytes", "batch_size", "max_len", "tokens")


def top_of(rng, hard):
    """Where the heaviest batch before the fatal one peaks."""
    return rng.uniform(0.82, 0.9) if hard else rng.uniform(0.6, 0.82)


def margin(hard):
    """By how much the fatal batch is above all before it, at least."""
    return 1.1 if hard else 1.2


def fatal(rng, hard, job, log, plan, subtype, rows=40, status="failed", **truth):
    out = simulate(job, log, plan)
    need(out.failed_at is not None and out.phase == "train" and log.rows >= rows)
    need(log.rows <= (300 if hard else 2600))
    need(out.need > margin(hard) * out.largest)
    return Case("peak", subtype, status=status, **truth), out


def giant_corpus(rng, hard, order="shuffle", batch=8, ids=False, padded=True, spread=0.4):
    rows = rows_of(rng, hard)
    longest = 900
    giant = int(longest * (rng.uniform(1.3, 1.8) if hard else rng.uniform(1.6, 3.0)))
    return sh.Corpus(rng, rows * batch, batch, order, median=350, spread=spread, longest=longest, giant=giant, ids=ids,
                     padded=padded)


def with_giant(rng, hard, cols=TEXT, never=(), every=1, order="shuffle", no_shape=False, figures=False, reset=None,
               padded=True, spread=0.4, subtype=("length", "tokens"), ids=False):
    shapes = giant_corpus(rng, hard, order, ids=ids, padded=padded, spread=spread)
    job = Job(rng, hard, shapes, top=top_of(rng, hard), at=shapes.body(), noise=rng.uniform(0.001, 0.005))
    reset = reset or ("step" if every == 1 else rng.choice(("step", "interval")))
    log = make_log(rng, hard, job, cols, never, figures=figures, every=every, reset=reset, steps_per_epoch=shapes.per_epoch(),
                   corpus_max_len=max(shapes.lengths))
    plan = Plan(shapes.per_epoch() * 2, shapes.per_epoch(), no_shape=no_shape)
    return fatal(rng, hard, job, log, plan, list(subtype)), job, log, shapes


@kind
def peak_length(rng, hard):
    (case, _), _, log, _ = with_giant(rng, hard)
    return case.add("run.jsonl", log)


@kind
def peak_length_unpadded_tokens(rng, hard):
    """`tokens` counts the samples' own tokens; memory follows batch x longest."""
    (case, _), _, log, _ = with_giant(rng, hard, padded=False)
    return case.add("run.jsonl", log)


@kind
def peak_length_floor_logged(rng, hard):
    (case, _), _, log, _ = with_giant(rng, hard, cols=TEXT + ("allocated_bytes", "reserved_bytes"))
    return case.add("run.jsonl", log)


@kind
def peak_step_absent(rng, hard):
    """The fatal batch is nowhere in the log: what it needed is in the error's figures."""
    (case, out), _, log, _ = with_giant(rng, hard, cols=TEXT + ("allocated_bytes",), no_shape=True, figures=True,
                                        subtype=("length", "tokens", "unexplained"))
    return case.add("run.jsonl", log)


@kind
def peak_sparse_rows(rng, hard):
    every = rng.choice((5, 10))
    shapes = sh.Corpus(rng, 8 * every * (rng.randrange(90, 200) if hard else rng.randrange(200, 400)), 8, longest=900,
                       spread=0.4, giant=int(900 * rng.uniform(1.5, 2.6)))
    job = Job(rng, hard, shapes, top=top_of(rng, hard), at=shapes.body(), noise=0.003)
    log = make_log(rng, hard, job, TEXT, every=every, steps_per_epoch=shapes.per_epoch())
    case, _ = fatal(rng, hard, job, log, Plan(shapes.per_epoch() * 2, shapes.per_epoch()), ["length", "tokens"])
    return case.add("run.jsonl", log)


@kind
def peak_bucketed(rng, hard):
    """Buckets by length sharpen the peaks: the bucket with the giant is one batch in an epoch."""
    (case, _), _, log, _ = with_giant(rng, hard, order="bucketed")
    return case.add("run.jsonl", log)


@kind
def peak_resolution(rng, hard):
    sizes = [(480, 640), (512, 768), (640, 640), (640, 960)]
    shapes = sh.images(rng, rng.choice((2, 4, 8)), sizes)
    usual, strange = shapes.draw, (rng.choice((1024, 1333)), rng.choice((1333, 1600)))
    at = rng.randrange(70, 300) if hard else rng.randrange(150, 1200)
    batch = shapes.most["batch_size"]
    shapes.draw = lambda n: sh.image_shape(batch, *strange) if n == at else usual(n)
    job = Job(rng, hard, shapes, top=top_of(rng, hard))
    log = make_log(rng, hard, job, ("peak_bytes", "batch_size", "height", "width"))
    case, _ = fatal(rng, hard, job, log, Plan(at + 5), "resolution")
    return case.add("run.jsonl", log)


@kind
def peak_batch_size(rng, hard):
    """A batch with more samples than usual, of usual length."""
    at = rng.randrange(70, 300) if hard else rng.randrange(150, 1200)
    usual = sh.moderate(rng, batch=8, spread=0.1)
    draw = usual.draw

    def shape(n):
        s = draw(n)
        batch = rng.choice((14, 16, 20)) if n == at else rng.choice((6, 7, 8))
        return sh.text_shape(batch, min(s["max_len"], 380) if n == at else s["max_len"])
    usual.draw = shape
    job = Job(rng, hard, usual, top=top_of(rng, hard))
    log = make_log(rng, hard, job, TEXT)
    case, _ = fatal(rng, hard, job, log, Plan(at + 5), ["batch-size", "tokens"])
    return case.add("run.jsonl", log)


@kind
def peak_size_times_length(rng, hard):
    """Neither the batch nor the length is beyond what was seen: their product is."""
    at = rng.randrange(70, 300) if hard else rng.randrange(150, 1200)

    def draw(n):
        if n == at:
            return sh.text_shape(16, 1000)
        length = rng.choice((250, 300, 400, 500, 700, 1000)) + rng.randrange(0, 60)
        return sh.text_shape(max(2, min(18, int(rng.uniform(0.6, 1.0) * 7600 / length))), length)
    shapes = sh.Drawn(draw, sh.text_shape(8, 950), sh.text_shape(12, 450))
    job = Job(rng, hard, shapes, top=top_of(rng, hard))
    job.quad = min(job.quad, 0.15)
    log = make_log(rng, hard, job, TEXT)
    case, _ = fatal(rng, hard, job, log, Plan(at + 5), ["tokens"])
    return case.add("run.jsonl", log)


@kind
def peak_packed(rng, hard):
    """Packs of one row: tokens near a cap, the longest sample with a long tail, attention with its square."""
    at = rng.randrange(90, 300) if hard else rng.randrange(200, 1200)

    def draw(n):
        tokens = int(4096 * rng.uniform(0.86, 1.0))
        longest = int(min(2100, 220 * rng.paretovariate(1.25)))
        if n == at:
            longest, tokens = rng.randrange(3700, 4050), 4080
        shape = sh.text_shape(1, longest, tokens)
        # What counts is tokens x (1 + a x longest): as if the pack were one batch of that effective length.
        shape["_batch"], shape["_len"] = tokens / max(longest, 1), longest
        return shape
    most = draw(-1)
    most.update({"tokens": 4096, "max_len": 2100, "_batch": 4096 / 2100, "_len": 2100})
    shapes = sh.Drawn(draw, most)
    job = Job(rng, hard, shapes, top=top_of(rng, hard))
    job.quad = 0.5
    job.per_unit *= (job.room * 0.8 - job.state(True) - job.transient()) / job.activations(most)
    need(job.need(most) < 0.9 * job.ceiling())
    log = make_log(rng, hard, job, TEXT)
    case, _ = fatal(rng, hard, job, log, Plan(at + 5), ["length", "tokens"])
    return case.add("run.jsonl", log)


@kind
def peak_schedule(rng, hard):
    """A curriculum: every so often the length is raised, until it no longer fits."""
    stage = rng.randrange(30, 60) if hard else rng.randrange(90, 260)
    base, factor = 256, rng.choice((1.25, 1.5))

    def draw(n):
        return sh.text_shape(8, int(base * factor ** (n // stage)))
    stages = rng.randrange(3, 6)
    shapes = sh.Drawn(draw, sh.text_shape(8, int(base * factor ** (stages - 1))))
    job = Job(rng, hard, shapes, top=rng.uniform(0.75, 0.9), floor=rng.uniform(0.15, 0.3))
    log = make_log(rng, hard, job, TEXT)
    out = simulate(job, log, Plan(stage * (stages + 4)))
    need(out.failed_at is not None and log.rows >= 60)
    need(out.failed_at % stage == 0 and out.need > 1.05 * out.largest)  # the first batch of a new stage
    return Case("peak", ["schedule", "length"], status="failed").add("run.jsonl", log)


@kind
def peak_sorted(rng, hard):
    """Ascending lengths: the peaks climb through the epoch and the last batches do not fit. The floor is flat."""
    rows = rows_of(rng, hard)
    shapes = sh.Corpus(rng, rows * 8, 8, "sorted", spread=0.45)
    job = Job(rng, hard, shapes, top=rng.uniform(1.04, 1.2))
    job.keeps_grads = False
    log = make_log(rng, hard, job, TEXT + ("allocated_bytes",), steps_per_epoch=shapes.per_epoch())
    out = simulate(job, log, Plan(rows, shapes.per_epoch()))
    need(out.failed_at is not None and log.rows >= 60)
    return Case("peak", ["schedule", "length", "tokens"], status="failed").add("run.jsonl", log)


@kind
def peak_unexplained(rng, hard):
    """The shape is the same in every step, yet some steps spike: what varies is not logged."""
    shapes = sh.Fixed() if rng.random() < 0.6 else sh.images(rng, 2, [(800, 1333)])
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.65))
    typical = job.need(shapes.largest())

    def spike(step, shape):
        return min(8.0, rng.paretovariate(1.5) - 1) * 0.03 * typical
    cols = ("allocated_bytes", "peak_bytes", "batch_size", "max_len", "height", "width")
    log = make_log(rng, hard, job, cols, figures=True)
    at = rng.randrange(60, 290) if hard else rng.randrange(120, 1500)
    plan = Plan(at + 2, spike=lambda step, shape: (1.25 * job.ceiling() - typical) if step == at else spike(step, shape))
    case, _ = fatal(rng, hard, job, log, plan, "unexplained")
    return case.add("run.jsonl", log)


@kind
def peak_never_reset_records(rng, hard):
    """The maximum since the start: a staircase whose treads grow like log(step). No leak makes that."""
    every = rng.choice((1, 10, 20))
    rows = rng.randrange(100, 290) if hard else rng.randrange(250, 900)
    state = {"n": 0}

    def draw(n):
        return sh.text_shape(4, int(250 * math.exp(rng.gauss(0, 0.42))))
    shapes = sh.Drawn(draw, sh.text_shape(4, int(250 * math.exp(0.42 * 2.7))))
    job = Job(rng, hard, shapes, top=rng.uniform(0.8, 0.9), floor=0.2)
    job.quad = 0.4
    log = make_log(rng, hard, job, ("peak_bytes",), ("reserved_bytes", "device_used_bytes", "allocated_bytes") + sh_fields(),
                   reset="never", every=every, figures=True)
    out = simulate(job, log, Plan(rows * every * 3))
    need(out.failed_at is not None and 60 <= log.rows <= (300 if hard else 1500))
    need(out.need > 1.06 * out.largest)
    return Case("peak", None, status="failed").add("run.jsonl", log)


def sh_fields():
    return ("batch_size", "max_len", "tokens", "height", "width")


@kind
def peak_other_size(rng, hard):
    """Boxes per image set the peak; they are logged under a name of their own."""
    at = rng.randrange(70, 300) if hard else rng.randrange(150, 1200)

    def draw(n):
        boxes = 620 if n == at else min(240, int(rng.lognormvariate(3.4, 0.7)) + 1)
        shape = sh.image_shape(2, 800, 1333)
        shape["size_boxes"] = boxes
        return shape
    shapes = sh.Drawn(draw, sh.image_shape(2, 800, 1333))
    job = Job(rng, hard, shapes, top=rng.uniform(0.4, 0.5))
    each = (0.85 * job.ceiling() - job.need(shapes.largest())) / 240
    log = make_log(rng, hard, job, ("peak_bytes", "batch_size", "height", "width"))
    case, _ = fatal(rng, hard, job, log, Plan(at + 5, spike=lambda step, shape: each * shape["size_boxes"]), None)
    return case.add("run.jsonl", log)


@kind
def peak_survived_then_fatal(rng, hard):
    """The trainer skips batches that do not fit, and says so, until one is not caught."""
    shapes = giant_corpus(rng, hard)
    job = Job(rng, hard, shapes, top=top_of(rng, hard), at=shapes.body(), noise=0.002)
    giants = set()
    log = make_log(rng, hard, job, TEXT, steps_per_epoch=shapes.per_epoch(), figures=True)
    usual = shapes.next
    skips = sorted(rng.sample(range(20, 60), rng.randrange(1, 4)))
    state = {"step": 0}

    def next_shape():
        shape = usual()
        step, state["step"] = state["step"], state["step"] + 1
        if step in skips:
            big = sh.text_shape(8, int(max(shapes.lengths) * rng.uniform(0.98, 1.02)))
            giants.add(step)
            log.event("oom", big, job.figures(job.need(big)), step=step, recovered=True)
        return shape
    shapes.next = next_shape
    case, _ = fatal(rng, hard, job, log, Plan(shapes.per_epoch() * 2, shapes.per_epoch()), ["length", "tokens"], rows=65)
    return case.add("run.jsonl", log)


@kind
def peak_skipped_all(rng, hard):
    """Each giant batch is caught and skipped; the run goes on to its end."""
    shapes = giant_corpus(rng, hard)
    job = Job(rng, hard, shapes, top=top_of(rng, hard), at=shapes.body(), noise=0.002)
    log = make_log(rng, hard, job, TEXT, steps_per_epoch=shapes.per_epoch(), figures=True)
    usual, rows = shapes.next, rows_of(rng, hard)
    big = sh.text_shape(8, max(shapes.lengths))
    need(job.need(big) > margin(hard) * job.need(shapes.body()) and job.need(big) > 1.05 * job.ceiling())
    skips, state = set(rng.sample(range(20, rows - 5), rng.randrange(2, 6))), {"step": -1}

    def next_shape():
        state["step"] += 1
        if state["step"] in skips:
            log.event("oom", big, job.figures(job.need(big)), step=state["step"], recovered=True)
        shape = usual()
        while shape["max_len"] > shapes.longest:
            shape = usual()
        return shape
    shapes.next = next_shape
    need(simulate(job, log, Plan(rows, shapes.per_epoch())).failed_at is None)
    return Case("peak", ["length", "tokens"], status=["failed", "at-risk"]).add("run.jsonl", log)


@kind
def peak_one_rank(rng, hard):
    """One rank draws the giant; the others stop with it, in order."""
    ranks = rng.randrange(2, 7)
    bad = rng.randrange(ranks)
    corpus = giant_corpus(rng, hard)
    job = Job(rng, hard, corpus, top=top_of(rng, hard), at=corpus.body(), noise=0.003)
    log = make_log(rng, hard, job, TEXT, figures=True, steps_per_epoch=corpus.per_epoch(), rank=bad, world_size=ranks)
    case, out = fatal(rng, hard, job, log, Plan(corpus.per_epoch(), corpus.per_epoch()), ["length", "tokens"])
    case.add("run-rank%d.jsonl" % bad, log)
    case.truth["rank"] = bad
    for rank in range(ranks):
        if rank != bad:
            job.restart()
            job.shapes = sh.Corpus(rng, out.failed_at * 8 + 8, 8, longest=900, spread=0.4)
            log = make_log(rng, hard, job, TEXT, steps_per_epoch=corpus.per_epoch(), rank=rank, world_size=ranks)
            need(simulate(job, log, Plan(out.failed_at, ending=None)).failed_at is None)
            case.add("run-rank%d.jsonl" % rank, log)
    return case


@kind
def peak_growing_model(rng, hard):
    """The model itself grows by design, and its size is logged: the floor follows it until nothing fits."""
    rows = rows_of(rng, hard)
    job = Job(rng, hard, sh.Fixed(batch=1, length=1000), top=rng.uniform(0.3, 0.45), floor=0.15)
    size, every = [100_000], rng.choice((10, 20)) if hard else rng.choice((20, 50))
    each = 1.05 * (job.ceiling() - job.need(job.shapes.largest())) / rows / 1500

    def before(step, _):
        if step and step % every == 0:
            size[0] += int(1500 * every * rng.uniform(0.3, 1.7))
        job.shapes.shape["size_params"] = size[0]
    log = make_log(rng, hard, job, ("allocated_bytes", "peak_bytes"))
    job.shapes.shape["size_params"] = size[0]
    plan = Plan(rows * 3, kept_at=lambda step: each * (size[0] - 100_000), before=before)
    out = simulate(job, log, plan)
    need(out.failed_at is not None and log.rows >= 60)
    return Case("peak", ["schedule", "unexplained"], status="failed").add("run.jsonl", log)


@kind
def peak_green_at_risk(rng, hard):
    """It fits, but the corpus holds a sample that it has not met and that will not fit."""
    shapes = giant_corpus(rng, hard)
    job = Job(rng, hard, shapes, top=rng.uniform(0.7, 0.88), at=shapes.body(), noise=0.002)
    worst = job.need(shapes.largest())
    need(worst > 1.12 * job.ceiling())
    log = make_log(rng, hard, job, TEXT, head=("capacity_bytes", "corpus_max_len", "steps_per_epoch"),
                   steps_per_epoch=shapes.per_epoch(), corpus_max_len=max(shapes.lengths))
    rows = rng.randrange(100, 300) if hard else rng.randrange(250, 700)
    out = simulate(job, log, Plan(rows, shapes.per_epoch()))
    need(out.failed_at is None and out.largest > 0.45 * job.ceiling())
    return Case("peak", ["length", "tokens"], status="at-risk").add("run.jsonl", log)
