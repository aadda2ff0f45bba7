"""What tests of reports share: pages taken apart, and a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

EVIL = "<script>alert('x')</script> & \"co\""
VOID = {"meta", "link", "br", "wbr", "img"}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Collects what a page holds, and fails on tags that do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.links = [], [], [], []
        self.words, self.cells, self.drawn, self.metadata = [], [], [], None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        values = dict(attributes)
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [values[name] for name in ("src", "href", "xlink:href", "action") if name in values]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "script":
            self.is_data = values.get("type") == "application/json"

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, text):
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            if self.is_data:
                self.metadata = json.loads(text)
        elif inside != "style":
            self.words.append(text)
            if inside == "text":
                self.drawn.append(text)
            if "td" in self.open or "th" in self.open:
                self.cells[-1] += text.replace("\xa0", " ")

    @property
    def text(self):
        return " ".join(" ".join(self.words).replace("\xa0", " ").split())


def fetched(text):
    """Everything in a page that a browser would load from elsewhere."""
    links = [link for link in Page(text).links if not link.startswith(("#", "data:"))]
    return links + re.findall(r"url\((?!#)[^)]*\)|@import[^;]*|https?://\S+", text)


def seen_by_browser(path, folder):
    """The page as Chromium builds it, without a word on the console."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    profile = f"--user-data-dir={folder / 'profile'}"
    logging = ["--enable-logging=stderr", "--v=0"]
    seen = subprocess.run(
        [CHROMIUM, *flags, profile, *logging, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "CONSOLE" not in seen.stderr
    return seen.stdout


def measured_by_browser(path, folder, *, width, dark=False):
    """What a script in the page wrote into its title, in a window of a width and a colour scheme."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [CHROMIUM, *flags, profile, scheme, f"--window-size={width},900", "--dump-dom", path.as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    return json.loads(re.search("<title>(.*?)</title>", seen, re.DOTALL)[1])
