"""Runs the Python in README.md and the pages: plain blocks must run, ``>>>`` blocks print what they show.

A page is one test with one namespace, so that its blocks stay together and in order when tests are
spread over processes. The namespace is a module, so that what a page defines can be pickled.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from doctest import ELLIPSIS
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sybil import Document, Example, Sybil
from sybil.evaluators.python import pad
from sybil.example import SybilFailure
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser


def _run_block(example: Example) -> None:
    source = pad(example.parsed, example.line + example.parsed.line_offset)
    # A name of its own for every block: whoever looks for the source finds Python, not Markdown.
    name = f"<{Path(example.path).name}, line {example.line}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec", dont_inherit=True), example.namespace)


def _parser(language: str) -> PythonCodeBlockParser:
    parser = PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)
    parser.codeblock_parser = CodeBlockParser(language, _run_block)
    return parser


_PAGES = Sybil(
    parsers=[_parser("python"), _parser("pycon")], patterns=["README.md", "docs/*.md", "docs/*/*.md"]
)


class Page(pytest.File):
    """One Markdown file."""

    def collect(self) -> Any:
        """Yield one test, or none for a page without code."""
        document = _PAGES.parse(self.path)
        if document.regions:
            yield PageExamples.from_parent(self, name="examples", document=document)


class PageExamples(pytest.Item):
    """All examples of a page, from top to bottom."""

    def __init__(self, *, document: Document, **rest: Any) -> None:
        super().__init__(**rest)
        self.document = document

    def runtest(self) -> None:
        """Evaluate every example; the first failure ends the page."""
        module = ModuleType(f"page_{self.path.stem}")
        self.document.namespace = vars(module)
        sys.modules[module.__name__] = module
        try:
            for example in self.document.examples():
                example.evaluate()
        finally:
            del sys.modules[module.__name__]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what the page promised and what it got."""
        if isinstance(excinfo.value, SybilFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where pytest says a failure is."""
        return self.path, 0, self.path.name


@pytest.fixture(autouse=True)
def _policies_of_examples(request: pytest.FixtureRequest) -> Iterator[None]:
    """What an example in a docstring registers is gone when it ends: tests after it look at all policies."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    from equipoise.core.policies.base.policy import known_policies, restore_policies

    known = known_policies()
    yield
    restore_policies(known)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    """Called by pytest for every file."""
    return Page.from_parent(parent, path=file_path) if _PAGES.should_parse(file_path) else None
