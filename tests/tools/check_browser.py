#!/usr/bin/env python3
"""check_browser.py --program PROG --work DIR: reports of the demo, of one run, of 64 ranks and of a snapshot
in headless Chromium, under the policies of real viewers. Leaves screenshots in DIR. Last line: "N passed, N failed"."""
import argparse
import functools
import html.parser
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import devtools

JENKINS = "sandbox; default-src 'none'; img-src 'self'; style-src 'self';"
CARD = "section[aria-labelledby=verdict]"
VOID = {"meta", "link", "img", "br", "hr", "wbr", "source", "col"}


class Page(html.parser.HTMLParser):
    """What a page loads, links to and holds."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.loads, self.bad = [], set(), [], [], []
        self.stack = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag not in VOID:
            self.stack.append(tag)
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.bad.append(f"id {attrs['id']} twice")
            self.ids.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        for name in ("src", "srcset", "poster", "data"):
            if name in attrs:
                self.loads.append(attrs[name])
        if tag == "link":
            self.loads.append(attrs.get("href", ""))
        for name in attrs:
            if name == "style" or name.startswith("on") or name in ("bgcolor", "target"):
                self.bad.append(f"<{tag} {name}=>")
        if tag == "img" and not attrs.get("alt"):
            self.bad.append("an image without alt")
        if tag == "th" and "scope" not in attrs:
            self.bad.append("a th without scope")

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self.bad.append(f"</{tag}> where another tag is open")

    def count(self, tag):
        return sum(t == tag for t, _ in self.tags)


class Server:
    """Serves a folder as a CI server does: with a policy, perhaps without its pictures."""

    def __init__(self, folder, policy, only_html=False):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                if only_html and not self.path.endswith(".html"):
                    self.send_error(403)
                else:
                    super().do_GET()

            def end_headers(self):
                if policy:
                    self.send_header("Content-Security-Policy", policy)
                super().end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Checker:
    def __init__(self, browser, work):
        self.browser, self.work, self.report, self.of = browser, work, None, ""
        self.passed = self.failed = 0

    def check(self, name, problems):
        problems = list(problems)
        if problems:
            self.failed += 1
            print(f"FAILED: {self.of}: {name}")
            for p in problems[:8]:
                print(f"  {p}")
        else:
            self.passed += 1

    def complaints(self, events):
        """What the console says, and what could not be loaded."""
        for e in events:
            params = e.get("params", {})
            if e.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                if "favicon" not in params["entry"].get("url", ""):
                    yield f"console: {params['entry']['text']}"
            elif e.get("method") == "Network.responseReceived" and params["response"]["status"] >= 400:
                if "favicon" not in params["response"]["url"]:
                    yield f"{params['response']['status']}: {params['response']['url']}"

    def first_screen(self, bottom):
        """The card: heading, first fix and facts end above `bottom`."""
        found = [n for s in (CARD + " h1", CARD + " dl.facts") for n in self.browser.nodes(s)]
        if len(found) < 2:
            yield "no verdict card with facts"
        for node in found:
            box = self.browser.box(node)
            if box is None:
                yield "a part of the verdict card is not shown"
            elif box[3] > bottom:
                yield f"a part of the verdict card ends at y = {box[3]:.0f}, below {bottom}"

    def no_overflow(self, width):
        got = self.browser.content_size()[0]
        if got > width:
            yield f"the page is {got:.0f} px wide, the window {width}"

    def pictures(self):
        shown = 0
        for node in self.browser.nodes("figure img"):
            box = self.browser.box(node)
            if box is None:
                continue
            shown += 1
            if box[2] - box[0] < 100 or box[3] - box[1] < 40:
                yield f"a picture of {box[2] - box[0]:.0f} x {box[3] - box[1]:.0f} px"
        if shown == 0:
            yield "no picture is shown"

    def dark(self):
        node = self.browser.nodes("body")[0]
        colour = [int(float(c)) for c in re.findall(r"[\d.]+", self.browser.style(node, "background-color"))[:3]]
        if max(colour, default=255) > 80:
            yield f"background {colour} on a dark screen"

    def served(self, policy, what):
        server = Server(self.report, policy)
        try:
            for width, height, dark in ((1280, 720, False), (390, 844, False), (1280, 720, True)):
                events = self.browser.open(server.url + "/index.html", width, height, dark)
                name = f"index.html, {what}, {width}x{height}{', dark' if dark else ''}"
                self.check(f"{name}: loads without a complaint", self.complaints(events))
                self.check(f"{name}: the verdict is on the first screen", self.first_screen(height))
                self.check(f"{name}: nothing sticks out", self.no_overflow(width))
                self.check(f"{name}: pictures are shown", self.pictures())
                if dark:
                    self.check(f"{name}: dark", self.dark())
                self.browser.screenshot(self.work / f"{self.of}-{width}{'-dark' if dark else ''}.png")
            pdf = self.browser.pdf()
            self.check(f"index.html, {what}: prints", [] if pdf.startswith(b"%PDF") else ["no PDF"])
        finally:
            server.close()

    def before_appendix(self):
        """With many ranks three screens say what there is to say."""
        self.browser.open((self.report / "index.html").resolve().as_uri(), 1280, 720)
        tops = [self.browser.box(node)[1] for node in self.browser.nodes("#appendix")]
        self.check("the appendix begins within three screens", [f"it begins at {t:.0f} px" for t in tops if t > 3 * 720] +
                   ([] if tops else ["there is none"]))

    def without_assets(self):
        server = Server(self.report, "sandbox;", only_html=True)
        try:
            self.browser.open(server.url + "/index.html", 1280, 720)
            self.check("index.html without style and pictures: the verdict is there", self.first_screen(2000))
        finally:
            server.close()

    def alone(self):
        folder = self.work / "alone"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(self.report / "oomreport.html", folder)
        self.browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1,
                          uploadThroughput=-1)
        events = self.browser.open((folder / "oomreport.html").resolve().as_uri(), 1280, 720)
        requests = [e["params"]["request"]["url"] for e in events if e.get("method") == "Network.requestWillBeSent"]
        other = [u[:80] for u in requests if not u.startswith("data:") and not u.endswith("/oomreport.html")]
        self.check("oomreport.html alone and offline: loads without a complaint", self.complaints(events))
        self.check("oomreport.html alone: asks for nothing else", other)
        self.check("oomreport.html alone: the verdict is on the first screen", self.first_screen(720))
        self.check("oomreport.html alone: pictures are shown", self.pictures())
        self.browser.screenshot(self.work / f"{self.of}-single.png")
        self.browser.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1,
                          uploadThroughput=-1)

    def markup(self, name):
        text = (self.report / name).read_text(encoding="utf-8")
        page = Page(text)
        problems = page.bad + [f"<{t}> is not closed" for t in page.stack]
        problems += [f"<{t}>" for t in ("script", "iframe", "object", "embed", "form", "base") if page.count(t)]
        if page.count("h1") != 1:
            problems.append(f"{page.count('h1')} h1")
        if page.tags[0] != ("html", {"lang": "en"}):
            problems.append("no <html lang>")
        if page.count("table") != page.count("caption"):
            problems.append("a table without a caption")
        if name == "index.html":
            problems += ["<style>"] if page.count("style") else []
            problems += [f"loads {u[:60]}" for u in page.loads if ":" in u or u.startswith("/")]
            problems += [f"loads {u}, which is not there" for u in page.loads if not (self.report / u).is_file()]
        else:
            problems += [f"loads {u[:60]}" for u in page.loads if not u.startswith("data:image/png;base64,")]
        for link in page.links:
            if link.startswith("#"):
                problems += [] if link[1:] in page.ids else [f"link to {link}, which is not there"]
            elif re.match(r"[a-z]+:|/", link):
                problems.append(f"link to {link}")
            elif not re.search(r"\.(json|md|html|png|txt)$", link):
                problems.append(f"link to {link}: viewers do not open it")
            elif name == "index.html" and not (self.report / link).is_file():
                problems.append(f"link to {link}, which is not there")
        self.check(f"{name}: markup", problems)
        if shutil.which("tidy"):
            done = subprocess.run(["tidy", "-errors", "-quiet", "-utf8", "--new-inline-tags", "data", str(self.report / name)], capture_output=True,
                                  text=True, check=False)
            self.check(f"{name}: tidy", [line for line in done.stderr.splitlines() if "Error:" in line])
        else:
            self.check(f"{name}: tidy", ["tidy is missing: make deps check"])

    def sizes(self):
        limits = {"index.html": 150 << 10, "style.css": 12 << 10, "oomreport.html": 1536 << 10, "verdict.png": 150 << 10,
                  "summary.md": 8 << 10, "summary.txt": 4 << 10, "report.json": 2 << 20, "data/series.json": 1 << 20}
        limits.update({str(p.relative_to(self.report)): 150 << 10 for p in (self.report / "plots").glob("*.png")})
        problems = []
        for name, limit in limits.items():
            path = self.report / name
            if not path.is_file():
                problems.append(f"{name} is missing")
            elif path.stat().st_size > limit:
                problems.append(f"{name} has {path.stat().st_size} bytes, more than {limit}")
        self.check("sizes", problems)


def ranks(folder, n=64, steps=200):
    """A job of which one rank grows until it fails; the others stop with it."""
    folder.mkdir()
    for rank in range(n):
        rows = [{"oomlog": 1, "run": "pretrain", "seed": 1, "rank": rank, "world_size": n, "device": "NVIDIA H100 80GB HBM3",
                 "capacity_bytes": 79 << 30}]
        for i in range(steps):
            held = (20 << 30) + (rank % 7 << 28) + (i * 250 << 20 if rank == 27 else 0)
            rows.append({"step": i, "allocated_bytes": held, "peak_bytes": held + (7 << 30) + (i * 37 % 11 << 24),
                         "reserved_bytes": held + (8 << 30), "batch_size": 4, "max_len": 4096})
        if rank == 27:
            rows.append({"event": "oom", "step": steps, "phase": "train", "requested_bytes": 3 << 30,
                         "message": "CUDA out of memory. Tried to allocate 3.00 GiB."})
        (folder / f"rank{rank}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    shutil.rmtree(args.work, ignore_errors=True)
    args.work.mkdir(parents=True)
    demo, program = root / "fixtures" / "demo", os.path.abspath(args.program)
    logs = sorted(p for p in demo.iterdir() if p.suffix in (".jsonl", ".csv"))
    inputs = {"demo": logs, "one": logs[:1], "ranks": [ranks(args.work / "logs")],
              "snapshot": [root / "fixtures" / "snapshots" / "leak-eval.pickle"]}
    for of, files in inputs.items():
        made = subprocess.run([program, "-o", str(args.work / of), *map(str, files)], capture_output=True, check=False)
        if made.returncode != 0 or not devtools.find_browser():
            print(made.stderr.decode(errors="replace") if made.returncode else "no chromium: make deps check")
            print("0 passed, 1 failed")
            return 1
    browser = devtools.Browser(args.work.resolve() / "profile")
    checker = Checker(browser, args.work)
    try:
        for checker.of in inputs:
            checker.report = args.work / checker.of
            checker.served(JENKINS, "Jenkins' policy")
            if checker.of == "ranks":
                checker.before_appendix()
            if checker.of in ("demo", "ranks"):
                checker.without_assets()
                checker.alone()
    finally:
        browser.close()
    for checker.of in inputs:
        checker.report = args.work / checker.of
        for name in ("index.html", "oomreport.html"):
            checker.markup(name)
        checker.sizes()
    shutil.rmtree(args.work / "profile", ignore_errors=True)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
