"""The page about these commands: what it shows is what they print."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from equipoise.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "live" / "command-line.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def steps():
    """Files to write, and commands with what they print, in the order of the page."""
    for language, title, text in BLOCK.findall(PAGE.read_text()):
        if title:
            yield title, text
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, expected = part.partition("\n")
                yield shlex.split(line), expected


def test_the_page_shows_what_is_printed(tmp_path):
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    ran = 0
    for first, second in steps():
        if isinstance(first, str):
            (tmp_path / first).write_text(second)
            continue
        assert first[0] == "equipoise"
        result = CliRunner().invoke(main, first[1:])
        assert result.exit_code == 0, (first, result.output)
        assert checker.check_output(second, result.stdout, flags), (first, result.stdout)
        ran += 1
    assert ran > 10


@pytest.mark.parametrize("status", ["3", "4", "5", "6"])
def test_statuses_are_on_both_pages(status):
    for page in (PAGE, PAGE.parents[1] / "command-line.md"):
        assert re.search(rf"^\| {status} \|", page.read_text(), re.MULTILINE), page
