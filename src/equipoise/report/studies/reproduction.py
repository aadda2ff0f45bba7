"""The report of a reproduction: figures, and the paper's claims with what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.report.document import Block, Code, Report, Section, Table, Text
from equipoise.report.figures import figure_of_file
from equipoise.studies.reproduce import Finding, Reproduction, SparseResult
from equipoise.studies.verdicts import Verdict
from equipoise.words import counted

_CAPTIONS = {
    "figure1": "Figure 1 of the paper, redrawn. Bands are two standard errors.",
    "figure2": "Figure 2 of the paper, redrawn from the ratings at hand. Bands are two standard errors.",
    "sparse-support": "How often the features that matter are found, by outcomes an arm. Bands are two "
    "standard errors.",
    "sparse-budget": "Largest mean error against the budget where few features matter. Bands are two "
    "standard errors of the logarithm.",
    "sparse-screen": "What choosing features from too few or too many outcomes costs. Bands are two standard "
    "errors.",
    "rate": "How regret and pulls of trace-ucb behave as the budget grows.",
}


_SPARSE_TITLES = {
    "support": "How often the features are found",
    "sparse-budget": "Sparse arms by budget",
    "sparse-screen": "The price of L",
}


def reproduction_report(found: Reproduction, *, again: str) -> Report:
    """Tables, figures and settings of a reproduction; ``again`` is the command line it came from."""
    verdicts = [str(finding.verdict) for finding in (*found.findings, *found.sparse_findings)]
    sections = [Section("Figures", _figures(found))]
    if found.findings:
        sections.append(Section("Claims", _claims("the paper", found.findings)))
    if found.by_width:
        sections.append(Section("The same claims by width", _widths(found)))
    if found.rate is not None:
        sections.append(Section("Rate", [Text(found.rate.explanation)]))
    if found.sparse:
        sections.append(Section("Sparse arms", _claims("asked of Sparse-Trace-UCB", found.sparse_findings)))
    sections += [Section(_SPARSE_TITLES[result.name], _sparse(result)) for result in found.sparse]
    trials = "\n".join(f"({name}) {number:,}" for name, number in found.trials.items())
    return Report(
        title="The paper's figures and claims",
        subtitle=found.settings,
        headline=_headline(verdicts),
        sections=sections,
        settings={
            "equipoise": found.version,
            "seed": str(found.seed),
            "policies": "\n".join(found.policies),
            "trials": trials or "none of the panels",
        },
        again=[Code(again, "In a terminal:")],
        metadata={"version": found.version, "seed": found.seed, "trials": dict(found.trials)},
    )


def _headline(verdicts: Sequence[str]) -> str:
    """How many claims hold."""
    if not verdicts:
        return ""
    words = {str(Verdict.PARTLY): "in part", str(Verdict.FAILS): "not"}
    others = [kind for kind in dict.fromkeys(verdicts) if kind != Verdict.HOLDS]
    rest = "".join(f", {verdicts.count(kind)} {words.get(kind, kind)}" for kind in others)
    return f"{verdicts.count(Verdict.HOLDS)} of {counted(len(verdicts), 'claim holds', 'claims hold')}{rest}."


def _figures(found: Reproduction) -> list[Block]:
    return [
        figure_of_file(
            path,
            caption=_CAPTIONS.get(path.stem, path.stem),
            description=_CAPTIONS.get(path.stem, path.stem),
            wide=True,
        )
        for path in found.figures
        if path.suffix == ".svg"
    ]


def _claims(heading: str, findings: Sequence[Finding]) -> list[Block]:
    rows = [
        [finding.id, finding.says, "; ".join(finding.lines), str(finding.verdict)] for finding in findings
    ]
    return [Table(["", heading, "measured (± one standard error)", "verdict"], rows, text_columns=4)]


def _sparse(result: SparseResult) -> list[Block]:
    blocks: list[Block] = [Text(sentence) for sentence in result.explanation()]
    for table in result.tables():
        columns = [column.replace("`", "") for column in table.columns]
        blocks.append(Table(columns, table.rows, caption=f"{table.title}."))
    return blocks


def _widths(found: Reproduction) -> list[Block]:
    widths = list(found.by_width)
    rows = [
        [finding.id, *(str(found.by_width[width][place].verdict) for width in widths)]
        for place, finding in enumerate(found.by_width[widths[0]])
    ]
    columns = ["claim", *(f"width={width}" for width in widths)]
    return [
        Text(
            "The paper does not print the constant of its width. These are the verdicts at "
            f"{found.width_trials:,} trials a point."
        ),
        Table(columns, rows, text_columns=len(columns)),
    ]
