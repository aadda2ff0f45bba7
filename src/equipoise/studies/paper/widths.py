"""How the claims depend on the width, whose constant the paper does not print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.studies.losses import Point
from equipoise.studies.paper.claims import check_claims
from equipoise.studies.paper.figure1 import Panel
from equipoise.studies.paper.figure2 import TablePanel
from equipoise.studies.paper.panel_result import PanelResult
from equipoise.studies.verdicts import Finding

WIDTHS = ("0.25", "0.5", "1", "2", "theory")
_DELTA = 0.05
_STATIC = ("uniform", "oracle")
_WITH_WIDTH = ("var-ucb", "trace-ucb")


@dataclass(frozen=True)
class WidePanel:
    """A panel measured at every width."""

    panel: Panel | TablePanel
    noise: Sequence[float]
    points: Sequence[Point]


def width_policies(noise: Sequence[float]) -> list[str]:
    """The static policies once, those with a width at every width."""
    return [*_STATIC, *(_spec(name, width, noise) for width in WIDTHS for name in _WITH_WIDTH)]


def claims_by_width(panels: Sequence[WidePanel]) -> dict[str, tuple[Finding, ...]]:
    """The claims once more at every width."""
    findings = {}
    for width in WIDTHS:
        results = {}
        for wide in panels:
            names = {policy: policy for policy in _STATIC}
            names |= {_spec(policy, width, wide.noise): policy for policy in _WITH_WIDTH}
            results[wide.panel.id] = PanelResult(wide.panel, [point.renamed(names) for point in wide.points])
        findings[width] = check_claims(results)
    return findings


def _spec(policy: str, width: str, noise: Sequence[float]) -> str:
    if width == "theory":
        # R, the bound that the policy is told, is the largest variance itself.
        return f"{policy}:width=theory:bound={max(noise):g}:delta={_DELTA:g}"
    return f"{policy}:width={width}"
