"""Tables as journals set them: LaTeX with the rules of the package booktabs, and every name escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    '"': r"\textquotedbl{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "²": "$^2$",
    "³": "$^3$",
    "σ": r"$\sigma$",
    "β": r"$\beta$",
    "λ": r"$\lambda$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "°": r"$^\circ$",
    "…": r"\dots{}",
    "\n": " ",
}
_SYMBOL = re.compile(r"\bp(?= (&|\\\\))")
# A hyphen in front of a number is a minus sign.
_MINUS = re.compile(r"(?<![\w.)\]])-(?=\d|\.\d|inf)")


def latex_text(text: str) -> str:
    r"""The same for LaTeX to print.

    >>> print(latex_text("dose_1 & 5 % [mg]"), latex_text("-0.5 to 1e-7"), latex_text("p < 0.001"))
    dose\_1 \& 5 \% [mg] $-$0.5 to 1e-7 p $<$ 0.001
    """
    return "".join(_SPECIAL.get(sign, sign) for sign in _MINUS.sub("−", text))


def latex_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    notes: Sequence[str] = (),
    caption: str | None = None,
    label: str | None = None,
) -> str:
    r"""Rows between rules: the first ``left`` columns to the left, numbers to the right.

    With a caption or a label it is a float with the notes below, else a ``tabular`` to be put into one, with
    the notes as comments. Needs ``\usepackage{booktabs}``.

    >>> print(latex_table(["arm", "units"], [["low_dose", "12"]], caption="Units", label="tab:units"))
    \begin{table}
      \centering
      \caption{Units}
      \label{tab:units}
      \begin{tabular}{lr}
        \toprule
        arm & units \\
        \midrule
        low\_dose & 12 \\
        \bottomrule
      \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    inner = [
        rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(header) - left)}}}",
        r"  \toprule",
        f"  {_SYMBOL.sub('$p$', _line(header))}",
        r"  \midrule",
        *(f"  {_line(row)}" for row in rows),
        r"  \bottomrule",
        r"\end{tabular}",
    ]
    if caption is None and label is None:
        comments = [f"% {' '.join(note.split())}" for note in notes]
        return "\n".join([*comments, *inner]) + "\n"
    outer = [r"\centering"]
    if caption is not None:
        outer.append(rf"\caption{{{latex_text(caption)}}}")
    if label is not None:
        outer.append(rf"\label{{{label}}}")
    outer += inner
    if notes:
        outer += [r"\par\smallskip", rf"{{\footnotesize {' '.join(map(latex_text, notes))}\par}}"]
    return "\n".join([r"\begin{table}", *(f"  {line}" for line in outer), r"\end{table}"]) + "\n"


def _line(cells: Sequence[str]) -> str:
    texts = [latex_text(cell) for cell in cells]
    if texts and texts[0].startswith(("[", "*")):
        texts[0] = "{}" + texts[0]  # behind \\ they would be read as its arguments
    return " & ".join(texts) + r" \\"
