"""Simulated operating characteristics: those that were handed in, or how to make some."""

from __future__ import annotations

import math
import shlex

from equipoise.core.estimates.estimates import Estimates
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.core.theory.plan import Plan
from equipoise.errors import EquipoiseError, InvalidArgument
from equipoise.lab.results.simulation import SimulationResult
from equipoise.report.document import Block, Code, Table, Text
from equipoise.report.live.history import History
from equipoise.report.plan import plan_report
from equipoise.report.simulation import headline, loss_blocks, pull_blocks, spread_blocks, summary
from equipoise.words import counted


def check_simulation(simulation: object) -> SimulationResult | Plan | None:
    """What reports can show of simulations."""
    if simulation is None or isinstance(simulation, SimulationResult | Plan):
        return simulation
    raise InvalidArgument(
        f"simulation={simulation!r} has no operating characteristics",
        hint="give what eq.simulate(…) or eq.plan(…) returned",
    )


def operating_blocks(
    simulation: SimulationResult | Plan | None,
    history: History,
    estimates: Estimates,
    policy: Policy,
    problem: Problem,
) -> list[Block]:
    """Losses of simulated trials like this one, or a plan's, or what to type for them."""
    if isinstance(simulation, SimulationResult):
        scenario = simulation.scenario
        assumed = (
            f"Simulated: {counted(simulation.trials, 'trial')} with seed {simulation.seed}, "
            f"{counted(len(scenario.noise), 'arm')} with noise variances "
            f"{', '.join(f'{value:.3g}' for value in scenario.noise)}, "
            f"{counted(scenario.dim, 'feature')}, {scenario.units:,} units. "
            f"{headline(simulation)} {summary(simulation)}"
        )
        return [
            Text(assumed),
            *loss_blocks(simulation),
            *(block for block in pull_blocks(simulation) if not _is_figure(block)),
            *spread_blocks(simulation),
            Code(scenario.to_toml().strip(), "The scenario, all that was assumed:"),
        ]
    if isinstance(simulation, Plan):
        report = plan_report(simulation)
        shown: list[Block] = [Text(f"{report.headline} {report.summary}")]
        for section in report.sections:
            shown += section.blocks
        return shown
    blocks: list[Block] = [
        Text(
            "None were handed in. They say how often and how far a rule errs in trials like this "
            "one, before any "
            "outcome is known: write_report(…, simulation=eq.simulate(…)), or --simulation of "
            "'equipoise report', shows them here. They belong into the "
            "protocol; simulated after the fact, with the noise that was found, they only describe."
        )
    ]
    noise = [arm.noise_variance for arm in estimates]
    store = "" if history.store is None else f" --store {shlex.quote(history.store)}"
    name = None if history.name is None else shlex.quote(history.name)
    if all(math.isfinite(value) for value in noise):
        lines = _command(noise, policy, problem)
        if name is not None:
            lines += f"\nequipoise report {name}{store} --simulation simulated --overwrite{_imported(policy)}"
        blocks.append(Code(lines, "Trials of this size, with the noise that was found:"))
    if name is not None:
        own = _imported(policy)
        blocks.append(Code(f"equipoise forecast {name}{store}{own}", "The rest of this very experiment:"))
    return blocks


def _command(noise: list[float], policy: Policy, problem: Problem) -> str:
    try:
        spec = policy.spec
    except EquipoiseError:  # of one's own, without a name
        spec = "trace-gain"
    variances = ",".join(f"{value:.3g}" for value in noise)
    return (
        f"equipoise simulate --noise {variances} --dim {problem.dim} --budget {problem.budget:.10g} \\\n"
        f"  --policy uniform --policy {shlex.quote(spec)} --trials 2000{_imported(policy)} "
        "--output simulated"
    )


def _imported(policy: Policy) -> str:
    """The option that brings a rule of the experimenter's own."""
    brought = type(policy).__module__.startswith("equipoise.") and not isinstance(policy, AbsentPolicy)
    return "" if brought else " --import FILE.py"


def _is_figure(block: Block) -> bool:
    return not isinstance(block, Text | Table | Code)
