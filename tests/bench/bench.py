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


def ratio(result, ours, theirs):
    if theirs in result:
        print(f"  {ours} takes 1/{result[theirs][0] / result[ours][0]:.1f} of the CPU time of {theirs}")


def build_ingest(program, work):
    """The program without triage and report: tests/bench/ingest.c with the library beside the program."""
    build, out = pathlib.Path(program).parent, work / "ingest"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", f"-I{HERE.parent.parent}/src",
                    "-o", str(out), str(HERE / "ingest.c"), str(build / "liboomreport.a"), f"@{build}/pkg.libs", "-lcsv",
                    "-lm", "-pthread"], check=True)
    return str(out)


def large_bars(result, steps, size):
    """Seconds are for 10^6 steps on the machine where wc -l reads 7.2 GB/s; elsewhere, and on a busy one, they are
    taken relative to wc."""
    pace = result["wc -l"][0] / (size / 7.2e9)
    seconds = {name: cpu / pace * 1e6 / steps for name, (cpu, _, _) in result.items()}
    rows = [("into columns / wc -l", result["oomreport: into columns"][0] / result["wc -l"][0], 3.5, "x"),
            ("light report, 10^6 steps, at wc's usual pace", seconds["oomreport: light report"], 0.55, "s CPU"),
            ("report, 10^6 steps, at wc's usual pace", seconds["oomreport: report"], 0.70, "s CPU"),
            ("into columns / json.loads loop",
             result["json.loads loop"][0] / result["oomreport: into columns"][0], 30, "x faster"),
            ("memory of a report", result["oomreport: report"][2], 100 * max(1, steps / 1.5e6), "MiB")]
    for form in ("jsonl", "csv"):
        cpu, _, mib = result[f"oomreport --to {form}"]
        rows += [(f"--to {form}, at wc's usual pace", size / 1e6 / (cpu / pace), 300, "MB/s"),
                 (f"--to {form}, memory", mib, 64, "MiB")]
    bars(f"Bars (this machine runs at 1/{pace:.1f} of its usual pace)", rows)


def large(program, work, steps, rounds):
    log, csv, out = work / "steps.jsonl", work / "steps.csv", str(work / "report")
    for form, path in (("jsonl", log), ("csv", csv)):
        if not path.exists():
            part = path.with_suffix(".part")
            subprocess.run([sys.executable, str(HERE / "generate.py"), form, str(steps), str(part)], check=True)
            part.rename(path)
    ingest = build_ingest(program, work)
    wc, rivals, py = shutil.which("wc"), str(HERE / "rivals.py"), sys.executable
    programs = [("wc -l", [wc, "-l", str(log)]),
                ("oomreport: into columns", [ingest, str(log)]),
                ("oomreport: read and triage", [program, "--dump", "verdicts", str(log)]),
                ("oomreport --to jsonl", [program, "--to", "jsonl", str(log)]),
                ("oomreport --to csv", [program, "--to", "csv", str(log)]),
                ("oomreport: light report", [program, "-f", "--only", "html,json", "--plots", "light", "-o", out + "1",
                                             str(log)]),
                ("oomreport: report", [program, "-f", "-o", out, str(log)]),
                ("json.loads loop", [py, rivals, "json-loop", str(log)])]
    tables = [("wc -l", [wc, "-l", str(csv)]), ("oomreport: into columns", [ingest, str(csv)]),
              ("oomreport: read and triage", [program, "--dump", "verdicts", str(csv)])]
    if has("matplotlib"):
        programs.append(("json.loads loop + matplotlib", [py, rivals, "json-plot", str(log), str(work / "plot.png")]))
    else:
        print(f"matplotlib: missing under {py}")
    if has("pandas"):
        programs.append(("pandas.read_json", [py, rivals, "pandas-json", str(log)]))
        tables.append(("pandas.read_csv, 8 columns", [py, rivals, "pandas-csv", str(csv)]))
    else:
        print(f"pandas: missing under {py}")
    result = interleaved(rounds, programs)
    table(f"JSON lines: {steps} steps, {log.stat().st_size / 1e6:.0f} MB; medians of {rounds}", result, "wc -l")
    ratio(result, "oomreport: read and triage", "json.loads loop")
    ratio(result, "oomreport: read and triage", "pandas.read_json")
    ratio(result, "oomreport: report", "json.loads loop + matplotlib")
    large_bars(result, steps, log.stat().st_size)
    result = interleaved(rounds, tables)
    table(f"CSV: {steps} rows, 34 columns, {csv.stat().st_size / 1e6:.0f} MB; medians of {rounds}", result, "wc -l")
    bars("Bars", [("CSV into columns / wc -l", result["oomreport: into columns"][0] / result["wc -l"][0], 6, "x")])
    ratio(result, "oomreport: into columns", "pandas.read_csv, 8 columns")


def bars(title, rows):
    """Lines of (what, measured, limit, unit): measured <= limit holds; for "MB/s" and "x faster" >=."""
    print(f"\n{title}")
    for what, measured, limit, unit in rows:
        holds = measured >= limit if unit in ("MB/s", "x faster") else measured <= limit
        print(f"  {what:58}{measured:9.2f}  bar {limit:7.2f} {unit:10} {'holds' if holds else 'DOES NOT HOLD'}")


def small(program, work, rounds):
    """A run of 300 steps against its bars; waiting for the disk is no CPU time."""
    log, out = work / "small.jsonl", str(work / "small")
    subprocess.run([sys.executable, str(HERE / "generate.py"), "jsonl", "300", str(log)], check=True)
    bars = {"--only html,json --plots light": 0.100, "everything": 0.250}
    result = interleaved(max(rounds, 9), [
        ("--only html,json --plots light", [program, "-f", "--only", "html,json", "--plots", "light", "-o", out, str(log)]),
        ("everything", [program, "-f", "-o", out + "2", str(log)])])
    print("\nA run of 300 steps")
    for name, (cpu, wall, _) in result.items():
        says = "holds" if cpu <= bars[name] else "DOES NOT HOLD"
        print(f"  {name:34}{1000 * cpu:7.0f} ms CPU {1000 * wall:7.0f} ms wall   bar {1000 * bars[name]:.0f} ms CPU: {says}")


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
    large(program, args.work, args.steps, args.rounds)


main()
