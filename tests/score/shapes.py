"""Where the batches come from. A shape carries its logged fields, and `_batch` and `_len`, which set its memory."""
import math


def text_shape(batch, length, tokens=None, ids=None):
    shape = {"batch_size": batch, "max_len": length, "tokens": batch * length if tokens is None else tokens,
             "_batch": batch, "_len": length}
    if ids is not None:
        shape["batch_ids"] = ids
    return shape


class Fixed:
    """The same batch every time."""

    def __init__(self, batch=8, length=1024):
        self.shape = text_shape(batch, length)

    def next(self):
        return dict(self.shape)

    largest = typical = next


class Corpus:
    """Samples of given lengths, in batches: shuffled, sorted, or bucketed by length, epoch by epoch."""

    def __init__(self, rng, n, batch, order="shuffle", median=350, spread=0.45, longest=None, padded=True, ids=False,
                 giant=None):
        self.rng, self.batch, self.order, self.padded, self.ids = rng, batch, order, padded, ids
        longest = longest or int(median * math.exp(2.2 * spread))
        self.lengths = [max(16, min(longest, int(rng.lognormvariate(math.log(median), spread)))) for _ in range(n)]
        self.lengths[rng.randrange(n)] = longest
        self.longest, self.giant_at = longest, None
        if giant:  # one sample unlike all others
            self.giant_at = rng.randrange(n)
            self.lengths[self.giant_at] = giant
        self.order_rng = rng
        self.queue, self.last = [], None

    def per_epoch(self):
        return len(self.lengths) // self.batch

    def batches(self):
        n = len(self.lengths)
        order = list(range(n))
        if self.order in ("sorted", "bucketed"):
            self.order_rng.shuffle(order)
            order.sort(key=lambda i: self.lengths[i])
        else:
            self.order_rng.shuffle(order)
        groups = [order[i:i + self.batch] for i in range(0, n - self.batch + 1, self.batch)]
        if self.order == "bucketed":
            self.order_rng.shuffle(groups)
        return groups

    def shape_of(self, group):
        longest = max(self.lengths[i] for i in group)
        tokens = None if self.padded else sum(self.lengths[i] for i in group)
        ids = ["s%05d" % i for i in group] if self.ids else None
        return text_shape(len(group), longest, tokens, ids)

    def next(self):
        if not self.queue:
            self.queue = self.batches()[::-1]
        self.last = self.queue.pop()
        return self.shape_of(self.last)

    def largest(self):
        return text_shape(self.batch, max(self.lengths))

    def body(self):
        """The largest batch without the giant."""
        return text_shape(self.batch, self.longest)

    def quantile(self, q):
        """The shape that a share q of batches stays below, if batches were drawn at random."""
        ordered = sorted(self.lengths)
        return text_shape(self.batch, ordered[min(len(ordered) - 1, int(len(ordered) * q ** (1 / self.batch)))])

    def typical(self):
        return self.quantile(0.5)


class Drawn:
    """Shapes from a function of the batch's number."""

    def __init__(self, draw, largest, typical=None):
        self.draw, self.most, self.common, self.n = draw, largest, typical or largest, 0

    def next(self):
        shape = self.draw(self.n)
        self.n += 1
        return shape

    def largest(self):
        return self.most

    def typical(self):
        return self.common


def image_shape(batch, height, width):
    return {"batch_size": batch, "height": height, "width": width, "_batch": batch, "_len": height * width / 1000.0}


def images(rng, batch, sizes):
    def draw(_):
        return image_shape(batch, *rng.choice(sizes))
    return Drawn(draw, image_shape(batch, *max(sizes, key=lambda s: s[0] * s[1])),
                 image_shape(batch, *sorted(sizes, key=lambda s: s[0] * s[1])[len(sizes) // 2]))


def moderate(rng, batch=8, median=400, spread=0.3, longest=None):
    """Lengths as they come, without a corpus behind them."""
    longest = longest or int(median * math.exp(2.5 * spread))

    def draw(_):
        return text_shape(batch, max(16, min(longest, int(rng.lognormvariate(math.log(median), spread)))))
    return Drawn(draw, text_shape(batch, longest), text_shape(batch, median))


def wandering(rng, batch=8, median=500, share=0.35):
    """Lengths that wander slowly (AR(1) with 0.95), within limits."""
    state = [0.0]

    def draw(_):
        state[0] = 0.95 * state[0] + rng.gauss(0, 0.31)
        return text_shape(batch, int(median * (1 + share * max(-1.5, min(1.5, state[0])) / 1.5)))
    return Drawn(draw, text_shape(batch, int(median * (1 + share))), text_shape(batch, median))
