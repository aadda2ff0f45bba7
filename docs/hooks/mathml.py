"""Formulas become MathML while the pages are built, so readers need neither JavaScript nor a network."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
_NUMBER = re.compile(r"\\tag\{([^}]*)\}")
# What a browser would show as something else: alphabets chosen by an attribute, unknown commands,
# alignment marks.
_UNREADABLE = re.compile(r'mathvariant="(?!normal)|\\|<mi>&(?:amp;)?</mi>')
_WORD_OPERATOR = re.compile(r"<mo>([A-Za-z]{2,})</mo>")
_CAPITAL_GREEK = re.compile(r"<mi>(&#x0039[1-9A-F];|&#x003A[0-9];)</mi>")


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the HTML of every page."""
    try:
        return _FORMULA.sub(lambda found: _formula(html.unescape(found["latex"]), found["tag"]), content)
    except ValueError as error:
        raise PluginError(f"{page.file.src_path}: {error}") from error


def to_mathml(latex: str, display: str = "inline") -> str:
    r"""One formula.

    >>> to_mathml("k^2")[66:]
    '<mrow><msup><mi>k</mi><mn>2</mn></msup></mrow></math>'
    >>> to_mathml(r"\nonsense")
    Traceback (most recent call last):
        ...
    ValueError: no MathML for '\\nonsense'
    """
    mathml = convert(latex, display=display)
    if _UNREADABLE.search(mathml):
        raise ValueError(f"no MathML for {latex!r}")
    # Words are set like functions, and capital Greek letters upright, as TeX does.
    mathml = _WORD_OPERATOR.sub(r"<mi>\1</mi>", mathml)
    mathml = mathml.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")  # \sim is a relation
    return _CAPITAL_GREEK.sub(r'<mi mathvariant="normal">\1</mi>', mathml)


def _formula(latex: str, tag: str) -> str:
    latex = latex.strip()
    if tag == "span":
        return to_mathml(latex)
    number = _NUMBER.search(latex)
    formula = to_mathml(_NUMBER.sub("", latex).strip(), "block")
    return f'<div class="formula">{formula}<span>{f"({number[1]})" if number else ""}</span></div>'
