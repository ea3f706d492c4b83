#!/usr/bin/env python3
"""generate.py jsonl|mixed|csv STEPS FILE: a seeded step log in the shape of real ones (about 360 B a JSON line
with eight batch ids; mixed: in turn with lines of evaluation, which have other keys; 34 CSV columns as a logger
with many metrics writes them)."""
import random
import sys

CAPACITY = 85024112640
METRICS = ["loss", "lr", "grad_norm", "accuracy", "perplexity", "throughput", "mfu", "data_s", "forward_s", "backward_s",
           "optim_s", "ema_decay", "beta1", "beta2", "clip", "scale", "entropy", "kl", "reward", "value_loss",
           "policy_loss", "aux_loss", "z_loss", "router_loss"]


def steps(n):
    rng = random.Random(20240501)
    floor = 31 << 30
    for step in range(n):
        batch, longest = 8, rng.randrange(256, 2048, 8)
        allocated = floor + step * 40000 % (1 << 33) + rng.randrange(1 << 22) // 512 * 512
        peak = allocated + batch * longest * 1700000
        yield {"step": step, "epoch": round(step / 50000, 4), "phase": "train",
               "time": round(step * 0.412 + rng.random() * 0.1, 3), "allocated_bytes": allocated, "peak_bytes": peak,
               "reserved_bytes": (peak >> 21) + 300 << 21, "batch_size": batch, "max_len": longest,
               "tokens": batch * longest - rng.randrange(500),
               "ids": [rng.randrange(1000000) for _ in range(batch)], "loss": 2.0 / (1 + step * 1e-5) + rng.random()}


def write_jsonl(n, out):
    out.write('{"oomlog":1,"run":"bench","seed":1,"rank":0,"capacity_bytes":%d}\n' % CAPACITY)
    for s in steps(n):
        ids = ",".join('"s%d"' % i for i in s["ids"])
        out.write('{"step":%d,"epoch":%r,"phase":"train","time":%r,"allocated_bytes":%d,"peak_bytes":%d,'
                  '"reserved_bytes":%d,"batch_size":%d,"max_len":%d,"tokens":%d,"batch_ids":[%s],"loss":%r,'
                  '"lr":0.0003}\n' % (s["step"], s["epoch"], s["time"], s["allocated_bytes"], s["peak_bytes"],
                                      s["reserved_bytes"], s["batch_size"], s["max_len"], s["tokens"], ids, s["loss"]))


def write_mixed(n, out):
    out.write('{"oomlog":1,"run":"bench","seed":1,"rank":0,"capacity_bytes":%d}\n' % CAPACITY)
    for s in steps(n // 2):
        out.write('{"step":%d,"epoch":%r,"phase":"train","time":%r,"allocated_bytes":%d,"peak_bytes":%d,"batch_size":%d,'
                  '"max_len":%d,"loss":%r,"lr":0.0003}\n' % (s["step"], s["epoch"], s["time"], s["allocated_bytes"],
                                                            s["peak_bytes"], s["batch_size"], s["max_len"], s["loss"]))
        out.write('{"step":%d,"phase":"eval","eval_loss":%r,"time":%r,"reserved_bytes":%d,"allocated_bytes":%d,'
                  '"max_len":%d}\n' % (s["step"], s["loss"], s["time"], s["reserved_bytes"], s["allocated_bytes"],
                                       s["max_len"]))


def write_csv(n, out):
    fields = ["step", "epoch", "time", "allocated_bytes", "peak_bytes", "reserved_bytes", "batch_size", "max_len",
              "tokens", "phase"]
    out.write(",".join(fields + METRICS) + "\n")
    rng = random.Random(7)
    for s in steps(n):
        row = [str(s[f]) for f in fields]
        row += ["" if k % 4 == 3 else "%.6g" % rng.random() for k in range(len(METRICS))]
        out.write(",".join(row) + "\n")


def main():
    form, n, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, "w", encoding="ascii", newline="\n") as out:
        {"jsonl": write_jsonl, "mixed": write_mixed, "csv": write_csv}[form](n, out)


main()
