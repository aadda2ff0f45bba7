"""Figures of a simulation's report."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.lab.results.simulation import SimulationResult
from equipoise.report.document import Figure
from equipoise.report.figures import DASHES, INK, MARKERS, QUIET, SERIES, legend_above, name_rows, new_figure
from equipoise.report.numbers import with_error
from equipoise.report.simulation import optimal_units

_LOSSES = {"expected_max": "expected max", "median_max": "median max", "mean": "mean"}
# Points of a distribution's curve: more cannot be told apart on a page.
_CURVE_POINTS = 240
# Losses further apart than this are shown on a logarithmic axis.
_LOG_RATIO = 20.0


def losses_figure(result: SimulationResult) -> Figure:
    """Three losses of every policy, with intervals of two standard errors."""

    def draw(axes: Any) -> None:
        largest, smallest = 0.0, np.inf
        for place, (loss, label) in enumerate(_LOSSES.items()):
            estimates = [getattr(policy, loss)() for policy in result.policies.values()]
            values = np.array([estimate.value for estimate in estimates])
            errors = np.nan_to_num([2.0 * estimate.stderr for estimate in estimates])
            rows = np.arange(len(values)) + 0.22 + 0.18 * place
            axes.errorbar(
                values,
                rows,
                xerr=errors,
                fmt=MARKERS[place],
                color=SERIES[place],
                markersize=5.5,
                capsize=2.5,
                label=label,
            )
            largest, smallest = max(largest, values.max()), min(smallest, values.min())
        if smallest > 0.0 and largest / smallest > _LOG_RATIO:
            _log_axis(axes)
        else:
            axes.set_xlim(left=0.0)
        name_rows(axes, list(result.policies))
        axes.set_xlabel(f"error ({result.unit})")
        legend_above(axes, 3)

    spoken = "; ".join(f"{name}: {with_error(p.expected_max())}" for name, p in result.policies.items())
    return new_figure(
        draw,
        caption="Losses of every policy. Bars reach two standard errors to each side.",
        description=f"Expected max of every policy. {spoken}.",
        height=_height(len(result.policies)),
    )


def worst_figure(result: SimulationResult) -> Figure:
    """Distribution over trials of the worst arm's error."""

    def draw(axes: Any) -> None:
        for place, (name, policy) in enumerate(result.policies.items()):
            ordered = np.sort(policy.worst)
            shares = np.arange(1, len(ordered) + 1) / len(ordered)
            shown = np.unique(np.linspace(0, len(ordered) - 1, _CURVE_POINTS).round().astype(int))
            axes.plot(ordered[shown], shares[shown], label=name, **_line(place))
        _log_axis(axes)
        axes.set_ylim(0.0, 1.0)
        axes.set_xlabel("worst arm's squared error (log scale)")
        axes.set_ylabel("share of trials below")
        if len(result.policies) > 6 or _longest(result) > 20:
            legend_above(axes, 1)
        else:
            axes.legend(loc="lower right")  # a distribution's curve leaves that corner free

    return new_figure(
        draw,
        caption="Share of the trials whose worst error is below a value. Further to the left is better.",
        description="Empirical distribution of the worst arm's error for "
        + ", ".join(f"{name} (median {with_error(p.median_max())})" for name, p in result.policies.items()),
        height=_height(len(result.policies)),
    )


def pulls_figure(result: SimulationResult) -> Figure:
    """Mean units of every arm, beside the optimal static allocation."""
    arms, optimal = result.scenario.arms, optimal_units(result)

    def draw(axes: Any) -> None:
        places = np.arange(len(arms))
        if optimal:
            axes.hlines(
                optimal, places - 0.38, places + 0.38, color=INK, linewidth=2.0, label="optimal static"
            )
        reach = np.linspace(-0.24, 0.24, len(result.policies)) if len(result.policies) > 1 else [0.0]
        for place, (name, policy) in enumerate(result.policies.items()):
            units = [estimate.value for estimate in policy.pulls()]
            spread = policy.ledger.counts.std(axis=0)
            axes.errorbar(
                places + reach[place],
                units,
                yerr=spread,
                fmt=MARKERS[_shape(place)],
                color=SERIES[place % len(SERIES)],
                markersize=5,
                linewidth=1.0,
                label=name,
            )
        axes.set_ylim(bottom=0.0)
        axes.grid(axis="x", visible=False)
        if len(arms) <= 12:
            axes.set_xticks(
                places, [f"{a}\nσ² = {v:.3g}" for a, v in zip(arms, result.scenario.noise, strict=True)]
            )
        else:
            axes.set_xlabel("arm")
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel("units")
        legend_above(axes, 2 if _longest(result) > 20 else 5)

    return new_figure(
        draw,
        caption="Mean units of every arm; bars reach one standard deviation over trials to each side.",
        description="Mean units of every arm under every policy; the table above has the numbers.",
        wide=True,
        height=3.9,
    )


def differences_figure(result: SimulationResult) -> Figure:
    """Paired differences in expected max to the first policy."""
    first, *others = result.policies
    estimates = [result.difference(name, first) for name in others]

    def draw(axes: Any) -> None:
        axes.axvline(0.0, color=QUIET, linewidth=1.2)
        for row, estimate in enumerate(estimates):
            axes.errorbar(
                [estimate.value],
                [row + 0.4],
                xerr=[np.nan_to_num(2.0 * estimate.stderr)],
                fmt=MARKERS[_shape(row + 1)],
                color=SERIES[(row + 1) % len(SERIES)],
                markersize=5.5,
                capsize=3,
            )
        name_rows(axes, others)
        axes.set_xlabel(f"expected max minus that of {first}")

    spoken = "; ".join(f"{n}: {with_error(e)}" for n, e in zip(others, estimates, strict=True))
    return new_figure(
        draw,
        caption=f"Difference to {first} in expected max, paired by trial. Left of zero is better; "
        "bars reach two standard errors to each side.",
        description=f"Paired differences to {first}. {spoken}.",
        height=max(1.7, 0.9 + 0.5 * len(others)),
    )


def _line(place: int) -> dict[str, Any]:
    return {"color": SERIES[place % len(SERIES)], "linestyle": DASHES[_shape(place)]}


def _shape(place: int) -> int:
    # When the colours start again, the shapes are one further.
    return (place + place // len(SERIES)) % len(MARKERS)


def _height(policies: int) -> float:
    return max(3.5, 1.1 + 0.62 * policies)


def _longest(result: SimulationResult) -> int:
    return max(len(name) for name in result.policies)


def _log_axis(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    # Less than two decades need ticks between powers of ten.
    between = (1.0, 2.0, 5.0) if high / low < 1e3 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=between, numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
