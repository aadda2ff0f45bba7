"""What the paper says about Figure 2.

Its axes are not in the text, so "from 45 %" is held against the largest gain on ours. As elsewhere in the
paper, a gain of 45 % means that the other's error is 45 % higher. A number that is read off a figure may
be 5 points off; "modestly" and "similar" mean at most 10 %.
"""

from __future__ import annotations

from equipoise.studies.losses import Measured
from equipoise.studies.paper.panel_result import PanelResult
from equipoise.studies.verdicts import Check, within

_READING = 0.05
_CLOSE = 1.10


def gains(result: PanelResult, reference: str) -> list[Measured]:
    """By how much the other's error is higher than Trace-UCB's, as a share of Trace-UCB's."""
    ratios = result.ratios(reference, "trace-ucb")
    return [Measured(ratio.at, ratio.value - 1.0, ratio.stderr) for ratio in ratios]


def gain_falls(result: PanelResult, reference: str, largest: float, last: float) -> list[Check]:
    """The gain falls from one share, where units are few, to another."""
    found = gains(result, reference)
    peak = max(found, key=lambda gain: gain.value)
    return [
        Check(f"largest gain over {reference}", "n", peak, *_about(largest)),
        Check(f"gain over {reference}", "n", found[-1], *_about(last)),
    ]


def always_gains(result: PanelResult) -> list[Check]:
    """Trace-UCB is never worse than the others."""
    return [
        check
        for reference in ("uniform", "var-ucb")
        for check in within(f"gain over {reference}", "n", gains(result, reference), low=0.0)
    ]


def modest_gains(result: PanelResult) -> list[Check]:
    """Both adaptive policies beat uniform sampling, by little."""
    return [
        check
        for policy in ("trace-ucb", "var-ucb")
        for check in within(f"{policy} / uniform", "n", result.ratios(policy, "uniform"), low=0.9, high=1.0)
    ]


def alike(result: PanelResult) -> list[Check]:
    """Trace-UCB and Var-UCB reach about the same."""
    ratios = result.ratios("var-ucb", "trace-ucb")
    return within("var-ucb / trace-ucb", "n", ratios, low=0.9, high=_CLOSE)


def _about(share: float) -> tuple[float, float]:
    return round(share - _READING, 9), round(share + _READING, 9)
