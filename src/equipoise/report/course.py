"""How trials went: units, time, and how many a target ended."""

from __future__ import annotations

from equipoise.lab.results.simulation import SimulationResult
from equipoise.report.numbers import percent, with_error

_LATE = 0.9


def course_table(result: SimulationResult) -> tuple[str, list[str], list[list[str]]] | None:
    """A title, headings and a row a policy; None where every trial takes the same units and no time."""
    scenario = result.scenario
    accrual, stop = (getattr(scenario, name, None) for name in ("accrual", "stop"))
    lossy = getattr(scenario, "lost", 0.0) or getattr(scenario, "drop_out", None) is not None
    if accrual is None and stop is None and not lossy and not getattr(scenario, "closures", ()):
        return None
    headings = ["policy", "units", "outcomes"]
    title = "Mean course of a trial"
    if accrual is not None:
        headings += ["last unit", "last outcome", f"{100 * _LATE:.0f} % end by"]
        title += f", times in {accrual.time}"
    if stop is not None:
        headings.append("stopped at the target")
    rows = []
    for name, policy in result.policies.items():
        row = [name, f"{policy.units().value:.4g}", f"{sum(p.value for p in policy.pulls()):.4g}"]
        if accrual is not None:
            row += [with_error(policy.accrual_time()), with_error(policy.duration())]
            row.append(f"{policy.duration(_LATE).value:.4g}")
        if stop is not None:
            row.append(percent(policy.stopped()))
        rows.append(row)
    return title, headings, rows
