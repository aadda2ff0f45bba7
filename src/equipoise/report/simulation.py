"""The report of a simulation: losses with their errors, pulls, and how policies differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from equipoise.core.policies import BestAllocation, Oracle
from equipoise.core.policies.base.policy import Policy, registered_policies
from equipoise.extras import is_installed
from equipoise.lab.arena import Setting
from equipoise.lab.results.estimate import Estimate, mean_estimate
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.results.words import LOSSES, explained_losses, loss_words
from equipoise.report.course import course_table
from equipoise.report.document import Block, Code, Report, Section, Table, Text
from equipoise.report.numbers import change, percent, with_error
from equipoise.words import counted

# Below it, standard errors are no measure of chance.
FEW_TRIALS = 30
SCENARIO_FILE = "scenario.toml"
_LEVELS = (0.1, 0.5, 0.9, 0.99)
# Longer tables are for the files beside the report.
_MOST_ARMS = 60


def simulation_report(
    result: SimulationResult,
    *,
    title: str = "Simulation report",
    again: str | None = None,
    beside: bool = False,
) -> Report:
    """Tables, figures and settings of ``result``; ``again`` is the command line it came from.

    ``beside`` says that the scenario lies in a file beside the page.
    """
    scenario = result.scenario
    size = (
        f"{counted(len(result.policies), 'policy', 'policies')} · "
        f"{counted(len(scenario.noise), 'arm')} · "
        f"{counted(scenario.dim, 'feature')} · {_budget(scenario)} · "
        f"{counted(result.trials, 'trial')}"
    )
    sections = [
        Section("Losses", loss_blocks(result)),
        Section("Units an arm", pull_blocks(result)),
        Section("Spread over trials", spread_blocks(result)),
    ]
    course = course_table(result)
    if course is not None:
        words, headings, rows = course
        sections.insert(2, Section("Course of a trial", [Text(f"{words}."), Table(headings, rows)]))
    if len(result.policies) > 1:
        sections.insert(1, Section("Paired differences", difference_blocks(result)))
    return Report(
        title=title,
        subtitle=size,
        headline=headline(result),
        summary=summary(result),
        sections=sections,
        settings={
            "equipoise": result.version,
            "seed": str(result.seed),
            "trials": f"{result.trials:,} of every policy, on common random numbers",
            "policies": "\n".join(policy.spec for policy in result.policies.values()),
            "errors after ±": "one standard error over trials",
            "unit of losses": "squared units of the outcome",
        },
        again=_again(result, again, beside=beside),
        metadata=result.metadata,
    )


def optimal_units(result: SimulationResult, policy: type[Oracle] = Oracle) -> Sequence[int] | None:
    """k* as the oracle pulls, or None where the budget does not pay for d + 1 units of every arm."""
    problem = result.scenario.problem()
    if result.features < problem.dim:
        # Among the features that matter; which they are makes no difference.
        problem = problem.on_columns(np.arange(result.features))
    if not problem.pays_for_start:
        return None
    counts: list[int] = policy(noise=result.scenario.noise).settings(problem).astype(int).tolist()
    return counts


def objective_words(result: SimulationResult) -> str:
    """What the policies were asked to make small."""
    objective = result.scenario.objective
    words = {"max": "the worst arm's error", "mean": "the mean error of the arms"}
    name = words[objective] if isinstance(objective, str) else f"the {objective:g}-norm of the arms' errors"
    return name if result.scenario.weights is None else f"{name}, weighted"


def _budget(scenario: Setting) -> str:
    if scenario.costs is None:
        return counted(scenario.units, "unit")
    return f"a budget of {scenario.budget:.10g}"


def headline(result: SimulationResult) -> str:
    """The number that matters: how much better the best policy is, if that is more than chance.

    The best of those that are not told the noise, against uniform sampling, or against the first.
    """
    loss = "mean" if result.scenario.objective == "mean" else "expected_max"
    words = loss_words(loss)
    first = next(iter(result.policies))
    base = next((name for name, policy in result.policies.items() if policy.spec == "uniform"), first)
    values = {name: getattr(policy, loss)() for name, policy in result.policies.items()}
    rivals = [name for name in values if name != base and not is_told(result[name].spec)]
    if not rivals:
        return f"The {words} is {with_error(values[base])} with {base}."
    best = min(rivals, key=lambda name: values[name].value)
    gain = result.difference(best, base, loss)
    if result.trials < FEW_TRIALS:
        return (
            f"{counted(result.trials, 'trial is', 'trials are')} too few for a verdict: the {words} is "
            f"{with_error(values[best])} with {best} and {with_error(values[base])} with {base}."
        )
    if not gain.value < -2.0 * gain.stderr:
        return f"No policy has a {words} clearly below that of {base}, which is {with_error(values[base])}."
    share = 100.0 * (1.0 - values[best].value / values[base].value)
    return (
        f"{best} makes the {words} {share:.0f} % smaller than {base}: {with_error(values[best])} instead of "
        f"{with_error(values[base])}."
    )


def is_told(spec: str) -> bool:
    """Whether a policy knows the noise: a mark to reach, not a rival."""
    policy = registered_policies().get(spec.partition(":")[0])
    return policy is not None and policy.informed is not Policy.informed


def summary(result: SimulationResult) -> str:
    """All policies, in two sentences."""
    first, *others = result.policies
    base = result[first].expected_max()
    text = f"The largest mean error of an arm is {with_error(base)} with {first}"
    parts = []
    for name in others:
        own = result[name].expected_max()
        parts.append(f"{with_error(own)} with {name} ({change(own.value, base.value)} {first})")
    listed = ", ".join([text, *parts[:-1]]) + (f" and {parts[-1]}" if parts else "")
    return f"{listed}. The policies were asked to make {objective_words(result)} small."


def loss_blocks(result: SimulationResult) -> list[Block]:
    """A table and figures of all losses."""
    losses = {name: result.losses_of(name) for name in result.policies}
    shown = list(dict.fromkeys(loss for own in losses.values() for loss in own))
    rows = [[name, *(_written(own, loss) for loss in shown)] for name, own in losses.items()]
    text = explained_losses()
    if "regret" in shown:
        text += f" Regret is the {loss_words('expected_max')} above that of the optimal static allocation."
    if "coverage" in shown:
        text += f" Coverage is the share of true coefficients inside their {result.intervals} 95 % intervals."
    if "recovery" in shown:
        text += " Recovery is the share of trials that chose exactly the features that matter."
    blocks: list[Block] = [Text(text), Table(["policy", *map(loss_words, shown)], rows)]
    if is_installed("matplotlib"):
        from equipoise.report.simulation_figures import losses_figure, worst_figure

        blocks += [losses_figure(result), worst_figure(result)]
    else:
        blocks.append(Text("Figures need matplotlib: pip install 'equipoise[plot]'."))
    return blocks


def _written(losses: Mapping[str, Estimate], loss: str) -> str:
    if loss not in losses:
        return "–"
    return (percent if loss in ("coverage", "recovery") else with_error)(losses[loss])


def difference_blocks(result: SimulationResult) -> list[Block]:
    """Paired differences to the first policy."""
    first, *others = result.policies
    rows = [[name, *(with_error(result.difference(name, first, loss)) for loss in LOSSES)] for name in others]
    text = (
        f"Every policy minus {first}, trial by trial: all met the same units. "
        "The errors are those of the differences. Below zero is better."
    )
    blocks: list[Block] = [Text(text), Table(["policy", *map(loss_words, LOSSES)], rows)]
    if is_installed("matplotlib"):
        from equipoise.report.simulation_figures import differences_figure

        blocks.append(differences_figure(result))
    return blocks


def pull_blocks(result: SimulationResult) -> list[Block]:
    """Mean units of every arm."""
    scenario, optimal, best = result.scenario, optimal_units(result), optimal_units(result, BestAllocation)
    pulls = [policy.pulls() for policy in result.policies.values()]
    splits = {} if optimal is None else {"optimal": optimal}
    if best is not None and best != optimal:
        splits["best"] = best
    columns = ["arm", "noise σ²", *splits, *result.policies]
    rows = []
    for i, arm in enumerate(scenario.arms[:_MOST_ARMS]):
        known = [str(split[i]) for split in splits.values()]
        rows.append([arm, f"{scenario.noise[i]:.4g}", *known, *(with_error(units[i]) for units in pulls)])
    more = len(scenario.arms) - len(rows)
    told = pulls and sum(units.value for units in pulls[0]) < result.scenario.units - 0.5
    text = f"Mean number of units of every arm{' whose outcome came' if told else ''}" + (
        "; optimal is the static split of Prop. 1." if optimal else "."
    )
    if "best" in splits:
        text += " Best is the one with the smallest loss in whole units, for Gaussian contexts."
    if more:
        text += f" {more} further arms are not shown."
    blocks: list[Block] = [Text(text), Table(columns, rows)]
    if is_installed("matplotlib"):
        from equipoise.report.simulation_figures import pulls_figure

        blocks.append(pulls_figure(result))
    return blocks


def spread_blocks(result: SimulationResult) -> list[Block]:
    """Quantiles over trials of the worst error."""
    rows = [
        [
            name,
            *(with_error(policy.quantile_max(level)) for level in _LEVELS),
            with_error(mean_estimate(policy.worst)),
        ]
        for name, policy in result.policies.items()
    ]
    columns = ["policy", *(f"{100 * level:g} %" for level in _LEVELS), "average"]
    text = "The worst arm's error differs from trial to trial. That share of the trials stayed below:"
    return [Text(text), Table(columns, rows)]


def _again(result: SimulationResult, command: str | None, *, beside: bool) -> list[Code]:
    toml = result.scenario.to_toml().strip()
    specs = [policy.spec for policy in result.policies.values()]
    run = f"result = eq.simulate(scenario, {specs!r}, trials={result.trials}, seed={result.seed})"
    if beside:
        read = f'scenario = eq.Scenario.from_toml(Path("{SCENARIO_FILE}").read_text())'
        python = f"from pathlib import Path\n\nimport equipoise as eq\n\n{read}\n{run}"
        caption = f"The scenario, which is in {SCENARIO_FILE} beside this page:"
        blocks = [Code(toml, caption), Code(python, "In Python, in the folder of this page:")]
    else:
        # Nothing is beside this page, so it needs nothing there.
        quoted = toml.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        python = f'import equipoise as eq\n\nscenario = eq.Scenario.from_toml("""\n{quoted}\n""")\n{run}'
        blocks = [Code(python, "In Python:")]
    if command is not None:
        blocks.insert(0, Code(command, "In a terminal:"))
    return blocks
