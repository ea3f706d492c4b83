#!/usr/bin/env python3
"""check_corpus.py --program PROG DIR (or: DIR PROG): real logs, checked by counts made here.

Two kinds of folder:
  logs    every file is read with plain Python and a little knowledge of its own (what a column's
          name and unit say), and compared with `PROG --to jsonl FILE`: records with memory of each
          rank, first, last and highest figure to the printed rounding, steps, out-of-memory messages
          with their figures. A file without memory figures must still give its steps, and say so.
  cases   folders with a truth.json: the cause in `PROG --stdout json` must be one of its "accept".
          Fewer than 17 of 23 right (the same share of another number), or a plateau-* that is given
          a cause, is a failure.
One line for each file; what the program does not read yet is listed and not counted. The last line is
"N passed, N failed"; exit status 1 on a failure.
"""
import argparse
import collections
import csv
import gzip
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

UNITS = {"bytes": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 2**10, "mb": 2**20, "gb": 2**30}
MEMORY = ("allocated_bytes", "peak_bytes", "reserved_bytes", "peak_reserved_bytes", "device_used_bytes")
STEP_KEYS = ("step", "global_step", "current_steps", "iteration", "_step")


class Wrong(Exception):
    """What is wrong with a file's result, in one line."""


class NotYet(Exception):
    """The kind of a file that the program does not read yet."""


# --- what a name and a cell say -----------------------------------------------------------

def field_of(name):
    """Schema field, unit in bytes (None: not said) and rank of a column or key that holds memory, else None."""
    low = name.lower()
    if low in MEMORY:
        return low, 1, None
    if not re.search(r"(^|[^a-z])(v?ram|mem|memory)([^a-z]|$)|allocated_bytes|reserved_bytes", low):
        return None
    if re.search(r"util|total|free|percent|%|host|cpu|retries|count|time|inactive|requested", low):
        return None
    unit = re.search(r"(?:^|[^a-z])(bytes|[kmg]i?b)(?:[^a-z]|$)", low)
    rank = re.search(r"gpu[_.]?(\d+)", low)
    high = re.search(r"max|peak|vram_allocated", low)
    if "used" in low:
        field = "device_used_bytes"
    elif re.search(r"reserv|cached", low):
        field = "peak_reserved_bytes" if high else "reserved_bytes"
    else:
        field = "peak_bytes" if high or low == "memory" else "allocated_bytes"
    if low == "memory":
        unit = "mib"  # mmcv and its heirs print whole MiB
    elif low.startswith("vram_") and not unit:
        unit = "gib"
    else:
        unit = unit.group(1) if unit else None
    return field, unit, int(rank.group(1)) if rank else None


def figure(cell, unit):
    """A printed size as (candidates in bytes, rounding error in bytes), or None when it is no size."""
    m = re.fullmatch(r"\s*([0-9]+(?:\.([0-9]*))?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*", str(cell))
    if not m or m.group(3) and m.group(3).lower() not in UNITS:
        return None
    value, unit = float(m.group(1)), (m.group(3) or (unit if isinstance(unit, str) else "") or "bytes").lower()
    if not math.isfinite(value):
        return None
    scale = UNITS[unit]
    scales = [scale] + ([1000 ** {"kb": 1, "mb": 2, "gb": 3}[unit]] if unit in ("kb", "mb", "gb") else [])
    step = 10.0 ** -len(m.group(2) or "") if "e" not in m.group(1).lower() else value * 1e-6
    return [value * s for s in scales], step * scale / 2 + 1


class Counts:
    """What a file holds, by this program's own reading."""

    def __init__(self, kind):
        self.kind = kind
        self.figures = collections.defaultdict(list)  # (field, rank or None) -> [(candidates, error)]
        self.sure = False  # a unit or a well-known name says that it is memory
        self.steps = []
        self.iterations = False  # counted within an epoch: which step that is, is the program's matter
        self.messages = []
        self.records = self.labels = 0  # of a text log
        self.text = collections.defaultdict(list)  # (field, labelled) -> figures in order
        self.ranks = {}  # (rank, field) -> how many

    def add_row(self, row, rank):
        for name, cell in row.items():
            known = field_of(name)
            if known is None or cell is None or isinstance(cell, (bool, list, dict)):
                continue
            field, unit, own_rank = known
            got = figure(cell, unit)
            if got is None:
                continue
            self.sure = self.sure or unit is not None or bool(re.search("[A-Za-z]", str(cell)))
            self.figures[field, rank if own_rank is None else own_rank].append((id(row), *got))
        for key in STEP_KEYS:
            if key in row and str(row[key]).strip():
                self.steps.append(int(float(row[key])))
                return
        self.iterations = self.iterations or "iter" in row

    def by_record(self):
        """Of a row that gives a field twice (max_active, max_allocated) either value will do."""
        merged = {}
        for key, found in self.figures.items():
            rows = {}
            for row, candidates, error in found:
                rows.setdefault(row, [[], 0])
                rows[row][0] += candidates
                rows[row][1] = max(rows[row][1], error)
            merged[key] = list(rows.values())
        return merged


# --- the kinds of file --------------------------------------------------------------------

def read_csv(lines):
    """The table in a file that may have a banner; None when there is none."""
    for at, line in enumerate(lines):
        names = [c.strip() for c in next(csv.reader([line]), [])]
        if len(names) < 2 or not any(re.search("[A-Za-z]", n) for n in names[:3]) or at + 1 >= len(lines):
            continue
        rows = [[c.strip() for c in r] for r in csv.reader(lines[at + 1:])]
        like = sum(len(r) == len(names) for r in rows)
        if like * 10 < len(rows) * 9 or like == 0 or any(re.fullmatch(r"-?[0-9.]+", n) for n in names):
            continue
        if not all(0 < len(n) <= 60 for n in names) or not any(figure(c, None) for r in rows[:50] for c in r):
            continue
        counts, keep = Counts("CSV"), []
        index = next((n for n in names if n.lower() in ("index", "gpu", "rank")), None)
        for row in rows:
            if len(row) != len(names):
                continue
            cells = dict(zip(names, row))
            keep.append(cells)  # rows are told apart by identity
            counts.add_row(cells, int(cells[index]) if index and cells[index].isdigit() else None)
        return counts
    return None


def read_rows(kind, rows):
    counts = Counts(kind)
    for row in rows:
        counts.add_row(row, row.get("rank"))
    return counts


def read_document(doc):
    if isinstance(doc, dict) and isinstance(doc.get("log_history"), list):
        return read_rows("trainer state", doc["log_history"])
    if isinstance(doc, dict) and isinstance(doc.get("train_info", {}).get("metrics"), list):
        return read_rows("results", doc["train_info"]["metrics"])
    if isinstance(doc, dict) and doc and all(isinstance(v, dict) and "values" in v for v in doc.values()):
        steps = sorted({int(s) for v in doc.values() for s in v["values"]})
        rows = [{"step": s, **{k: v["values"].get(str(s)) for k, v in doc.items()}} for s in steps]
        return read_rows("values by step", rows)
    if isinstance(doc, dict):
        counts = read_rows("one object", [doc])
        counts.sure = False  # keys that a user chose
        return counts
    raise NotYet("a JSON document of another kind")


def read_messages(text):
    """Figures of each out-of-memory message, whatever way the log was wrapped: all blanks and bars are dropped."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\s\u2500-\u259f\u2771]", "", text)
    size = r"([0-9.]+)(bytes|KiB|MiB|GiB)"
    older = rf"\(GPU(\d+);{size}totalcapacity;{size}alreadyallocated;{size}free;"
    newer = rf"\.GPU(\d+)hasatotalcapac(?:i?)tyof{size}ofwhich{size}isfree\..{{0,900}}?Oftheallocatedmemory{size}isallocated"
    found = []
    for m in re.finditer(rf"[A-Z]+outofmemory\.Triedtoallocate{size}(?:{older}|{newer})?", text):
        g, keys = m.groups(), {"requested_bytes": 0}
        if g[2] is not None:
            keys.update(total_bytes=3, allocated_bytes=5, free_bytes=7)
        elif g[9] is not None:
            keys.update(total_bytes=10, free_bytes=12, allocated_bytes=14)
        found.append(tuple(sorted((k, round(float(g[i]) * UNITS[g[i + 1].lower()])) for k, i in keys.items())))
    return found


# What text logs say of memory, one pattern a writer: named groups are fields, with units.
NUM = r"([0-9]+(?:\.[0-9]+)?)"
TEXT = (
    # pattern, fields in the order of its groups, unit, labelled (a checkpoint, no step)
    (r"(?:\[Rank (?P<rank>[0-9]+)\] *)?\(after (?P<step>[0-9]+) iterations\) memory \(MB\) \| allocated: " + NUM
     + r" \| \**max allocated: " + NUM + r"\** \| reserved: " + NUM + r" \| max reserved: " + NUM,
     ("allocated_bytes", "peak_bytes", "reserved_bytes", "peak_reserved_bytes"), "mib", False),
    (r"MA " + NUM + " GB +Max_MA " + NUM + " GB +CA " + NUM + " GB +Max_CA " + NUM + " GB",
     ("allocated_bytes", "peak_bytes", "reserved_bytes", "peak_reserved_bytes"), "gib", True),
    (r"iter: (?P<step>[0-9]+) .*max_mem: " + NUM + "M", ("peak_bytes",), "mib", False),
    (r"(?:Epoch: \[|Test:).*max mem: " + NUM, ("peak_bytes",), "mib", False),
    (r"Epoch ?(?:\(train\) *)?\[[0-9]+\]\[ *[0-9]+/[0-9]+\].*[ \t]memory: " + NUM, ("peak_bytes",), "mib", False),
    (r"GPU Memory: " + NUM + r" GB \(Max: " + NUM + r" GB\)", ("allocated_bytes", "peak_bytes"), "gib", False),
    (r"^peak memory (?:consumption|allocated): " + NUM + r" MiB(?: reserved: " + NUM + " MiB)?",
     ("peak_bytes", "peak_reserved_bytes"), "mib", False),
    (r"used_memory_mb=" + NUM, ("device_used_bytes",), "mib", False),
    (r"\| +([1-9][0-9]*)MiB / +[0-9]+MiB +\|", ("device_used_bytes",), "mib", False),
    (r"^Step (?P<step>[0-9]+) \|.*peak_memory_alloc:" + NUM + " peak_memory_reserved:" + NUM,
     ("peak_bytes", "peak_reserved_bytes"), "gib", False),
    (r"gpu_max_cached_mem_GB=" + NUM, ("peak_reserved_bytes",), "gib", False),
    (r"'memory_allocated \(GB\)': " + NUM + r", 'max_memory_allocated \(GB\)': " + NUM,
     ("allocated_bytes", "peak_bytes"), "gib", False),
    (r"GPU memory usage [^:]*: " + NUM + "GB", ("allocated_bytes",), "gib", True),
)
YOLO = re.compile(r"^ *(?P<epoch>[0-9]+)/[0-9]+ +" + NUM + r"G(?: +[0-9.e+-]+){5,6}(?: .*|:.* (?P<at>[0-9]+)/[0-9]+ \[.*)$")


def read_text_figures(counts, text):
    """Figures of each line, by TEXT; of a YOLO bar those of its first drawing for each step."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    last = None
    for line in re.split(r"[\r\n]+", text):
        for pattern, fields, unit, labelled in TEXT:
            for m in re.finditer(pattern, line):
                named = m.groupdict()
                values = [g for i, g in enumerate(m.groups(), 1) if i not in m.re.groupindex.values()]
                rank = int(named["rank"]) if named.get("rank") else None
                counts.records += not labelled
                counts.labels += labelled
                for field, value in zip(fields, values):
                    if value is None:
                        continue
                    got = figure(value, unit)
                    counts.text[field, labelled].append(got)
                    if rank is not None:
                        counts.ranks[rank, field] = counts.ranks.get((rank, field), 0) + 1
                if named.get("step"):
                    counts.steps.append(int(named["step"]))
        m = YOLO.match(line)
        if m and (m.group("at") is None or (m.group("epoch"), m.group("at")) != last):
            last = (m.group("epoch"), m.group("at"))
            counts.records += 1
            digits = m.group(2)
            counts.text["reserved_bytes", False].append(([float(digits) * 1e9], 10.0 ** -len(digits.partition(".")[2]) * 5e8))


def check_text(counts, program, path):
    """Every figure of every record, in order, against the file; and ranks, steps, errors."""
    done = run(program, "--to", "jsonl", str(path))
    got = [json.loads(line) for line in io.StringIO(done.stdout)]
    steps, events = [r for r in got if "event" not in r and "oomlog" not in r], [r for r in got if "event" in r]
    out = []
    for (field, labelled), want in sorted(counts.text.items()):
        have = [r[field] for r in steps if field in r and ("label" in r) == labelled]
        if len(have) != len(want):
            raise Wrong(f"{len(have)} figures of {field}, the file has {len(want)}")
        for i, (h, w) in enumerate(zip(have, want)):
            fits(h, w, f"{field} number {i + 1}")
        out.append(f"{len(have)} x {field}{' of checkpoints' if labelled else ''}, highest {max(have) / 2**30:.2f} GiB")
    memory = [r for r in steps if "label" not in r and any(f in r for f in MEMORY)]
    if len(memory) != counts.records:
        raise Wrong(f"{len(memory)} records with memory, the file has {counts.records}")
    for (rank, field), n in sorted(counts.ranks.items()):
        if sum(r.get("rank") == rank and field in r for r in steps) != n:
            raise Wrong(f"rank {rank} has not {n} figures of {field}")
    if counts.ranks:
        out.append(f"{len({r for r, _ in counts.ranks})} ranks")
    missing = set(counts.steps) - {r.get("step") for r in steps}
    if missing:
        raise Wrong(f"steps are missing: {sorted(missing)[:3]}")
    out += check_messages(counts, events) if counts.messages else []
    if not counts.messages and any(e["event"] == "oom" for e in events):
        raise Wrong(f"an error that the file has not: {events[0]}")
    if not counts.text and not counts.messages:
        if memory:
            raise Wrong("gives memory figures, the file has none")
        out += check_says_so(program, path, done.stderr)
    return "text: " + ", ".join(out)


def read_file(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
        if b'"traceEvents"' in data or b'"deviceProperties"' in data[:4096]:
            raise NotYet("a profiler's trace")
    if data[:1] == b"\x80":
        raise NotYet("a memory snapshot")
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace").replace("\0", "")
    try:
        return read_document(json.loads(text))
    except ValueError:
        pass
    lines = [line for line in text.splitlines() if line.strip()]
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            pass
    rows = [r for r in rows if isinstance(r, dict)]
    if lines and len(rows) * 10 >= len(lines) * 8:
        return read_rows("JSONL", rows)
    table = read_csv(lines) if "\r" not in text.replace("\r\n", "") and not YOLO.match(lines[0]) else None
    if table is not None:
        return table
    counts = Counts("text")
    counts.messages = read_messages(text)
    read_text_figures(counts, text)
    return counts


# --- the program --------------------------------------------------------------------------

def run(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True, errors="replace", timeout=120, check=False)


def converted(program, path):
    """Records and events that the program makes of a file, each with the rank of its header."""
    done = run(program, "--to", "jsonl", str(path))
    records, events, rank = [], [], None
    for line in io.StringIO(done.stdout):
        r = json.loads(line)
        if "oomlog" in r:
            rank = r.get("rank")
        elif "event" in r:
            events.append(r)
        elif "label" not in r:
            records.append((r.get("rank", rank), r))
    if done.returncode not in (0, 2) or done.returncode == 2 and records:
        raise Wrong(f"exit status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return records, events, done.stderr


def fits(got, want, what):
    candidates, error = want
    if not any(abs(got - c) <= error for c in candidates):
        raise Wrong(f"{what} is {got}, the file says {candidates[0]:.0f} +- {error:.0f}")


def check_figures(counts, records):
    text = []
    for (field, rank), want in sorted(counts.by_record().items(), key=str):
        if field == "reserved_bytes" and not any(field in r for _, r in records):
            field = "peak_reserved_bytes"  # some writers name the peak without saying so
        got = [r[field] for k, r in records if field in r and (rank is None or k == rank)]
        name = field + ("" if rank is None else f" of rank {rank}")
        if len(got) != len(want):
            raise Wrong(f"{len(got)} records with {name}, the file has {len(want)}")
        for where, g, w in (("first", got[0], want[0]), ("last", got[-1], want[-1]),
                            ("highest", max(got), max(want, key=lambda f: f[0][0]))):
            fits(g, w, f"{where} {name}")
        text.append(f"{len(got)} x {name}, highest {max(got) / 2**30:.2f} GiB")
    return text


def check_steps(counts, records):
    if counts.iterations and not all("step" in r for _, r in records if any(f in r for f in MEMORY)):
        raise Wrong("a record has no step, the file has iterations")
    if not counts.steps:
        return []
    got = [r["step"] for _, r in records if "step" in r]
    if set(got) != set(counts.steps):
        raise Wrong(f"{len(set(got))} distinct steps ({got[:1]} to {got[-1:]}), the file has "
                    f"{len(set(counts.steps))} ({counts.steps[0]} to {counts.steps[-1]})")
    return [f"{len(set(got))} steps"]


def check_messages(counts, events):
    ooms = [e for e in events if e["event"] == "oom"]
    distinct = set(counts.messages)
    missing = [m for m in distinct if not any(all(abs(e.get(k, -9) - v) <= 1 for k, v in m) for e in ooms)]
    if missing:
        raise Wrong(f"no event with {dict(missing[0])}")
    if len(ooms) > len(counts.messages):
        raise Wrong(f"{len(ooms)} events, the file has {len(counts.messages)} messages")
    return [f"{len(ooms)} out-of-memory events of {len(counts.messages)} messages"]


def check_says_so(program, path, err):
    """A file without memory figures: the report is refused, with the reason."""
    with tempfile.TemporaryDirectory() as out:
        done = run(program, "-o", out + "/report", str(path))
    if done.returncode != 2:
        raise Wrong(f"no memory figures, but exit status {done.returncode}")
    if "memory" not in (done.stderr + err).lower():
        raise Wrong("does not say that there are no memory figures")
    return ["says that it has no memory figures"]


def check_file(program, path):
    counts = read_file(path)
    if counts.kind == "text":
        return check_text(counts, program, path)
    records, _, err = converted(program, path)
    seen = any(f in r for _, r in records for f in MEMORY)
    if counts.figures and not seen and not counts.sure:
        counts.figures.clear()  # a bare name without a unit: a program may decline to guess
    text = check_figures(counts, records) + check_steps(counts, records)
    if not counts.figures:
        if seen:
            raise Wrong("gives memory figures, the file has none")
        text += check_says_so(program, path, err)
    return f"{counts.kind}: " + ", ".join(text)


# --- the two kinds of folder --------------------------------------------------------------

def check_logs(program, folder):
    passed = failed = 0
    for path in sorted(p for p in folder.iterdir() if p.is_file() and p.suffix != ".md"):
        try:
            text = check_file(program, path)
            passed += 1
            print(f"ok      {path.name}: {text}")
        except NotYet as kind:
            print(f"skipped {path.name}: not read yet ({kind})")
        except (Wrong, ValueError, KeyError, subprocess.TimeoutExpired) as wrong:
            failed += 1
            print(f"FAIL    {path.name}: {wrong}")
    return passed, failed


def check_cases(program, folder):
    right = wrong = 0
    blamed = []
    print(f"{'case':24}{'accepted':20}{'given':28}{'confidence':>10}")
    for truth_file in sorted(folder.glob("*/truth.json")):
        case, truth = truth_file.parent, json.loads(truth_file.read_text())
        logs = sorted(str(p) for p in case.iterdir() if p.is_file() and p.name != "truth.json")
        done = run(program, "--stdout", "json", *logs)
        try:
            verdict = json.loads(done.stdout)["verdict"]
        except (ValueError, KeyError):
            verdict = {"cause": f"exit status {done.returncode}", "subtype": None, "confidence": 0}
        good = verdict["cause"] in truth["accept"]
        right, wrong = right + good, wrong + (not good)
        if case.name.startswith("plateau-") and verdict["cause"] != "none":
            blamed.append(case.name)
        given = verdict["cause"] + (f"/{verdict['subtype']}" if verdict["subtype"] else "")
        print(f"{case.name:24}{','.join(truth['accept']):20}{given:28}{verdict['confidence']:>10.2f}"
              f"{'' if good else '  WRONG'}")
    least = math.ceil(17 / 23 * (right + wrong))
    if right < least:
        print(f"only {right} of {right + wrong} right, at least {least} wanted")
    for name in blamed:
        print(f"{name} is healthy and was given a cause")
    return right, wrong, right < least or bool(blamed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("bin", nargs="?", help="the program, where --program does not name it")
    args = parser.parse_args()
    program = args.program or args.bin
    if program is None or not args.dir.is_dir():
        parser.error("name a folder and the program")
    if any(args.dir.glob("*/truth.json")):
        passed, failed, bad = check_cases(program, args.dir)
    else:
        passed, failed = check_logs(program, args.dir)
        bad = failed > 0
    print(f"{passed} passed, {failed} failed")
    return 1 if bad or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
