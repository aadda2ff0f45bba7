"""The built pages load nothing from a network, and their formulas are MathML."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Attributes and style rules that make a browser fetch something; plain links to read on do not.
FETCHES = re.compile(
    r'<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc="(?:https?:)?//[^"]*"'
    r'|<link\b[^>]*\bhref="(?:https?:)?//[^"]*"'
    r"|url\(\s*['\"]?(?:https?:)?//[^)]*\)"
    r"|@import\s+['\"]?(?:url\()?(?:https?:)?//[^;]*"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return target


def test_nothing_is_fetched(site):
    found = [
        (path.name, match)
        for path in [*site.rglob("*.html"), *site.rglob("*.css")]
        for match in FETCHES.findall(path.read_text())
    ]
    assert found == []


def test_formulas_are_mathml(site):
    pages = {path.name: path.read_text() for path in site.rglob("*.html")}
    assert pages["mathematics.html"].count("<math") > 50
    assert [name for name, text in pages.items() if "arithmatex" in text] == []


@pytest.mark.parametrize("kind", ["Experiment", "LiveExperiment"])
def test_the_reference_has_what_an_experiment_inherits(site, kind):
    page = (site / "reference.html").read_text()
    for method in ("ask", "estimates", "units", "lose_many", "received_many", "redact_many"):
        assert f'id="equipoise.{kind}.{method}"' in page


def test_sources_are_not_published(site):
    assert not (site / "hooks").exists()
    assert not (site / "tables").exists()


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://example.org/a.js">',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "@font-face { src: url(https://example.org/a.woff2) }",
    ],
)
def test_the_pattern_finds_what_it_should(html):
    assert FETCHES.search(html)
