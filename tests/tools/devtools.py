"""A small client of Chromium's developer protocol over a pipe: no package needed.

Scripts stay off in the pages that are looked at; what they look like is asked through the DOM,
CSS and Page domains.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import time


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    def __init__(self, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def place():  # the protocol's pipes are descriptors 3 and 4
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            close_fds=False, preexec_fn=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=str(profile)))
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.events, self.session, self.root = b"", 0, [], None, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "DOM", "CSS"):
            self.call(domain + ".enable")
        self.call("Emulation.setScriptExecutionDisabled", value=True)

    def receive(self, seconds):
        limit = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = limit - time.monotonic()
            if left <= 0 or not select.select([self.from_read], [], [], left)[0]:
                return None
            chunk = os.read(self.from_read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(30)
            if answer is None:
                raise RuntimeError(f"{method}: no answer")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, height, dark=False):
        """Loads a page; returns the events until it was loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media="",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events, self.root = [], None
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            event = self.receive(30)
            if event is None:
                raise RuntimeError(f"{url}: not loaded")
            self.events.append(event)
        while True:
            event = self.receive(0.2)
            if event is None:
                return self.events
            self.events.append(event)

    def nodes(self, selector):
        if self.root is None:  # asked for once: a new root makes the nodes of the old one unknown
            self.root = self.call("DOM.getDocument")["root"]["nodeId"]
        return self.call("DOM.querySelectorAll", nodeId=self.root, selector=selector)["nodeIds"]

    def box(self, node):
        """(left, top, right, bottom) in CSS px, or None when it is not shown."""
        try:
            quad = self.call("DOM.getBoxModel", nodeId=node)["model"]["border"]
        except RuntimeError:
            return None
        return min(quad[::2]), min(quad[1::2]), max(quad[::2]), max(quad[1::2])

    def style(self, node, name):
        for entry in self.call("CSS.getComputedStyleForNode", nodeId=node)["computedStyle"]:
            if entry["name"] == name:
                return entry["value"]
        return None

    def content_size(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return size["width"], size["height"]

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except RuntimeError:
            self.process.terminate()
        self.process.wait(20)
        os.close(self.to_write)
        os.close(self.from_read)
