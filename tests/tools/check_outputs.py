#!/usr/bin/env python3
"""check_outputs.py --program PROG --work DIR: every output is well-formed and inert whatever the logs hold, and a
report is whole whatever happens to its writer. Last line: "N passed, N failed".

Strict parsers for junit.xml and metrics.txt; hostile strings in all outputs; kill -9 at fifty moments; a full device, a
full disk and a directory that cannot be written, with an older report in place.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

GIB = 1 << 30
HOSTILE = [b"<script>alert(1)</script>", b"]]>", b"a|b`c`", b"\x1b[31mred", b"nul\\u0000nul", b"\xff\xfe broken",
           b"@everyone #1 [[ATTACHMENT|/etc/passwd]]", b"\\u202egnp.exe", b"{{verdict}}", b'" onload="x', b"-->", b"\\\\"]
TEXTS = ["index.html", "oomreport.html", "style.css", "summary.md", "summary.txt", "report.json", "junit.xml",
         "metrics.txt", "data/series.json"]
LIMITS = {"junit.xml": 256 << 10, "summary.md": 60000, "report.json": 2 << 20, "oomreport.html": 3 << 19,
          "index.html": 150 << 10, "summary.txt": 64 << 10, "metrics.txt": 256 << 10, "data/series.json": 1 << 20}

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')


def open_metrics(text):
    """Problems of an OpenMetrics 1.0 exposition of the types that we write."""
    problems, families, seen, now = [], {}, set(), None
    if not text.endswith("# EOF\n"):
        problems.append("does not end with # EOF")
    for n, line in enumerate(text.split("\n")[:-2], 1):
        if line.startswith("# "):
            word, name, rest = (line[2:].split(" ", 2) + ["", ""])[:3]
            if word == "TYPE":
                if name in families or rest not in ("gauge", "counter", "info") or not NAME.fullmatch(name):
                    problems.append(f"{n}: {line}")
                families[name] = rest
                now = name
            elif word not in ("UNIT", "HELP") or name != now:
                problems.append(f"{n}: {line}")
            elif word == "UNIT" and not name.endswith("_" + rest):
                problems.append(f"{n}: the unit is no suffix of the name")
            continue
        m = re.fullmatch(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)", line)
        suffix = {"counter": "_total", "info": "_info"}.get(families.get(now), "")
        if not m or m.group(1) != f"{now}{suffix}":
            problems.append(f"{n}: no sample of {now}: {line[:80]}")
            continue
        labels, at = [], 0
        while m.group(2) and at < len(m.group(2)):
            one = LABEL.match(m.group(2), at)
            if not one or (one.end() < len(m.group(2)) and m.group(2)[one.end()] != ","):
                problems.append(f"{n}: labels: {line[:80]}")
                break
            labels.append(one.group(1))
            at = one.end() + 1
        if len(labels) != len(set(labels)) or (m.group(1), m.group(2)) in seen:
            problems.append(f"{n}: twice: {line[:80]}")
        seen.add((m.group(1), m.group(2)))
    return problems


def junit(data):
    """Problems of a JUnit file by the rules of GitLab and Jenkins."""
    problems = []
    root = xml.etree.ElementTree.fromstring(data)
    suite = root.find("testsuite")
    names = [c.get("name") for c in suite.iter("testcase")]
    if len(names) != len(set(names)):
        problems.append("a name twice")
    for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        if int(suite.get(word)) != len(list(suite.iter(tag))):
            problems.append(f"{word} is not the number of <{tag}>")
    if int(suite.get("tests")) != len(names):
        problems.append("tests is not the number of cases")
    lines = suite.find("system-out").text.split("\n")
    if len(lines) > 41:
        problems.append(f"{len(lines)} lines of output")
    if any("[[ATTACHMENT" in x and x != "[[ATTACHMENT|plots/timeline.png]]" for x in lines):
        problems.append("an attachment that is not ours")
    return problems


def check_files(report):
    """Problems of a report's files, whatever was in the logs."""
    problems = []
    for name in TEXTS:
        data = (report / name).read_bytes()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as e:
            problems.append(f"{name}: {e}")
            continue
        bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        if bad:
            problems.append(f"{name}: {bad.group()!r}")
        if name.endswith(("html", "md", "xml", "json")) and "<script" in text.lower():
            problems.append(f"{name}: <script")
        if name.endswith("html") and re.search(r'<[a-z]([^>"]|"[^"]*")* onload=', text):
            problems.append(f"{name}: an attribute of the log's")
        if len(data) > LIMITS.get(name, 1 << 30):
            problems.append(f"{name}: {len(data)} bytes")
    for name in ("report.json", "data/series.json"):
        json.loads((report / name).read_text())
    text = (report / "summary.txt").read_text()
    if not text.isascii() or max(map(len, text.split("\n"))) > 80:
        problems.append("summary.txt: not 80 columns of ASCII")
    problems += [f"junit.xml: {p}" for p in junit((report / "junit.xml").read_bytes())]
    problems += [f"metrics.txt: {p}" for p in open_metrics((report / "metrics.txt").read_text())]
    return problems


def hostile_log(path, text):
    """A log that has this (raw bytes of a JSON string) wherever a text can be."""
    t = b'"' + text.replace(b'"', b'\\"').replace(b"\x1b", b"\\u001b") + b'"'
    one = t if len(t) < 1000 else b'"id"'
    lines = [b'{"oomlog": 1, "run": %s, "device": %s, "seed": 1, "capacity_bytes": %d}' % (t, t, 24 * GIB)]
    for i in range(60):
        lines.append(b'{"step": %d, "phase": %s, "label": null, "batch_ids": [%s, "%d"], "allocated_bytes": %d, "peak_bytes": %d}'
                     % (i, t if i % 7 == 3 else b'"train"', one, i, (8 + i // 8) * GIB, (9 + i // 8) * GIB))
        lines.append(b'{"step": %d, "label": %s, "allocated_bytes": %d}' % (i, t, 8 * GIB))
    lines.append(b'{"event": "oom", "step": 60, "message": %s, "requested_bytes": %d, "free_bytes": 1, "batch_ids": [%s]}'
                 % (t, GIB, one))
    path.write_bytes(b"\n".join(lines) + b"\n")


class Checker:
    def __init__(self, program, work):
        self.program, self.work = program, work
        self.passed = self.failed = 0

    def count(self, name, problems):
        if problems:
            self.failed += 1
            print(f"FAILED: {name}")
            for p in problems[:8]:
                print(f"  {str(p)[:300]}")
        else:
            self.passed += 1

    def run(self, *args, **more):
        return subprocess.run([self.program, *map(os.fsencode, args)], capture_output="stdout" not in more,
                              cwd=self.work, check=False, timeout=120, **more)

    def hostile(self, name, text):
        hostile_log(self.work / "h.jsonl", text)
        label = text.replace(b"\\u0000", b"\x01")[:100000]
        self.run("-q", "-o", "before", "--only", "json", "h.jsonl")
        done = self.run("-q", "-o", "hostile", "--label", label, "--fail-on", "oom,regression,leak", "--max-peak", "50%",
                        "--baseline", "before", "h.jsonl")
        problems = [] if done.returncode == 1 else [f"exit status {done.returncode}: {done.stderr[-200:]}"]
        if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr):
            problems.append("a control character on the terminal")
        self.count(f"hostile: {name}", problems or check_files(self.work / "hostile"))

    def whole(self, report):
        """None, or why the report is not one that a call wrote to its end."""
        lines = (report / ".oomreport").read_text().splitlines()[1:]
        for line in lines:
            size, name = line.split(" ", 1)
            if (report / name).stat().st_size != int(size):
                return f"{name} is not the size it should have"
        labels = {(report / n).read_text().count("second") > 0 for n in ("summary.md", "summary.txt", "junit.xml")}
        return None if len(labels) == 1 else "files of two reports"

    def killed(self):
        rng = random.Random(4)
        args = ["-q", "--plots", "light", "-o", "killed", "h.jsonl"]
        hostile_log(self.work / "h.jsonl", b"plain")
        start = time.monotonic()
        self.run("--label", "first", *args)
        lasts = time.monotonic() - start
        (self.work / "killed/notes.txt").write_text("mine")
        problems = []
        for i in range(50):
            child = subprocess.Popen([self.program, "--label", ("first", "second")[i % 2], *args], cwd=self.work,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * 1.2 * lasts)
            child.kill()
            child.wait()
            why = self.whole(self.work / "killed")
            if why or (self.work / "killed/notes.txt").read_text() != "mine":
                problems.append(f"after kill {i}: {why or 'notes.txt'}")
        self.run("--label", "first", *args)
        left = [p.name for p in self.work.iterdir() if p.name.startswith("killed.")]
        self.count("kill -9 at fifty moments leaves a whole report", problems + left)

    def refused(self, name, report, *args, **more):
        """A call that cannot write: status 2, and the older report as it was."""
        before = {p: p.read_bytes() for p in report.rglob("*") if p.is_file()}
        done = self.run(*args, **more)
        after = {p: p.read_bytes() for p in report.rglob("*") if p.is_file()}
        problems = [] if done.returncode == 2 else [f"exit status {done.returncode}"]
        if before != after or not before:
            problems.append("the older report is not as it was")
        self.count(name, problems)

    def cannot_write(self):
        hostile_log(self.work / "h.jsonl", b"plain")
        self.run("-q", "-o", "old", "h.jsonl")
        with open("/dev/full", "wb") as full:
            self.refused("standard output is full", self.work / "old", "-o", "old", "--label", "x", "h.jsonl",
                         stdout=full, stderr=subprocess.DEVNULL)
        with tempfile.TemporaryDirectory() as tmp:
            place = pathlib.Path(tmp)
            program, log = place / "oomreport", place / "h.jsonl"
            shutil.copy(self.program, program)
            shutil.copy(self.work / "h.jsonl", log)
            (place / "d").mkdir()
            self.run("-q", "-o", str(place / "d/old"), str(log))
            os.chmod(place, 0o755)
            os.chmod(place / "d", 0o555)
            who = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
            saved, self.program = self.program, str(program)
            self.refused("a directory that cannot be written", place / "d/old", "-o", str(place / "d/old"), str(log), **who)
            self.program = saved
            os.chmod(place / "d", 0o755)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    work = pathlib.Path(args.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    c = Checker(str(pathlib.Path(args.program).resolve()), work)
    for text in HOSTILE:
        c.hostile(repr(text), text)
    c.hostile("all at once", b" ".join(HOSTILE))
    c.hostile("1 MB", b"<|`&" * (1 << 18))
    c.killed()
    c.cannot_write()
    bad = "# TYPE a gauge\na{x=\"1\"} 1\na{x=\"1\"} 2\nb 1\n# EOD\n"
    c.count("the checker finds what is wrong", [] if len(open_metrics(bad)) == 3 else [open_metrics(bad)])
    print(f"{c.passed} passed, {c.failed} failed")
    return c.failed > 0


if __name__ == "__main__":
    sys.exit(main())
