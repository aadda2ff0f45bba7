"""What a reproduction found, as an object, as JSON and as a table for a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.studies.paper.figure2 import TablePanel
from equipoise.studies.paper.panel_result import PanelResult
from equipoise.studies.rate.measure import RateResult
from equipoise.studies.sparse.study import SparseResult
from equipoise.studies.verdicts import Finding

WIDTH = "width=1, the calibrated default: Δ = σ̄²/√(k−d) with σ̄² the mean of the arms' σ̂²"


@dataclass(frozen=True)
class Reproduction:
    """Results, claims and figures."""

    version: str
    seed: int
    policies: tuple[str, ...]
    trials: Mapping[str, int]  # by panel
    results: Mapping[str, PanelResult]  # by panel
    findings: tuple[Finding, ...]
    width_trials: int
    by_width: Mapping[str, tuple[Finding, ...]]
    rate: RateResult | None
    figures: tuple[Path, ...] = ()
    left_out: tuple[str, ...] = ()  # panels that could not be drawn, and why
    sparse: tuple[SparseResult, ...] = ()  # studies of sparse arms

    @property
    def sparse_findings(self) -> tuple[Finding, ...]:
        """What was asked of Sparse-Trace-UCB; the paper's claims are in ``findings``."""
        return tuple(finding for result in self.sparse for finding in result.findings())

    def figure2_results(self) -> dict[str, PanelResult]:
        """Results of the panels of Figure 2."""
        return {name: found for name, found in self.results.items() if isinstance(found.panel, TablePanel)}

    def figure1_results(self) -> dict[str, PanelResult]:
        """Results of the panels of Figure 1."""
        return {
            name: found for name, found in self.results.items() if not isinstance(found.panel, TablePanel)
        }

    @property
    def origin(self) -> str:
        """What the numbers come from: version, numerics and seed."""
        return f"equipoise {self.version}, NUMERICS {NUMERICS} · seed {self.seed}"

    @property
    def settings(self) -> str:
        """One line that belongs under every figure and table."""
        counts = ", ".join(f"({name}) {trials:,}" for name, trials in self.trials.items())
        trials = [f"trials {counts}"] if counts else []
        return " · ".join([self.origin, *trials, "ridge λ = 1/n", WIDTH])

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "version": self.version,
            "numerics": NUMERICS,
            "seed": self.seed,
            "width": WIDTH,
            "policies": list(self.policies),
            "trials": dict(self.trials),
            "width_trials": self.width_trials,
            "claims": [finding.record() for finding in (*self.findings, *self.sparse_findings)],
            "claims_by_width": {
                width: {finding.id: str(finding.verdict) for finding in findings}
                for width, findings in self.by_width.items()
            },
            "panels": {name: _panel_record(result) for name, result in self.results.items()},
            "rate": None if self.rate is None else self.rate.record(),
            "sparse": {result.name: result.record() for result in self.sparse},
            "figures": [path.name for path in self.figures],
            "left_out": list(self.left_out),
        }

    def claims_table(self) -> str:
        """Claims, and their dependence on the width, in Markdown."""
        lines = [
            *_findings_table("the paper", self.findings),
            *_findings_table("asked of Sparse-Trace-UCB", self.sparse_findings),
            f"{self.settings}. ± is one standard error.",
            "",
        ]
        for result in self.figure2_results().values():
            assert isinstance(result.panel, TablePanel)
            lines += [f"{result.panel.title}: {result.panel.note}.", ""]
        if self.by_width:
            widths = list(self.by_width)
            lines += ["| | " + " | ".join(f"`{width}`" for width in widths) + " |"]
            lines += ["|---" * (len(widths) + 1) + "|"]
            for place, finding in enumerate(self.by_width[widths[0]]):
                verdicts = (str(self.by_width[width][place].verdict) for width in widths)
                lines.append(f"| {finding.id} | " + " | ".join(verdicts) + " |")
            lines += ["", f"The same claims by `width=`, {self.width_trials:,} trials a point.", ""]
        if self.rate is not None:
            lines += ["| n | trials | regret | regret / L* | max(k* − k) / √n |", "|---|---|---|---|---|"]
            for point in self.rate.points:
                lines.append(
                    f"| {point.budget:,} | {point.trials:,} | {point.regret:.3g} ± {point.regret_stderr:.1g} "
                    f"| {point.regret / point.optimal:.3f} | {point.shortfall / point.budget**0.5:.2f} |"
                )
            lines += ["", self.rate.explanation, ""]
        for study in self.sparse:
            for sentence in study.explanation():
                lines += [sentence, ""]
            for table in study.tables():
                lines += table.markdown()
        return "\n".join(lines)


def _findings_table(heading: str, findings: tuple[Finding, ...]) -> list[str]:
    if not findings:
        return []
    lines = [f"| | {heading} | measured | verdict |", "|---|---|---|---|"]
    for finding in findings:
        measured = "<br>".join(finding.lines)
        lines.append(f"| {finding.id} | {finding.says} | {measured} | **{finding.verdict}** |")
    return [*lines, ""]


def _panel_record(result: PanelResult) -> dict[str, Any]:
    panel = result.panel
    curves = {
        policy: [{"at": m.at, "value": m.value, "stderr": m.stderr} for m in result.curve(policy)]
        for policy in result.policies
    }
    if isinstance(panel, TablePanel):
        about: dict[str, Any] = {"title": panel.title, "note": panel.note}
    else:
        about = {"noise": panel.sweep.noise}
    return {**about, "axis": panel.axis, "loss": panel.loss, "curves": curves}
