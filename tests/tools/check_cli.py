#!/usr/bin/env python3
"""check_cli.py --program PROG --work DIR: settings and their layers, what a terminal sees, signals, --explain,
and the completions of shells. Last line: "N passed, N failed"."""
import argparse
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo"


class Check:
    def __init__(self, program, work):
        self.program, self.work, self.passed, self.failed = program, work, 0, 0

    def say(self, name, good, why=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print("FAILED: %s: %s" % (name, why))

    def run(self, *args, env=None, cwd=None, stdin=b""):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("OOMREPORT_") and k != "SOURCE_DATE_EPOCH"}
        return subprocess.run([str(self.program), *map(str, args)], capture_output=True, timeout=120, input=stdin,
                              env={**clean, **(env or {})}, cwd=cwd or self.work)

    def refused(self, name, words, *args, **kw):
        p = self.run(*args, **kw)
        last = p.stderr.decode().splitlines()[-1:] or [""]
        self.say(name, p.returncode == 2 and words in last[0] and not p.stdout, "%d: %s" % (p.returncode, p.stderr))


def settings(text):
    return dict(line.split(" = ", 1) for line in text.decode().splitlines() if " = " in line and line[0] != "#")


def layers(c):
    conf = c.work / "oomreport.conf"
    conf.write_text("\ufeff# settings\r\n\r\n  capacity = 40GiB\r\nredact=none\nstrict = yes\nplots = light\n", "utf-8")
    at = lambda *args, **env: settings(c.run("--print-config", *args, env=env).stdout)
    c.say("the file beats defaults", at()["redact"] == "none" and at()["strict"] == "yes", at())
    c.say("the environment beats the file", at(OOMREPORT_REDACT="all")["redact"] == "all")
    c.say("a flag is taken back", at(OOMREPORT_STRICT="off")["strict"] == "no")
    c.say("options beat the environment", at("--redact", "paths", OOMREPORT_REDACT="all")["redact"] == "paths")
    c.say("an empty variable says nothing", at(OOMREPORT_REDACT="")["redact"] == "none")
    c.say("--config none leaves the file out", at("--config", "none")["redact"] == "paths")
    c.say("OOMREPORT_CONFIG names a file", at(OOMREPORT_CONFIG="none")["redact"] == "paths")
    c.say("-v takes back a quiet of below", at("-v", OOMREPORT_QUIET="yes")["quiet"] == "no")
    printed = c.run("--print-config").stdout
    other = c.work / "printed.conf"
    other.write_bytes(printed)
    again = c.run("--print-config", "--config", other).stdout
    c.say("what is printed can be read again", settings(printed) == settings(again))
    c.say("where a setting comes from is printed", b"# oomreport.conf:3\ncapacity = 40GiB\n" in printed, printed)
    report = lambda *args, **env: json.loads(
        c.run("--stdout", "json", *args, DEMO / "seed1.jsonl", env=env).stdout)
    c.say("settings of the file are in force", report("--config", "none")["runs"][0]["capacity_bytes"] != 0)
    smi = c.work / "plain.csv"
    smi.write_text("step,allocated_bytes\n" + "".join("%d,%d\n" % (i, 10 ** 9) for i in range(50)))
    got = json.loads(c.run("--stdout", "json", smi).stdout)["runs"][0]["capacity_bytes"]
    c.say("a capacity of the file is used", got == 40 << 30, got)
    got = json.loads(c.run("--stdout", "json", smi, env={"OOMREPORT_CAPACITY": "10GiB"}).stdout)
    c.say("a capacity of the environment is used", got["runs"][0]["capacity_bytes"] == 10 << 30)
    for text, words in [("capcity = 1GiB", "c.conf:1: unknown key \"capcity\"; did you mean capacity?"),
                        ("\n\ncapacity = 1", "c.conf:3: --capacity: \"1\" is no size"),
                        ("force = perhaps", "neither yes nor no"), ("label =", "label needs a value"),
                        ("label", "no \"key = value\""), ("force = yes\nforce = no", "c.conf:2: force stands at"),
                        ("explain = leak", "explain belongs on the command line"),
                        ("config = x", "config belongs on the command line"), ("a\0b", "NUL byte")]:
        (c.work / "c.conf").write_text(text)
        c.refused("the file %r" % text, words, "--config", "c.conf", DEMO / "seed1.jsonl")
    c.refused("a file that is not there", "No such file", "--config", "nowhere.conf", DEMO / "seed1.jsonl")
    c.refused("an unknown variable", "OOMREPORT_CAPCITY: unknown key", DEMO / "seed1.jsonl",
              env={"OOMREPORT_CAPCITY": "1GiB"})
    conf.write_text("nonsense")
    c.say("--help needs no settings", c.run("--help").returncode == 0)
    conf.unlink()
    files = c.work / "list.txt"
    files.write_text("%s\r\n\n%s\n" % (DEMO / "seed1.jsonl", DEMO / "seed2.jsonl"))
    n = len(json.loads(c.run("--stdout", "json", "--files-from", files).stdout)["runs"])
    c.say("--files-from reads a list", n == 2, n)
    n = len(json.loads(c.run("--stdout", "json", "--files-from", "-", stdin=files.read_bytes()).stdout)["runs"])
    c.say("--files-from - reads it from standard input", n == 2, n)
    c.refused("a list of what is not there", "nowhere", "--files-from", "-", stdin=b"nowhere.jsonl\n")


def on_terminal(c, args, feed=(), env=None):
    """Both streams on one terminal; feed: (seconds to wait, bytes) for standard input."""
    main, side = pty.openpty()
    e = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    e.update({"TERM": "xterm"}, **(env or {}))
    p = subprocess.Popen([str(c.program), *map(str, args)], stdin=subprocess.PIPE, stdout=side, stderr=side, env=e,
                         cwd=c.work)
    os.close(side)
    for wait, data in feed:
        time.sleep(wait)
        p.stdin.write(data)
        p.stdin.flush()
    p.stdin.close()
    out = b""
    while select.select([main], [], [], 30)[0]:
        try:
            got = os.read(main, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
    os.close(main)
    return out, p.wait()


def terminal(c):
    log = (DEMO / "seed1.jsonl").read_bytes()
    report = ["--only", "txt", "--force", "-o", "t"]
    slow = [(1.2, log)]
    many = c.work / "many"
    many.mkdir()
    for i in range(3):
        shutil.copy(DEMO / ("seed%d.jsonl" % (i + 1)), many)
    two = ["-", many]
    out, _ = on_terminal(c, [*report, *two], slow)
    c.say("a terminal sees progress after a second", b"reading 2 of 4" in out, out)
    c.say("the line of progress is taken away", out.rfind(b"\r\x1b[K") > out.rfind(b"reading "), out)
    c.say("no progress within a second", b"reading" not in on_terminal(c, [*report, *two], [(0, log)])[0])
    for flag in ("--no-progress", "-q"):
        c.say("no progress with " + flag, b"reading" not in on_terminal(c, [*report, flag, *two], slow)[0])
    c.say("a terminal sees colour", b"\x1b[1m" in out)
    for name, args, env in [("NO_COLOR", [], {"NO_COLOR": "1"}), ("TERM=dumb", [], {"TERM": "dumb"}),
                            ("--color never", ["--color", "never"], {})]:
        out, _ = on_terminal(c, [*report, "--no-progress", *args, DEMO / "seed1.jsonl"], env=env)
        c.say("no colour with " + name, b"\x1b" not in out and b"leak" in out, out)
    out, _ = on_terminal(c, [*report, "--no-progress", DEMO / "seed1.jsonl"], env={"NO_COLOR": ""})
    c.say("an empty NO_COLOR says nothing", b"\x1b[1m" in out, out)
    p = c.run(*report, "-v", DEMO / "seed1.jsonl")
    c.say("a pipe sees neither", b"\x1b" not in p.stdout + p.stderr and b"\r" not in p.stdout + p.stderr)
    c.say("-v has a line for each input", b"seed1.jsonl: oomlog" in p.stderr, p.stderr)
    p = c.run(*report, DEMO / "seed1.jsonl")
    c.say("a run without trouble says nothing on standard error", p.stderr == b"", p.stderr)
    p = c.run(*report, "-q", DEMO / "seed1.jsonl")
    c.say("-q leaves one line", p.stdout.count(b"\n") == 1 and p.stderr == b"", p.stdout)


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def signals(c):
    here = c.work / "signals"
    here.mkdir()
    c.run("-o", "report", DEMO / "seed1.jsonl", cwd=here)
    before = tree(here)
    for number, status, word in [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")]:
        for wait in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2):
            p = subprocess.Popen([str(c.program), "-o", "report", "-", str(DEMO)], stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=here)
            p.stdin.write((DEMO / "seed1.jsonl").read_bytes())
            p.stdin.flush() if wait == 0.0 else p.stdin.close()
            time.sleep(max(wait, 0.05 if wait == 0.0 else 0))
            p.send_signal(number)
            err = p.stderr.read()
            code = p.wait()
            name = "%s after %g s" % (number.name, wait)
            if wait == 0.0:
                c.say(name + ": while reading", code == status, code)
            if code == status:
                c.say(name + ": message, old report whole, nothing beside it",
                      word in err and tree(here) == before, err)
            else:  # too late: the report was there already
                c.say(name + ": done", code == 0 and sorted(os.listdir(here)) == ["report"], (code, err))
                c.run("-o", "report", DEMO / "seed1.jsonl", cwd=here)
            c.say(name + ": nothing is left", sorted(os.listdir(here)) == ["report"], os.listdir(here))


def times(c):
    make = lambda *args, **env: c.run("--force", "-o", "time", "--only", "html,txt,md,json", *args,
                                      DEMO / "seed1.jsonl", env=env) and tree(c.work / "time")
    usual = make()
    c.say("no time by default", not re.search(rb"20[0-9][0-9]-[01][0-9]-[0-3][0-9]T", usual["index.html"]))
    epoch = make(SOURCE_DATE_EPOCH="1700000000")
    c.say("SOURCE_DATE_EPOCH is printed", b"2023-11-14T22:13:20Z" in epoch["index.html"])
    c.say("--timestamp comes first", b"2024-05-01T12:00:00Z" in make(
        "--timestamp", "2024-05-01T12:00:00Z", SOURCE_DATE_EPOCH="1700000000")["index.html"])
    c.say("other time zone, same bytes", make(TZ="Asia/Tokyo", LC_ALL="de_DE.UTF-8") == usual)


def explanations(c):
    schema = (ROOT / "templates" / "report.schema.json").read_text()
    table = json.loads(schema)
    found = {"cause": set(), "subtype": set()}

    def walk(node):
        if isinstance(node, dict):
            for key in found if all(isinstance(node.get(k, {}), dict) for k in found) else ():
                enum = node.get(key, {}) if "enum" in node.get(key, {}) else node.get("properties", {}).get(key, {})
                for e in [enum, *enum.get("anyOf", []), *enum.get("oneOf", [])]:
                    found[key].update(w for w in e.get("enum", []) if w)
            for v in node.values():
                walk(v)
        elif isinstance(node, list):
            for v in node:
                walk(v)
    walk(table)
    for key, least in (("cause", 6), ("subtype", 20)):
        c.say("the schema has every " + key, len(found[key]) >= least, found[key])
        for word in sorted(found[key]):
            p = c.run("--explain", word)
            c.say("--explain %s" % word, p.returncode == 0 and b"What to do: " in p.stdout, p.stderr)
    c.refused("--explain of no word", "did you mean leak", "--explain", "leek")


def completions(c):
    build = c.program.parent
    options = re.findall(r"--([a-z][a-z-]+)", "\n".join(
        line for line in c.run("--help").stdout.decode().splitlines() if re.match(r"  (-\w, |    )--", line)))
    options = [o for i, o in enumerate(options) if o not in options[:i]]
    table = re.findall(r'^OPTION\([A-Z_]+, "([a-z-]+)"', (ROOT / "src/cli/options.def").read_text(), re.M)
    c.say("--help has every option", set(table) <= set(options), set(table) - set(options))
    forms = {"bash": "--%s", "zsh": "--%s[=[]", "fish": "-l %s "}
    for shell, form in forms.items():
        path = build / ("oomreport." + shell)
        text = path.read_text()
        lacking = [o for o in table if not re.search(re.escape(form % o) if shell != "zsh" else form % o, text)]
        c.say("%s completes every option" % shell, not lacking, lacking)
        if shell == "bash" or shutil.which(shell):
            p = subprocess.run([shell, "-n", str(path)], capture_output=True)
            c.say("%s parses its completion" % shell, p.returncode == 0, p.stderr)

    def bash(*words):
        script = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _oomreport; printf "%s\\n" "${COMPREPLY[@]}"'
        return subprocess.run(["bash", "-c", script, str(build / "oomreport.bash"), "oomreport", *words],
                              capture_output=True, text=True, cwd=DEMO).stdout.split()
    c.say("bash completes names of options", bash("--reda") == ["--redact"], bash("--reda"))
    c.say("bash completes values", bash("--redact", "") == ["none", "paths", "all"])
    c.say("bash completes values behind =", bash("--redact", "=", "p") == ["paths"])
    c.say("bash completes causes", "capacity/fragmentation" in bash("--explain", "cap"))
    c.say("bash completes files", "seed1.jsonl" in bash("see"))
    if shutil.which("fish"):
        p = subprocess.run(["fish", "-c", "source %s; complete -C 'oomreport --redact '" % (build / "oomreport.fish")],
                           capture_output=True, text=True, env={**os.environ, "HOME": str(c.work)})
        c.say("fish completes values", [line.split("\t")[0] for line in p.stdout.splitlines()] == ["all", "none", "paths"],
              p.stdout + p.stderr)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", required=True, type=pathlib.Path)
    p.add_argument("--work", required=True, type=pathlib.Path)
    a = p.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    c = Check(a.program.resolve(), a.work.resolve())
    for part in (layers, terminal, signals, times, explanations, completions):
        part(c)
    print("%d passed, %d failed" % (c.passed, c.failed))
    return c.failed != 0


if __name__ == "__main__":
    sys.exit(main())
