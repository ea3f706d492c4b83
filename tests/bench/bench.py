#!/usr/bin/env python3
"""bench.py --program PROG --work DIR [--steps N] [--rounds 5]: oomreport against wc, a json.loads
loop and pandas, in interleaved rounds, so that a busy moment of the machine hits all alike.
Prints medians of CPU time (user + system), wall time and memory, and ratios."""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def measure(args):
    start = time.monotonic()
    pid = os.posix_spawn(args[0], args, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(args)}: status {status}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def interleaved(rounds, programs):
    """{name: (cpu s, wall s, MiB)}, medians of rounds."""
    taken = {name: [] for name, _ in programs}
    for _ in range(rounds):
        for name, args in programs:
            taken[name].append(measure(args))
    return {name: tuple(statistics.median(column) for column in zip(*runs)) for name, runs in taken.items()}


def table(title, result, base):
    print(f"\n{title}")
    print(f"  {'':34}{'CPU s':>9}{'wall s':>9}{'MiB':>8}{'x ' + base:>10}")
    for name, (cpu, wall, mib) in result.items():
        print(f"  {name:34}{cpu:9.3f}{wall:9.3f}{mib:8.0f}{cpu / result[base][0]:10.1f}")


def build(program, work, name):
    """tests/bench/NAME.c with the library beside the program: it without triage and report, or a part of it."""
    beside, out = pathlib.Path(program).parent, work / name
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", f"-I{HERE.parent.parent}/src",
                    "-o", str(out), str(HERE / (name + ".c")), str(beside / "liboomreport.a"), f"@{beside}/pkg.libs",
                    "-lcsv", "-lm", "-pthread"], check=True)
    return str(out)


def made(path, form, steps):
    if not path.exists():
        part = path.with_suffix(".part")
        subprocess.run([sys.executable, str(HERE / "generate.py"), form, str(steps), str(part)], check=True)
        part.rename(path)
    return path


def bars(title, rows):
    """Lines of (what, measured, limit, unit): measured <= limit holds; for "MB/s" and "x faster" >=."""
    print(f"\n{title}")
    for what, measured, limit, unit in rows:
        holds = measured >= limit if unit in ("MB/s", "x faster") else measured <= limit
        print(f"  {what:58}{measured:9.2f}  bar {limit:7.2f} {unit:10} {'holds' if holds else 'DOES NOT HOLD'}")


def ratio(result, ours, theirs):
    return result[theirs][0] / result[ours][0]


def json_lines(program, work, steps, rounds):
    """Reading into columns, converting and reporting, against wc, json.loads, pandas and matplotlib."""
    log, mixed, out = made(work / "steps.jsonl", "jsonl", steps), made(work / "mixed.jsonl", "mixed", steps), str(work / "report")
    gz = work / "steps.jsonl.gz"
    if not gz.exists():
        with open(work / "steps.part", "wb") as to:
            subprocess.run(["gzip", "-6", "-c", str(log)], stdout=to, check=True)
        (work / "steps.part").rename(gz)
    ingest, wc, rivals, py = build(program, work, "ingest"), shutil.which("wc"), str(HERE / "rivals.py"), sys.executable
    programs = [("wc -l", [wc, "-l", str(log)]),
                ("into columns", [ingest, str(log)]),
                ("wc -l, two sets of keys", [wc, "-l", str(mixed)]),
                ("into columns, two sets of keys", [ingest, str(mixed)]),
                ("gzip -dc", [shutil.which("gzip"), "-dc", str(gz)]),
                ("into columns, gz", [ingest, str(gz)]),
                ("read and triage", [program, "--dump", "verdicts", str(log)]),
                ("--to jsonl", [program, "--to", "jsonl", str(log)]),
                ("--to csv", [program, "--to", "csv", str(log)]),
                ("light report", [program, "-f", "--only", "html,json", "--plots", "light", "-o", out + "1", str(log)]),
                ("report", [program, "-f", "-o", out, str(log)]),
                ("json.loads loop", [py, rivals, "json-loop", str(log)])]
    for module, name, what in (("matplotlib", "json.loads loop + matplotlib", "json-plot"),
                               ("pandas", "pandas.read_json", "pandas-json"),
                               ("pandas, matplotlib", "pandas + matplotlib", "pandas-plot")):
        if has(module):
            programs.append((name, [py, rivals, what, str(log), str(work / "plot.png")]))
        else:
            print(f"{module}: missing under {py}")
    result = interleaved(rounds, programs)
    size = log.stat().st_size
    table(f"JSON lines: {steps} steps, {size / 1e6:.0f} MB; medians of {rounds}", result, "wc -l")
    # seconds are for 10^6 steps on a machine where wc -l reads 7.2 GB/s; a slower, or busy, one is allowed for
    pace = result["wc -l"][0] / (size / 7.2e9)
    seconds = {name: cpu / pace * 1e6 / steps for name, (cpu, _, _) in result.items()}
    kept = float(subprocess.run([ingest, str(log)], capture_output=True, check=True).stdout.split()[2])
    per_byte = result["into columns"][0] / size
    rows = [("into columns / wc -l", 1 / ratio(result, "into columns", "wc -l"), 3.5, "x"),
            ("into columns against json.loads", ratio(result, "into columns", "json.loads loop"), 30, "x faster"),
            ("two sets of keys in turn / one, by the byte",
             result["into columns, two sets of keys"][0] / mixed.stat().st_size / per_byte, 2, "x"),
            ("gz into columns / gzip -dc", 1 / ratio(result, "into columns, gz", "gzip -dc"), 1, "x"),
            ("light report, 10^6 steps, at wc's usual pace", seconds["light report"], 0.55, "s CPU"),
            ("report, 10^6 steps, at wc's usual pace", seconds["report"], 0.70, "s CPU"),
            ("kept of a step", kept, 48, "bytes"),
            ("memory of a report", result["report"][2], 100 * max(1, steps / 1.5e6), "MiB")]
    for name in ("json.loads loop + matplotlib", "pandas + matplotlib"):
        if name in result:
            rows.append((f"report against {name}", ratio(result, "report", name), 40 if "pandas" in name else 10, "x faster"))
    for form in ("jsonl", "csv"):
        cpu, _, mib = result[f"--to {form}"]
        rows += [(f"--to {form}", size / 1e6 / cpu, 300, "MB/s"), (f"--to {form}, memory", mib, 64, "MiB")]
    bars(f"Bars (this machine ran at 1/{pace:.1f} of its usual pace)", rows)


def csv_table(program, work, steps, rounds):
    log, ingest, wc = made(work / "steps.csv", "csv", steps), build(program, work, "ingest"), shutil.which("wc")
    programs = [("wc -l", [wc, "-l", str(log)]), ("into columns", [ingest, str(log)]),
                ("read and triage", [program, "--dump", "verdicts", str(log)])]
    if has("pandas"):
        programs.append(("pandas.read_csv, 8 columns", [sys.executable, str(HERE / "rivals.py"), "pandas-csv", str(log)]))
    result = interleaved(rounds, programs)
    table(f"CSV: {steps} rows, 34 columns, {log.stat().st_size / 1e6:.0f} MB; medians of {rounds}", result, "wc -l")
    rows = [("into columns / wc -l", 1 / ratio(result, "into columns", "wc -l"), 6, "x")]
    if has("pandas"):
        rows.append(("into columns against pandas.read_csv, 8 columns",
                     ratio(result, "into columns", "pandas.read_csv, 8 columns"), 6, "x faster"))
    bars("Bars", rows)


def ranks(program, work, rounds):
    """64 files under 256 names in one call, on one thread and on two."""
    folder = work / "ranks"
    folder.mkdir(exist_ok=True)
    text = made(work / "rank.jsonl", "jsonl", 10000).read_text(encoding="ascii").replace('"seed":1,"rank":0,', "")
    for i in range(256):
        path, source = folder / f"run_rank{i}.jsonl", folder / f"run_rank{i % 64}.jsonl"
        if path.exists():
            continue
        if i < 64:
            path.write_text(text.replace('"run":"bench"', f'"run":"bench","host":"h{i}"'), encoding="ascii")
        else:
            os.link(source, path)
    command = [program, "--dump", "verdicts", str(folder)]
    result = interleaved(rounds, [("-j 1", command + ["-j", "1"]), ("-j 2", command + ["-j", "2"])])
    table(f"256 ranks of 10000 steps, {len(text) * 256 / 1e6:.0f} MB; medians of {rounds}", result, "-j 1")
    bars("Bars (wall time only tells where the other processor is free)",
         [("CPU time of two threads / one", 1 / ratio(result, "-j 2", "-j 1"), 1.1, "x"),
          ("wall time of two threads", result["-j 1"][1] / result["-j 2"][1], 1.7, "x faster"),
          ("memory by the step, all of the program", result["-j 2"][2] * 1048576 / 2.56e6, 64, "bytes")])


def small(program, work, rounds):
    """A run of 300 steps against its bars; waiting for the disk is no CPU time."""
    log, out = work / "small.jsonl", str(work / "small")
    subprocess.run([sys.executable, str(HERE / "generate.py"), "jsonl", "300", str(log)], check=True)
    result = interleaved(max(rounds, 9), [
        ("light", [program, "-f", "--only", "html,json", "--plots", "light", "-o", out, str(log)]),
        ("everything", [program, "-f", "-o", out + "2", str(log)])])
    pixels = float(subprocess.run([build(program, work, "reduce")], capture_output=True, check=True).stdout)
    bars("A run of 300 steps, and drawing", [
        ("--only html,json --plots light", 1000 * result["light"][0], 100, "ms CPU"),
        ("everything", 1000 * result["everything"][0], 250, "ms CPU"),
        ("10^7 points reduced to pixels", pixels, 25, "ms CPU")])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=300000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    args.work = args.work / str(args.steps)
    args.work.mkdir(parents=True, exist_ok=True)
    program = os.path.abspath(args.program)
    small(program, args.work, args.rounds)
    csv_table(program, args.work, args.steps, args.rounds)
    ranks(program, args.work, args.rounds)
    json_lines(program, args.work, args.steps, args.rounds)


main()
