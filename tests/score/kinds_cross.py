"""Groups of runs of one job under several seeds: what comes back, the step or the content."""
import random

import shapes as sh
from case import Case, kind, make_log, need
from physics import Job, Plan, simulate

TEXT = ("peak_bytes", "batch_size", "max_len", "tokens")


class Group:
    """One job, so the same device, model and corpus; each run has a seed of its own."""

    def __init__(self, rng, hard):
        self.rng, self.hard = rng, hard
        self.base = rng.randrange(1 << 30)
        self.seeds = rng.sample(range(1, 90), rng.randrange(2, 5))

    def corpus(self, seed, order="shuffle", giant=True, same_order=False):
        r = random.Random(self.base)
        rows = r.randrange(90, 240) if self.hard else r.randrange(250, 700)
        corpus = sh.Corpus(r, rows * 8, 8, order, longest=900, spread=0.4, ids=True,
                           giant=int(900 * r.uniform(1.6, 2.6)) if giant else None)
        corpus.order_rng = random.Random(self.base if same_order else self.base + seed)
        return corpus

    def job(self, shapes, seed, top=0.8, at=None, noise=None):
        r = random.Random(self.base + 7)
        job = Job(r, self.hard, shapes, top=top, at=at, noise=noise)
        job.rng = random.Random(self.base * 3 + seed)
        return job

    def log(self, job, seed, cols=TEXT + ("batch_ids",), never=(), run="job", **fields):
        r = random.Random(self.base + 13)  # one writer: the same columns in each run
        return make_log(r, self.hard, job, cols, never, figures=True, run=run, seed=seed, **fields)


def content(rng, hard, says, order="shuffle", same_order=False, ids=True):
    group = Group(rng, hard)
    case = Case("peak", ["length", "tokens"], status="failed", says=says)
    for n, seed in enumerate(group.seeds):
        corpus = group.corpus(seed, order, same_order=same_order)
        job = group.job(corpus, seed, 0.8, corpus.body(), noise=0.003)
        log = group.log(job, seed, TEXT + (("batch_ids",) if ids else ()), () if ids else ("batch_ids",),
                        steps_per_epoch=corpus.per_epoch())
        out = simulate(job, log, Plan(corpus.per_epoch(), corpus.per_epoch()))
        need(out.failed_at is not None and log.rows >= 30 and out.need > 1.1 * out.largest)
        case.add("run-%d.jsonl" % (n + 1), log)
        if ids:
            case.truth["shared_ids"] = ["s%05d" % corpus.giant_at]
        case.truth.setdefault("steps", []).append(out.failed_at)
    steps = case.truth["steps"]
    need(same_order or max(steps) - min(steps) > 20)
    return case


@kind
def cross_shared_sample(rng, hard):
    return content(rng, hard, "data")


@kind
def cross_shared_sample_bucketed(rng, hard):
    return content(rng, hard, "data", order="bucketed")


@kind
def cross_shared_shape(rng, hard):
    """No ids: the shape of the fatal batch is what comes back."""
    return content(rng, hard, "data", ids=False)


@kind
def cross_deterministic(rng, hard):
    """The sampler ignores the seed: the same step and the same batch."""
    return content(rng, hard, "deterministic", same_order=True)


@kind
def cross_same_seed_twice(rng, hard):
    """The same seed again is the same run: it says nothing of what is to blame."""
    group = Group(rng, hard)
    group.seeds = [group.seeds[0]] * 2
    case = Case("peak", ["length", "tokens"], status="failed", says="not testable")
    for n, seed in enumerate(group.seeds):
        corpus = group.corpus(seed)
        job = group.job(corpus, seed, 0.8, corpus.body(), noise=0.003)
        log = group.log(job, seed, steps_per_epoch=corpus.per_epoch(), run="job-%d" % (n + 1))
        out = simulate(job, log, Plan(corpus.per_epoch(), corpus.per_epoch()))
        need(out.failed_at is not None and log.rows >= 30 and out.need > 1.1 * out.largest)
        case.add("run-%d.jsonl" % (n + 1), log)
    return case


@kind
def cross_one_of_several_failed(rng, hard):
    """One seed met the giant, the others ended before it."""
    group = Group(rng, hard)
    case = Case("peak", ["length", "tokens"], status="failed", says="not testable")
    outcomes = []
    for n, seed in enumerate(group.seeds):
        corpus = group.corpus(seed)
        job = group.job(corpus, seed, 0.8, corpus.body(), noise=0.003)
        log = group.log(job, seed, steps_per_epoch=corpus.per_epoch())
        out = simulate(job, log, Plan(int(corpus.per_epoch() * 0.55), corpus.per_epoch()))
        need(log.rows >= 30)
        outcomes.append(out.failed_at)
        case.add("run-%d.jsonl" % (n + 1), log)
    need(sum(o is not None for o in outcomes) == 1)
    return case


@kind
def cross_schedule(rng, hard):
    """All seeds die on the step at which the length is raised, each on other samples."""
    group = Group(rng, hard)
    stage, stages = rng.randrange(30, 60) if hard else rng.randrange(80, 200), rng.randrange(3, 5)
    case = Case("peak", ["schedule", "length", "tokens"], status="failed", says="schedule")
    for n, seed in enumerate(group.seeds):
        r = random.Random(group.base + seed)

        def draw(i, r=r):
            return sh.text_shape(8, int(256 * 1.4 ** (i // stage)), ids=["s%05d" % k for k in r.sample(range(40000), 8)])
        shapes = sh.Drawn(draw, sh.text_shape(8, int(256 * 1.4 ** (stages - 1))))
        job = group.job(shapes, seed, top=0.85, noise=0.002)
        log = group.log(job, seed)
        out = simulate(job, log, Plan(stage * (stages + 3)))
        need(out.failed_at is not None and out.failed_at % stage == 0 and log.rows >= 60)
        case.add("run-%d.jsonl" % (n + 1), log)
        need(case.truth.setdefault("steps", out.failed_at) == out.failed_at)
    return case


@kind
def cross_leak_same_step(rng, hard):
    """A leak under batches of one shape: the step is what comes back, give or take a few."""
    group = Group(rng, hard)
    steps = rng.randrange(100, 280) if hard else rng.randrange(300, 900)
    case = Case("leak", ["step"], status="failed", says="schedule")
    for n, seed in enumerate(group.seeds):
        r = random.Random(group.base + seed)

        def draw(i, r=r):
            return sh.text_shape(8, 1024, ids=["s%05d" % k for k in r.sample(range(40000), 8)])
        shapes = sh.Drawn(draw, sh.text_shape(8, 1024))
        job = group.job(shapes, seed, top=0.72, noise=0.0003)
        slope = (job.ceiling() - job.need(shapes.largest())) / steps
        log = group.log(job, seed, TEXT + ("batch_ids", "allocated_bytes"))
        out = simulate(job, log, Plan(steps * 2, grow=lambda step, shape: slope))
        need(out.failed_at is not None)
        case.add("run-%d.jsonl" % (n + 1), log)
        case.truth["slope"], case.truth["rise"] = slope, out.kept
    return case


@kind
def cross_neither(rng, hard):
    """Spikes that no shape explains, at other steps and on other samples in each run."""
    group = Group(rng, hard)
    case = Case("peak", ["unexplained"], status="failed", says="neither")
    steps = []
    for n, seed in enumerate(group.seeds):
        r = random.Random(group.base + seed)
        at = r.randrange(60, 280) if hard else r.randrange(120, 900)

        def draw(i, r=r):
            return sh.text_shape(8, 1024, ids=["s%05d" % k for k in r.sample(range(40000), 8)])
        shapes = sh.Drawn(draw, sh.text_shape(8, 1024))
        job = group.job(shapes, seed, top=0.6)
        typical = job.need(shapes.largest())
        log = group.log(job, seed, TEXT + ("batch_ids", "allocated_bytes"))
        out = simulate(job, log, Plan(at + 2, spike=lambda step, shape, at=at, job=job: (
            1.25 * job.ceiling() - typical if step == at else min(8.0, job.rng.paretovariate(1.5) - 1) * 0.03 * typical)))
        need(out.failed_at == at)
        steps.append(at)
        case.add("run-%d.jsonl" % (n + 1), log)
    need(min(abs(a - b) for i, a in enumerate(steps) for b in steps[:i]) > 0.15 * max(steps))
    return case


@kind
def cross_leak_varied_shapes(rng, hard):
    """A leak in each seed; which batch tips over differs, and the step with it."""
    group = Group(rng, hard)
    steps = rng.randrange(100, 240) if hard else rng.randrange(300, 900)
    case = Case("leak", ["step"], status="failed")
    for n, seed in enumerate(group.seeds):
        corpus = group.corpus(seed, giant=False)
        job = group.job(corpus, seed, top=0.75)
        slope = (job.ceiling() - job.need(corpus.largest())) / steps
        log = group.log(job, seed, TEXT + ("batch_ids", "allocated_bytes"), steps_per_epoch=corpus.per_epoch())
        out = simulate(job, log, Plan(steps * 3, corpus.per_epoch(), grow=lambda step, shape: slope))
        need(out.failed_at is not None)
        case.add("run-%d.jsonl" % (n + 1), log)
        case.truth["slope"], case.truth["rise"] = slope, out.kept
    return case


@kind
def cross_larger_batch(rng, hard):
    """The same job with twice the batch, after it had run with half: that one does not get far."""
    group = Group(rng, hard)
    case = Case("capacity", None, accept=["capacity", "peak"], status="failed", says="not testable")
    for n, batch in enumerate((8, 8, 16)):
        r = random.Random(group.base + n)
        shapes = sh.moderate(r, batch=batch, spread=0.2)
        job = group.job(sh.moderate(r, batch=8, spread=0.2), n + 1, top=0.74, noise=0.003)
        job.shapes = shapes
        log = group.log(job, n + 1, TEXT, never=("batch_ids",), run="batch-%d-%d" % (batch, n))
        out = simulate(job, log, Plan(rng.randrange(80, 200)))
        need((out.failed_at is not None) == (batch == 16) and (batch == 8 or out.failed_at < 3))
        case.add("run-%d.jsonl" % (n + 1), log)
    return case
