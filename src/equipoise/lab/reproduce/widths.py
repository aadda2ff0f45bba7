"""How the claims depend on the width, whose constant the paper does not print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.lab.reproduce.claims import check_claims
from equipoise.lab.reproduce.panels import PANELS, Sweep
from equipoise.lab.reproduce.results import PanelResult, Point
from equipoise.lab.reproduce.verdicts import Finding

WIDTHS = ("0.25", "0.5", "1", "2", "theory")
_DELTA = 0.05
_STATIC = ("uniform", "oracle")
_WITH_WIDTH = ("var-ucb", "trace-ucb")


def width_policies(sweep: Sweep) -> list[str]:
    """The static policies once, those with a width at every width."""
    return [*_STATIC, *(_spec(name, width, sweep) for width in WIDTHS for name in _WITH_WIDTH)]


def claims_by_width(
    panels: Sequence[str], points: Mapping[str, Sequence[Point]]
) -> dict[str, tuple[Finding, ...]]:
    """The claims once more at every width; ``points`` by name of the sweep."""
    findings = {}
    for width in WIDTHS:
        results = {}
        for name in panels:
            panel = PANELS[name]
            names = {policy: policy for policy in _STATIC}
            names |= {_spec(policy, width, panel.sweep): policy for policy in _WITH_WIDTH}
            results[name] = PanelResult(panel, [point.renamed(names) for point in points[panel.sweep.name]])
        findings[width] = check_claims(results)
    return findings


def _spec(policy: str, width: str, sweep: Sweep) -> str:
    if width == "theory":
        # R, the bound that the policy is told, is the largest variance itself.
        return f"{policy}:width=theory:bound={max(sweep.noise):g}:delta={_DELTA:g}"
    return f"{policy}:width={width}"
