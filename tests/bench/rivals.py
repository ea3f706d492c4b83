#!/usr/bin/env python3
"""rivals.py WHAT FILE [PNG]: what people do today with a step log."""
import json
import sys

WANTED = ["step", "allocated_bytes", "peak_bytes", "reserved_bytes", "batch_size", "max_len", "tokens", "time"]


def json_loop(path):
    columns = {name: [] for name in WANTED}
    with open(path, encoding="utf-8") as f:
        for line in f:
            record = json.loads(line)
            if "step" in record:
                for name in WANTED:
                    columns[name].append(record.get(name))
    return columns


def pandas_json(path):
    import pandas
    return pandas.read_json(path, lines=True)


def pandas_csv(path):
    import pandas
    return pandas.read_csv(path, usecols=WANTED)


def plot(columns, png):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(16, 6))
    for name in ("allocated_bytes", "peak_bytes", "reserved_bytes"):
        axes.plot(columns["step"], columns[name], label=name)
    axes.legend()
    figure.savefig(png)
    figure, axes = pyplot.subplots(figsize=(16, 6))
    axes.scatter(columns["max_len"], columns["peak_bytes"], s=1)
    figure.savefig(png)


def main():
    what, path = sys.argv[1], sys.argv[2]
    if what == "json-loop":
        json_loop(path)
    elif what == "pandas-json":
        pandas_json(path)
    elif what == "pandas-csv":
        pandas_csv(path)
    elif what == "json-plot":
        plot(json_loop(path), sys.argv[3])
    elif what == "pandas-plot":
        plot(pandas_json(path), sys.argv[3])


main()
