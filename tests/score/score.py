#!/usr/bin/env python3
"""Scores the program on the cases that generate.py wrote.

    score.py OUT_DIR OOMREPORT [--markdown] [--failures]

Runs `OOMREPORT --stdout json FILES` on each case in two processes, keeps each report beside its case as
report.json, and prints the confusion matrix, accuracy by kind, false alarms, slope and forecast errors,
calibration, and what a naive rule gets. --markdown prints the tables for the README; --failures lists every
case whose cause or subtype was wrong. Exit status 0, unless it cannot run. Standard library only.
"""
import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import measures  # noqa: E402
import naive  # noqa: E402


def cases_in(out):
    for name in sorted(os.listdir(out)):
        path = os.path.join(out, name, "truth.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                yield os.path.join(out, name), json.load(f)


def run(binary, folder, truth):
    """The report of a case, or {"error": what went wrong}."""
    files = [os.path.join(folder, n) for n in truth["files"]]
    try:
        done = subprocess.run([binary, "--stdout", "json", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    except subprocess.TimeoutExpired:
        return {"error": "took more than 60 s"}
    try:
        report = json.loads(done.stdout.decode("utf-8"))
    except ValueError as error:
        said = done.stderr.decode("utf-8", "replace").strip()[-200:]
        return {"error": "exit status %d, no JSON (%s): %s" % (done.returncode, error, said)}
    with open(os.path.join(folder, "report.json"), "wb") as f:
        f.write(done.stdout)
    return report


def rows_of_table(title, head, rows, markdown):
    out = ["", ("### " if markdown else "") + title]
    if markdown:
        out += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        out += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    else:
        widths = [max(len(str(r[i])) for r in [head] + rows) for i in range(len(head))]
        for row in [head] + rows:
            out.append("  " + "  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w)
                                        for i, (c, w) in enumerate(zip(row, widths))))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("binary")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--failures", action="store_true")
    args = parser.parse_args()
    if not os.access(args.binary, os.X_OK):
        sys.stderr.write("score.py: cannot run %s\n" % args.binary)
        return 2
    found = list(cases_in(args.out))
    if not found:
        sys.stderr.write("score.py: no cases in %s: run generate.py first\n" % args.out)
        return 2
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda c: run(args.binary, c[0], c[1]), found))
    judged = [measures.judge(folder, truth, report) for (folder, truth), report in zip(found, reports)]
    right, n, naive_kinds = naive.accuracy(args.out)

    out = ["%d cases of %d kinds, %d of them hard" % (len(judged), len({j["kind"] for j in judged}),
                                                      sum(j["hard"] for j in judged))]
    out += rows_of_table("Criteria", ["measure", "is", "asked", "met"],
                         measures.criteria(judged) + [["naive rule", "%.1f %%" % (100.0 * right / max(n, 1)), "< 80 %",
                                                       "yes" if right < 0.8 * n else "NO"]], args.markdown)
    out += rows_of_table("Confusion (rows: truth; undecided: no cause can be told from the log)",
                         ["truth"] + list(measures.CAUSES) + ["error"], measures.confusion(judged), args.markdown)
    out += rows_of_table("Calibration", ["confidence", "verdicts", "mean", "right"], measures.calibration(judged), args.markdown)
    out += rows_of_table("By kind", ["kind", "cases", "cause", "easy", "hard", "subtype", "status", "naive"],
                         measures.by_kind(judged, naive_kinds), args.markdown)
    errors = [j for j in judged if j["error"]]
    for j in errors[:20]:
        out.append("error: %s: %s" % (j["folder"], j["error"]))
    if args.failures:
        out += ["", "Failures"]
        for j in judged:
            if not j["right"] or j["subtype_right"] is False or j["says_right"] is False or j["shared_right"] is False:
                out.append("  %s %s%s: %s/%s, said %s/%s %.2f (%s)%s" % (
                    j["folder"], j["kind"], " hard" if j["hard"] else "", "|".join(j["accept"]),
                    "|".join(str(s) for s in j["subtypes"] or ["-"]), j["cause"], j["subtype"], j["confidence"], j["status"],
                    "" if j["says_right"] in (None, True) else " says %s, truth %s" % (j["says"], j["truth_says"])))
    print("\n".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
