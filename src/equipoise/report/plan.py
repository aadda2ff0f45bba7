"""The report of a plan: the budget that an error takes, or the error that a budget gives."""

from __future__ import annotations

import math

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.theory.plan import Plan
from equipoise.report.document import Block, Code, Report, Section, Table, Text
from equipoise.report.numbers import plain_numbers
from equipoise.version import __version__
from equipoise.words import counted


def plan_report(plan: Plan, *, title: str = "Plan", again: str | None = None) -> Report:
    """Tables and settings of ``plan``; ``again`` is the line it came from."""
    return Report(
        title=title,
        subtitle=f"{counted(len(plan.noise), 'arm')} · {counted(plan.dim, 'feature')} · "
        f"objective: {_objective(plan)}",
        headline=_headline(plan),
        summary=_summary(plan),
        sections=[
            Section("Allocations", _allocations(plan)),
            *([Section("Simulated", _simulated(plan))] if plan.simulated else []),
            Section("Units an arm", _arms(plan)),
        ],
        settings={
            "equipoise": f"{__version__}, numerics {NUMERICS}",
            "objective": _objective(plan),
            "budgets": "money" if plan.has_costs else "units",
        },
        again=[] if again is None else [Code(again)],
        metadata=plain_numbers({"version": __version__, "numerics": NUMERICS, "plan": plan.record()}),
    )


def _headline(plan: Plan) -> str:
    best, even = plan["oracle"], plan["uniform"]
    if best.budget == even.budget:
        return (
            f"{_money(plan, best.budget)} give an expected error of {best.expected_error:.3g} "
            f"({_objective(plan)}) if they are spread as the noise asks, and of {even.expected_error:.3g} "
            "if evenly."
        )
    saved = 100.0 * (1.0 - best.budget / even.budget)
    return (
        f"An expected error of {best.expected_error:.3g} ({_objective(plan)}) takes "
        f"{_money(plan, best.budget)} if they are spread as the noise asks and {even.budget:,.10g} "
        f"if evenly: {saved:.0f} % fewer."
    )


def _summary(plan: Plan) -> str:
    text = (
        "By closed form, exact for least squares and Gaussian contexts: an arm with k outcomes "
        "errs by dσ²/(k − d − 1)."
    )
    if not plan.simulated:
        text += (
            " Policies that learn the noise on the way come close to the optimal allocation; simulate them "
            "before relying on it."
        )
    return " ".join([text, *plan.remarks])


def _simulated(plan: Plan) -> list[Block]:
    """What the simulated policies reached, in the columns that the terminal has."""
    _, *headings = plan.simulated[0].headings()
    rows = [each.cells() for each in plan.simulated]
    return [*map(Text, plan.simulation_remarks), Table(["policy", *headings], rows)]


def _objective(plan: Plan) -> str:
    words = {"max": "worst arm", "mean": "mean of the arms"}
    return (
        words[plan.objective] if isinstance(plan.objective, str) else f"{plan.objective:g}-norm of the arms"
    )


def _money(plan: Plan, budget: float) -> str:
    return f"{budget:,.10g}{'' if plan.has_costs else ' units'}"


def _allocations(plan: Plan) -> list[Block]:
    asked = plan.budget is None  # for the budget; else for the error
    ranges = [each.budget_range if asked else each.error_range for each in plan.budgets]
    ranged = any(low != high for low, high in ranges)
    columns = ["allocation", "budget" if plan.has_costs else "units", "expected error", "root error"]
    columns += [] if plan.time is None else [f"about {plan.time}"]
    rows = []
    for planned, ends in zip(plan.budgets, ranges, strict=True):
        error = planned.expected_error
        row = [planned.policy, f"{planned.budget:,.10g}", f"{error:.3g}", f"{math.sqrt(error):.3g}"]
        row += [] if planned.duration is None else [f"{planned.duration:.3g}"]
        row += [" – ".join(f"{end:,.10g}" if asked else f"{end:.3g}" for end in ends)] if ranged else []
        rows.append(row)
    text = "The optimal allocation (oracle) knows the noise; the uniform one gives every arm the same."
    if ranged:
        columns.append(f"{'budget' if asked else 'error'} if noise is low – high")
        text += " A guessed variance is planned for at the geometric middle of its range."
    return [Text(text), Table(columns, rows)]


def _arms(plan: Plan) -> list[Block]:
    names = plan.record().get("arms") or [f"arm-{place + 1}" for place in range(len(plan.noise))]
    rows = [
        [str(name), f"{plan.noise[place]:.4g}", *(f"{planned.counts[place]:,}" for planned in plan.budgets)]
        for place, name in enumerate(names)
    ]
    return [Table(["arm", "noise σ²", *(planned.policy for planned in plan.budgets)], rows)]
