"""Figures of a simulation's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.results.words import LOSSES, loss_words
from equipoise.report.document import Figure
from equipoise.report.figures import legend_above, name_rows, new_figure
from equipoise.report.numbers import with_error
from equipoise.report.simulation import optimal_units
from equipoise.studies.colours import INK, PAPER, QUIET, Look, policy_looks
from equipoise.studies.drawing import plain_log_ticks, wants_log
from equipoise.studies.labels import LineEnd, label_lines

# Rows tell policies, so shapes are free to tell losses.
_SHAPES = ("o", "D", "|")
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def looks_of(result: SimulationResult) -> list[Look]:
    """Colour, marker and dash of every policy."""
    return policy_looks(policy.spec for policy in result.policies.values())


def losses_figure(result: SimulationResult) -> Figure:
    """Three losses of every policy, with intervals of two standard errors."""
    losses = {loss: [getattr(policy, loss)() for policy in result.policies.values()] for loss in LOSSES}

    def draw(axes: Any) -> None:
        for place, (loss, estimates) in enumerate(losses.items()):
            axes.plot([], [], linestyle="none", marker=_SHAPES[place], color=QUIET, label=loss_words(loss))
            for row, (estimate, look) in enumerate(zip(estimates, looks_of(result), strict=True)):
                axes.errorbar(
                    [estimate.value],
                    [row + 0.28 + 0.2 * place],
                    xerr=[np.nan_to_num(2.0 * estimate.stderr)],
                    fmt=_SHAPES[place],
                    color=look.color,
                    markersize=9 if _SHAPES[place] == "|" else 5.5,
                    markeredgewidth=1.8 if _SHAPES[place] == "|" else 1.0,
                    capsize=2.5,
                )
        values = [estimate.value for estimates in losses.values() for estimate in estimates]
        if wants_log(values):
            _log_axis(axes)
        else:
            axes.set_xlim(left=0.0)
        name_rows(axes, list(result.policies))
        axes.set_xlabel(f"error ({result.unit}{', log scale' if wants_log(values) else ''})")
        legend_above(axes)

    spoken = "; ".join(f"{name}: {with_error(p.expected_max())}" for name, p in result.policies.items())
    return new_figure(
        draw,
        caption="Losses of every policy. Bars reach two standard errors to each side.",
        description=f"{loss_words(LOSSES[0]).capitalize()} of every policy. {spoken}.",
        height=_height(len(result.policies)),
    )


def worst_figure(result: SimulationResult) -> Figure:
    """How the worst arm's error is spread over trials."""

    def draw(axes: Any) -> None:
        for row, (policy, look) in enumerate(zip(result.policies.values(), looks_of(result), strict=True)):
            low, lower, middle, upper, high, highest = np.quantile(policy.worst, _LEVELS)
            at = row + 0.5
            axes.plot([low, high], [at, at], color=look.color, linewidth=1.4)
            axes.plot([lower, upper], [at, at], color=look.color, linewidth=6.0, solid_capstyle="butt")
            axes.plot([middle], [at], color=look.color, marker="o", markersize=8, markerfacecolor=PAPER)
            axes.plot([highest], [at], linestyle="none", color=look.color, marker=".", markersize=6)
        _log_axis(axes)
        name_rows(axes, list(result.policies))
        axes.set_xlabel("worst arm's squared error (log scale)")

    return new_figure(
        draw,
        caption="Worst error of a trial: the ring is the median over trials, half of the trials lie in "
        "the thick line, four of five in the thin one, and one of a hundred beyond the dot.",
        description="Spread over trials of the worst arm's error for "
        + ", ".join(f"{name} (median {with_error(p.median_max())})" for name, p in result.policies.items()),
        height=_height(len(result.policies)),
    )


def pulls_figure(result: SimulationResult) -> Figure:
    """Mean units of every arm, beside the optimal static allocation."""
    arms, optimal = result.scenario.arms, optimal_units(result)
    pulls = [[estimate.value for estimate in policy.pulls()] for policy in result.policies.values()]

    def draw(axes: Any) -> None:
        places = np.arange(len(arms))
        ends = []
        if optimal:
            axes.hlines(optimal, places - 0.38, places + 0.38, color=INK, linewidth=2.0)
            ends.append(LineEnd("optimal static", places[-1] + 0.38, optimal[-1], INK))
        reach = np.linspace(-0.24, 0.24, len(pulls)) if len(pulls) > 1 else np.zeros(1)
        known = zip(result.policies.items(), pulls, looks_of(result), reach, strict=True)
        for (name, policy), units, look, shift in known:
            axes.errorbar(
                places + shift,
                units,
                yerr=policy.ledger.counts.std(axis=0),
                linestyle="none",
                markersize=5,
                linewidth=1.0,
                **look.point,
            )
            ends.append(LineEnd(name, places[-1] + shift, units[-1], look.text))
        # From 0 on, but where one arm got most of the units.
        if wants_log(value for units in pulls for value in units):
            axes.set_yscale("log")
            plain_log_ticks(axes.yaxis)
            axes.set_ylabel("units (log scale)")
        else:
            axes.set_ylim(bottom=0.0)
            axes.set_ylabel("units")
        axes.grid(axis="x", visible=False)
        if len(arms) <= 12:
            axes.set_xticks(places, _arm_names(arms, result.scenario.noise))
        else:
            axes.set_xlabel("arm")
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.6, len(arms) - 0.4)
        label_lines(axes, ends)

    return new_figure(
        draw,
        caption="Mean units of every arm; bars reach one standard deviation over trials to each side.",
        description="Mean units of every arm under every policy; the table above has the numbers.",
        wide=True,
        height=3.9,
    )


def differences_figure(result: SimulationResult) -> Figure:
    """Paired differences in the largest mean error to the first policy."""
    first, *others = result.policies
    estimates = [result.difference(name, first) for name in others]
    sizes = [abs(estimate.value) for estimate in estimates if estimate.value]

    def draw(axes: Any) -> None:
        axes.axvline(0.0, color=QUIET, linewidth=1.2)
        for row, (estimate, look) in enumerate(zip(estimates, looks_of(result)[1:], strict=True)):
            axes.errorbar(
                [estimate.value],
                [row + 0.4],
                xerr=[np.nan_to_num(2.0 * estimate.stderr)],
                markersize=5.5,
                capsize=3,
                linestyle="none",
                **look.point,
            )
        name_rows(axes, others)
        dwarfed = max(sizes, default=1.0) > 12.0 * float(np.median(sizes or [1.0]))
        if dwarfed:
            _two_sided_log_axis(axes, float(np.median(sizes)))
        axes.set_xlabel(f"{loss_words(LOSSES[0])} minus that of {first}{' (log scale)' if dwarfed else ''}")

    spoken = "; ".join(f"{n}: {with_error(e)}" for n, e in zip(others, estimates, strict=True))
    return new_figure(
        draw,
        caption=f"Difference to {first} in the {loss_words(LOSSES[0])}, paired by trial. "
        "Left of zero is better; bars reach two standard errors to each side.",
        description=f"Paired differences to {first}. {spoken}.",
        height=max(1.7, 0.9 + 0.5 * len(others)),
    )


def _arm_names(arms: Sequence[str], noise: Sequence[float]) -> list[str]:
    longest = max(4, 72 // len(arms))
    return [
        f"{arm if len(arm) <= longest else arm[: longest - 1] + '…'}\nσ² = {variance:.3g}"
        for arm, variance in zip(arms, noise, strict=True)
    ]


def _height(policies: int) -> float:
    return max(3.0, 1.1 + 0.62 * policies)


def _log_axis(axes: Any) -> None:
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    # Less than three decades need ticks between powers of ten.
    plain_log_ticks(axes.xaxis, steps=(1.0, 2.0, 5.0) if high / low < 300 else (1.0,))


def _two_sided_log_axis(axes: Any, usual: float) -> None:
    """Straight up to the usual size of a difference, logarithmic beyond: one does not dwarf the rest."""
    from matplotlib.ticker import FuncFormatter

    axes.set_xscale("symlog", linthresh=usual, linscale=1.0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
