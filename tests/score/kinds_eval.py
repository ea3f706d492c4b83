"""Runs that end in an evaluation, or at the place where one begins."""
import shapes as sh
from case import Case, kind, make_log, need
from physics import Evaluation, Job, Plan, simulate

TEXT = ("peak_bytes", "batch_size", "max_len", "tokens")


def setting(rng, hard):
    every = rng.randrange(60, 140) if hard else rng.randrange(100, 500)
    return every, every * rng.choice((1, 1, 2, 3))


@kind
def eval_grad(rng, hard):
    """Gradients are tracked in evaluation: a sample costs more than in training."""
    every, per = setting(rng, hard)
    shapes = sh.moderate(rng, spread=0.25)
    job = Job(rng, hard, shapes, top=rng.uniform(0.6, 0.72), floor=rng.uniform(0.15, 0.3))
    # Between passes that pass and the one that does not lies only the length of the batch.
    evaluation = Evaluation(every, rng.randrange(8, 30), factor=rng.uniform(1.35, 1.9))
    log = make_log(rng, hard, job, TEXT, head=("steps_per_epoch",), steps_per_epoch=per, eval_every=every, eval_batch_size=8)
    out = simulate(job, log, Plan(every * 6, per, evaluation=evaluation))
    need(out.failed_at is not None and out.phase == "eval")
    need(sum(1 for e in log.lines if e.get("phase") == "eval" and "event" not in e) >= 4)
    return Case("eval", "grad", status="failed").add("run.jsonl", log)


@kind
def eval_batch(rng, hard):
    """No backward pass, so the batch was made larger: too large."""
    every, per = setting(rng, hard)
    ratio = rng.choice((4, 6, 8))
    shapes = sh.moderate(rng, batch=8, spread=0.25)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.65), floor=rng.uniform(0.15, 0.3))
    bigger = sh.moderate(rng, batch=8 * ratio, spread=0.25)
    evaluation = Evaluation(every, rng.randrange(8, 30), factor=rng.uniform(0.28, 0.45), shapes=bigger)
    log = make_log(rng, hard, job, TEXT, head=("steps_per_epoch",), steps_per_epoch=per, eval_every=every,
                   eval_batch_size=8 * ratio)
    out = simulate(job, log, Plan(every * 6, per, evaluation=evaluation))
    need(out.failed_at is not None and out.phase == "eval")
    need(sum(1 for e in log.lines if e.get("phase") == "eval" and "event" not in e) >= 2)
    return Case("eval", "batch", status="failed").add("run.jsonl", log)


@kind
def eval_batch_first_batch(rng, hard):
    """The first evaluation batch is the last thing that happens; its size is in the event."""
    every, per = setting(rng, hard)
    ratio = rng.choice((8, 16))
    shapes = sh.moderate(rng, batch=8, spread=0.25)
    job = Job(rng, hard, shapes, top=rng.uniform(0.55, 0.75), floor=rng.uniform(0.15, 0.3))
    bigger = sh.moderate(rng, batch=8 * ratio, spread=0.25)
    evaluation = Evaluation(every, 8, factor=rng.uniform(0.4, 0.6), shapes=bigger)
    log = make_log(rng, hard, job, TEXT, head=("steps_per_epoch", "eval_batch_size"), steps_per_epoch=per, eval_every=every,
                   eval_batch_size=8 * ratio)
    out = simulate(job, log, Plan(every * 2, per, evaluation=evaluation))
    need(out.failed_at is not None and out.phase == "eval")
    return Case("eval", "batch", status="failed").add("run.jsonl", log)


@kind
def eval_kept(rng, hard):
    """Predictions pile up on the device until the pass is over."""
    every, per = setting(rng, hard)
    shapes = sh.moderate(rng, spread=0.25)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.75))
    batches = rng.randrange(40, 100)
    room = job.ceiling() - job.state(True) - 0.3 * job.activations(shapes.largest())
    evaluation = Evaluation(every, batches * 2, factor=0.3, kept=room / batches / 8)
    log = make_log(rng, hard, job, ("allocated_bytes", "peak_bytes", "batch_size"), head=("steps_per_epoch",),
                   steps_per_epoch=per, eval_every=every)
    out = simulate(job, log, Plan(every * 3, per, evaluation=evaluation))
    need(out.failed_at is not None and out.phase == "eval")
    return Case("eval", "kept", status="failed").add("run.jsonl", log)


def unlogged(rng, hard, no_phase, head):
    every, per = setting(rng, hard)
    shapes = sh.moderate(rng, spread=0.12)
    job = Job(rng, hard, shapes, top=rng.uniform(0.5, 0.7))
    first = rng.random() < 0.6
    passes = 1 if first else rng.randrange(2, 4)
    evaluation = Evaluation(every, 3, factor=0.3, logged=False)

    def before(step, _):
        if step == every * passes - 1:
            evaluation.extra = (1.15 + 0.4 * rng.random()) * job.ceiling() - job.state(True)
    log = make_log(rng, hard, job, ("allocated_bytes", "peak_bytes", "batch_size", "max_len"), head=head, figures=True,
                   steps_per_epoch=per, eval_every=every)
    out = simulate(job, log, Plan(every * 5, per, evaluation=evaluation, no_phase=no_phase, no_shape=True, before=before))
    need(out.failed_at is not None and out.phase == "eval")
    return Case("eval", ["boundary"] if no_phase else ["boundary", "batch", "grad", "kept"], status="failed").add(
        "run.jsonl", log)


@kind
def eval_boundary(rng, hard):
    """Evaluation is not logged; the failure lands on its cadence, with room to spare in every step before."""
    return unlogged(rng, hard, True, ("eval_every", "steps_per_epoch"))


@kind
def eval_not_logged(rng, hard):
    """Only the error says that it happened in evaluation."""
    return unlogged(rng, hard, False, ("steps_per_epoch",))
