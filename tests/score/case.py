"""A case: the files of one labelled situation, and the truth about it. Kinds register themselves here."""
from physics import GIB, MIB, Log

KINDS = {}  # name -> function(rng, hard) -> Case


class Retry(Exception):
    """What was drawn did not come to what the kind is about: draw again."""


def need(condition):
    if not condition:
        raise Retry


def kind(function):
    KINDS[function.__name__] = function
    return function


class Case:
    def __init__(self, cause, subtype=None, accept=None, status=None, decidable=True, **truth):
        """accept: causes that count as right; subtype: None, one, or a list of those that count."""
        subtypes = [subtype] if isinstance(subtype, str) else subtype
        self.truth = {"cause": cause, "accept": accept or [cause], "subtype": subtypes,
                      "status": [status] if isinstance(status, str) else status, "decidable": decidable, **truth}
        self.files = {}

    def add(self, name, log):
        self.files[name] = log.text()
        return self


MEMORY = ("allocated_bytes", "peak_bytes", "reserved_bytes", "device_used_bytes")
SHAPE = ("batch_size", "max_len", "tokens", "height", "width")
HEAD = ("capacity_bytes", "steps_per_epoch", "device", "framework", "grad_accum", "eval_every", "save_every",
        "eval_batch_size", "corpus_max_len", "host_capacity_bytes")


def columns(rng, hard, must=(), never=()):
    """The columns that the run's writer has: those that the kind cannot do without, and some."""
    share = 0.4 if hard else 0.85
    chosen = [c for c in ("epoch", "time") + MEMORY if rng.random() < share]
    if rng.random() < (0.55 if hard else 0.95):
        chosen += SHAPE
    return [c for c in list(must) + chosen if c not in never]


def header(rng, hard, job, must=(), run="job", **fields):
    fields = {"capacity_bytes": job.capacity, "device": "accelerator", "framework": "torch 2.6.0", **fields}
    share = 0.5 if hard else 0.9
    out = {"run": run}
    for name, value in fields.items():
        if value is not None and (name not in HEAD or name in must or rng.random() < share):
            out[name] = value
    return out


def error_style(rng, hard, must=False):
    if hard and not must and rng.random() < 0.3:
        return None
    return rng.choice(("new", "new", "old", "fields"))


def make_log(rng, hard, job, cols=(), never=(), head=(), figures=False, every=1, reset="step", declare=None, **fields):
    """cols, head: what must be there. figures: the error must say its figures."""
    declare = (rng.random() < (0.5 if hard else 0.8)) if declare is None else declare
    return Log(job, columns(rng, hard, cols, never), every, reset, declare,
               header(rng, hard, job, head, **fields), error_style(rng, hard, figures))


def rows_of(rng, hard):
    return rng.randrange(80, 301) if hard else rng.randrange(300, 1500)


def detectable(job):
    """Smallest rise of the floor [B] that must be found: twice what the eye can tell from noise."""
    return 2 * max(32 * MIB, int(0.002 * job.capacity))


def gib(n):
    return n / GIB
