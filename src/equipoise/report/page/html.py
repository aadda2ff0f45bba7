"""A report as one HTML page: style, drawings and data inside, nothing to fetch."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby

from equipoise.report.document import Block, Code, Figure, Points, Report, Section, Table, Text
from equipoise.report.figures import isolated
from equipoise.studies.colours import dark_rules
from equipoise.version import __version__

# Pixels a point: letters of 10 points are then 9 pixels high.
_LEAST_SCALE = 0.88
_MINUS = re.compile(r"(?<![^\s(])-(?=[\d.])")
# Sections from which on a page has a table of contents.
_MANY = 12


def render(report: Report) -> str:
    """The page, as text."""
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    body = list(_body(report))
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f'<meta name="generator" content="equipoise {escape(__version__)}">'
    # Browsers ask for /favicon.ico unless a page brings its own.
    yield '<link rel="icon" href="data:,">'
    yield f"<title>{escape(report.title)}</title>"
    yield f"<style>\n{_part('style.css')}{dark_rules(chr(10).join(body))}\n</style>"
    yield "</head>"
    yield from body
    yield "</html>"


def _body(report: Report) -> Iterator[str]:
    yield "<body>"
    yield "<main>"
    yield "<header>"
    yield f"<h1>{escape(report.title)}</h1>"
    if report.subtitle:
        yield f'<p class="subtitle">{escape(report.subtitle)}</p>'
    for warning in report.warnings:
        yield f'<p class="warning" role="note"><strong>Warning.</strong> {_text(warning)}</p>'
    if report.headline:
        yield f'<p class="headline">{_text(report.headline)}</p>'
    if report.summary:
        yield f'<p class="summary">{_text(report.summary)}</p>'
    yield "</header>"
    numbers = iter(range(1, 10**6))
    sections = [*report.sections, *_closing(report)]
    if len(sections) >= _MANY:
        yield from _contents(sections)
    for place, section in enumerate(sections):
        yield from _section(section, place, numbers)
    yield "</main>"
    yield f"<footer>equipoise {escape(__version__)}</footer>"
    yield f'<script type="application/json" id="equipoise-metadata">{_json(report)}</script>'
    yield f"<script>\n{_part('copy.js')}</script>"
    yield "</body>"


def _part(name: str) -> str:
    return (files("equipoise.report.page") / name).read_text(encoding="utf-8")


def _closing(report: Report) -> Iterator[Section]:
    if report.settings:
        rows = [[name, value] for name, value in report.settings.items()]
        yield Section("Settings", [Table(["setting", "value"], rows, text_columns=2)])
    if report.again:
        yield Section("Run it again", report.again)


def _contents(sections: Sequence[Section]) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ol>'
    for place, section in enumerate(sections):
        yield f'<li><a href="#section-{place + 1}">{escape(section.title)}</a></li>'
    yield "</ol></nav>"


def _section(section: Section, place: int, numbers: Iterator[int]) -> Iterator[str]:
    yield f'<section id="section-{place + 1}">'
    yield f"<h2>{escape(section.title)}</h2>"
    # Half-width figures that follow each other share a row on wide screens.
    for paired, blocks in groupby(section.blocks, key=lambda b: isinstance(b, Figure) and not b.wide):
        group = list(blocks)
        if paired:
            yield '<div class="figures">' if len(group) > 1 else '<div class="figures single">'
        for block in group:
            yield _block(block, numbers)
        if paired:
            yield "</div>"
    yield "</section>"


def _block(block: Block, numbers: Iterator[int]) -> str:
    if isinstance(block, Text):
        return f"<p>{_text(block.text)}</p>"
    if isinstance(block, Points):
        return "<ul>\n" + "\n".join(f"<li>{_text(text)}</li>" for text in block.texts) + "\n</ul>"
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Code):
        caption = f"<p>{escape(block.caption)}</p>\n" if block.caption else ""
        return (
            f'{caption}<div class="code"><button type="button" class="copy" hidden>Copy</button>'
            f'<pre tabindex="0"><code>{escape(block.text)}</code></pre></div>'
        )
    return _figure(block, next(numbers))


def _table(table: Table) -> str:
    caption = f"<caption><span>{escape(table.caption)}</span></caption>" if table.caption else ""
    kinds = ["" if place < table.text_columns else ' class="number"' for place in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{kind}>{_cell(name)}</th>' for kind, name in zip(kinds, table.columns, strict=True)
    )
    body = "\n".join(f"<tr>{_row(kinds, row)}</tr>" for row in table.rows)
    # The frame scrolls sideways on a phone; tabindex lets a keyboard scroll it too.
    return (
        f'<div class="table" tabindex="0"><table>{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _row(kinds: Sequence[str], row: Sequence[str]) -> str:
    first, *rest = row
    cells = [f'<th scope="row">{_cell(first)}</th>']
    for kind, cell in zip(kinds[1:], rest, strict=True):
        # A hyphen is too short for a minus sign.
        cells.append(f"<td{kind}>{_cell(_MINUS.sub('−', cell) if kind else cell)}</td>")
    return "".join(cells)


def _text(text: str) -> str:
    # A number stays together with its error and its unit.
    return escape(text).replace(" ± ", "&nbsp;±&nbsp;").replace(" %", "&nbsp;%")


def _cell(text: str) -> str:
    # Long policy specs may break at their colons instead of stretching the table.
    return _text(text).replace(":", ":<wbr>").replace("\n", "<br>")


def _figure(figure: Figure, number: int) -> str:
    if isinstance(figure.image, bytes):
        data = base64.b64encode(figure.image).decode("ascii")
        source = f"data:image/png;base64,{data}"
        image = f'<img alt="{escape(figure.description)}" src="{source}">'
    else:
        drawing = isolated(figure.image, f"figure-{number}", escape(figure.description))
        image = f'<div class="drawing" tabindex="0">{_held(drawing)}</div>'
    kind = ' class="wide"' if figure.wide else ""
    return (
        f"<figure{kind}>{image}\n"
        f"<figcaption><b>Figure {number}.</b> {escape(figure.caption)}</figcaption></figure>"
    )


def _held(svg: str) -> str:
    """The drawing with the least width at which its letters can be read: narrower screens scroll."""
    width = re.match(r'<svg [^>]*?\bwidth="([\d.]+)pt"', svg)
    least = f' style="min-width: {float(width[1]) * _LEAST_SCALE:.0f}px"' if width else ""
    return svg.replace("<svg ", f"<svg{least} ", 1)


def _json(report: Report) -> str:
    # Inside a script element only "<" can end the text, and JSON can spell it otherwise.
    return json.dumps(dict(report.metadata), ensure_ascii=False).replace("<", "\\u003c")
