"""The report of an experiment: units, models, and whether they can be trusted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.diagnosis.balance import ArmBalance, Balance
from equipoise.core.diagnosis.complaint import imbalance
from equipoise.core.diagnosis.drift import FIT_LEVEL
from equipoise.core.diagnosis.lack_of_fit import LackOfFit
from equipoise.core.diagnosis.weighted import WeightedEstimates
from equipoise.core.estimates.arm_estimate import LASSO
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.reading import ExperimentReader
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.theory.plan import Plan
from equipoise.errors import FitWarning, NoPropensities, NotReplayable, PolicyNotAtHand, SupportWarning
from equipoise.extras import is_installed
from equipoise.lab.results.simulation import SimulationResult
from equipoise.report.document import Block, Code, Report, Section, Table, Text
from equipoise.report.experiment_models import (
    MOST_ARMS,
    MOST_FEATURES,
    coefficient_cells,
    contrast_blocks,
    further,
    model_blocks,
)
from equipoise.report.live.course import course_blocks, course_of
from equipoise.report.live.deviations import deviation_blocks
from equipoise.report.live.flow import flow_blocks
from equipoise.report.live.history import PRACTICE, History, history_of
from equipoise.report.live.limits import Findings, limit_blocks
from equipoise.report.live.naive import naive_blocks
from equipoise.report.live.operating import check_simulation, operating_blocks
from equipoise.report.live.over_time import PERIODS, period_blocks, trend_blocks
from equipoise.report.live.planned import planned_blocks
from equipoise.report.live.population import population_blocks
from equipoise.report.live.proof import proof_blocks
from equipoise.report.live.rule import chance_realised, rule_blocks
from equipoise.report.live.statements import check_statements, checklist_blocks, further_blocks, seeing_blocks
from equipoise.report.numbers import interval, p_text, p_value, plain_numbers, shortened
from equipoise.version import __version__
from equipoise.words import counted

_DRAWS, _DRAWN_UNITS = 1000, 2_000_000
_UNTESTED = 1.0
_TESTS = ("p_length", "p_squares", "p_products")


def experiment_report(
    experiment: ExperimentReader,
    *,
    title: str = "Experiment report",
    again: str | None = None,
    intervals: str = "classical",
    statements: Mapping[str, str] | None = None,
    simulation: SimulationResult | Plan | None = None,
    history: History | None = None,
) -> Report:
    """Tables, figures and settings of an experiment as it is now.

    Parameters
    ----------
    experiment
        In memory or live. Of a live one the log tells the flow of units, dates, deviations and reasons.
    intervals
        As in ``estimates``.
    statements
        What only people know, by what it is about: ``{"blinding": "Raters did not know the arms."}``. The
        page lists what is asked for.
    simulation
        Operating characteristics: what ``eq.simulate`` or ``eq.plan`` found for this design.
    history
        What happened, for experiments whose log is kept elsewhere; found by itself unless given.
    """
    said, simulation = check_statements(statements), check_simulation(simulation)
    found, experiment = history_of(experiment)  # of one moment, whatever others do
    history = found if history is None else history
    with warnings.catch_warnings():
        # The page says what they say.
        warnings.simplefilter("ignore", FitWarning)
        warnings.simplefilter("ignore", SupportWarning)
        estimates = experiment.estimates(intervals=intervals)
        fits = _weighted(experiment)
    balance, fit, problem = experiment.balance(), experiment.lack_of_fit(), experiment.problem
    trends, policy, arms = experiment.time_trends(), experiment.policy, problem.arms
    periods = experiment.balance_by_period(PERIODS)
    course = course_of(history, experiment, intervals=intervals)
    aside = sum(experiment.counts.values()) - sum(arm.count for arm in estimates)
    findings = Findings(
        history=history,
        estimates=estimates,
        policy=policy,
        balance=balance,
        fit=fit,
        trends=trends,
        guessed=experiment.predictability(),
        closed=experiment.closed_arms,
        remaining=experiment.remaining,
        weighted=fits is not None,
        statements=said,
    )
    sections = [
        Section("Units and errors", arm_blocks(estimates, closed=experiment.closed_arms, aside=aside)),
        Section("Flow of units", flow_blocks(history, arms)),
        Section("Course", course_blocks(history, course, arms)),
        Section("Models", model_blocks(estimates)),
        Section("Contrasts", contrast_blocks(estimates)),
        Section("Naive beside adjusted", _naive(experiment, estimates, fits, drawn=history.drawn)),
        Section("Target population", population_blocks(history, problem, balance)),
        Section("Balance", balance_blocks(balance)),
        Section("Balance by period", period_blocks(history, periods)),
        Section("Time trends", trend_blocks(trends)),
        Section("Lack of fit", fit_blocks(fit, problem.feature_names)),
        *([] if fits is None else [Section("Models by propensities", weighted_blocks(fits))]),
        Section("Chance", [*chance_blocks(experiment), *chance_realised(history, arms)]),
        Section("The rule", rule_blocks(history, policy, problem, experiment.seed, experiment.closed_arms)),
        Section("Planned and changed", planned_blocks(history, problem, experiment.closed_arms)),
        Section("Deviations", deviation_blocks(history)),
        Section("Who could see what", seeing_blocks(said)),
        Section("Stated by the experimenters", further_blocks(said)),
        Section(
            "Simulated operating characteristics",
            operating_blocks(simulation, history, estimates, policy, problem),
        ),
        Section("Limitations", limit_blocks(findings)),
        Section("What guidelines ask", checklist_blocks()),
        Section("Proof", proof_blocks(history)),
    ]
    name = policy.label
    support = () if estimates.support is None else estimates.support.complaints
    wrong = [estimates.complaint, None if fits is None else fits.complaint, *support]
    if history.mode == PRACTICE:
        wrong.insert(0, "this is practice: units are not real")
    return Report(
        title=title,
        subtitle=f"{name} · {counted(len(problem.arms), 'arm')} · "
        f"{counted(problem.dim, 'feature')} · {experiment.asked:,} of "
        f"{counted(experiment.asked + experiment.remaining, 'unit')}",
        warnings=[f"{_capital(each)}." for each in wrong if each],
        headline=error_sentence(estimates),
        summary=f"{_evenness(balance)} {_straightness(fit)}",
        sections=sections,
        settings={
            "equipoise": f"{__version__}, numerics {NUMERICS}",
            "policy": name,
            "seed": str(experiment.seed),
            "budget": f"{problem.budget:.10g}",
            "objective": str(problem.objective),
            "Σ": "learned from the contexts seen" if problem.moment is None else "given",
            "estimator": ", ".join(dict.fromkeys(arm.estimator for arm in estimates)),
            "intervals": f"{intervals}, {100 * estimates[0].confidence:g} %",
        },
        again=[] if again is None else [Code(again, "In a terminal:")],
        metadata=plain_numbers(
            {
                "version": __version__,
                "numerics": NUMERICS,
                "problem": problem.to_dict(),
                "policy": name,
                "seed": experiment.seed,
                "estimates": estimates.records(),
                "balance": balance.records(),
                "balance_by_period": [period.record() for period in periods],
                "lack_of_fit": fit.records(),
                "time_trends": trends.records(),
                "weighted_estimates": None if fits is None else fits.records(),
                "predictability": findings.guessed.record(),
                "statements": said,
                "head": history.head,
            }
        ),
    )


def error_sentence(estimates: Estimates) -> str:
    """The largest expected error, or why arms have none."""
    unknown = [arm for arm in estimates if not math.isfinite(arm.expected_error)]
    if not unknown:
        worst = max(estimates, key=lambda arm: arm.expected_error)
        return f"The largest expected error is {worst.expected_error:.3g}, that of {worst.arm}."
    if all(arm.estimator == LASSO for arm in unknown):
        return "A lasso tells nothing of its errors."
    alike = sum(arm.alike for arm in unknown)
    few = len(unknown) - alike
    found = []
    if few:
        found.append(f"{counted(few, 'arm has', 'arms have')} too few outcomes, or contexts, for a model")
    if alike:
        found.append(f"{counted(alike, 'arm has', 'arms have')} outcomes that were all alike")
    return f"{'; '.join(found)}."


def _evenness(balance: Balance) -> str:
    if not any(arm.units for arm in balance):
        return "There are no contexts to compare."
    aside = imbalance(balance)
    return (
        "No arm's contexts are clearly unlike those of all units." if aside is None else f"{_capital(aside)}."
    )


def _straightness(fit: LackOfFit) -> str:
    """What the tests of the straight line say together."""
    if fit.p_value < FIT_LEVEL:
        return f"Outcomes are not linear in the features ({p_text(fit.p_value)}, all tests counted)."
    if fit.p_value < 0.05:
        return f"Outcomes may not be linear in the features ({p_text(fit.p_value)}, all tests counted)."
    if all(line[name] == 1.0 for line in fit.records() for name in _TESTS):
        return "Straight lines could not be tested: outcomes do not suffice, or nothing can bend."
    return f"Nothing speaks against straight lines ({p_text(fit.p_value)}, all tests counted)."


def arm_blocks(estimates: Estimates, *, closed: Collection[str] = (), aside: int = 0) -> list[Block]:
    """Units, outcomes, noise and expected error of every arm; ``aside`` units only chose features."""
    rows = [
        [
            f"{arm.arm} (closed)" if arm.arm in closed else arm.arm,
            str(arm.count),
            str(arm.observed),
            str(arm.pending),
            f"{arm.noise_variance:.4g}" if math.isfinite(arm.noise_variance) else "–",
            interval(*arm.noise_interval),
            f"{arm.expected_error:.4g}" if math.isfinite(arm.expected_error) else "–",
            f"{arm.error_bound:.4g}" if math.isfinite(arm.error_bound) else "–",
            f"{arm.root_error:.3g}" if math.isfinite(arm.root_error) else "–",
            f"{arm.adjusted_r_squared:.2f}" if math.isfinite(arm.adjusted_r_squared) else "–",
        ]
        for arm in estimates[:MOST_ARMS]
    ]
    columns = ["arm", "units", "outcomes", "pending", "noise variance", "interval", "expected error"]
    columns += ["at most", "root error", "adj. R²"]
    text = (
        "Units are those assigned and neither lost nor withdrawn. The expected error is the mean squared "
        "error of predictions for people like those that the models must serve; its root is in the "
        f"outcome's unit{f', {estimates[0].unit}' if estimates[0].unit else ''}."
    )
    if aside > 0:
        text += f" Not counted: {counted(aside, 'unit')} that only chose features."
    return [Text(text + further(len(estimates) - len(rows), "arm")), Table(columns, rows)]


def balance_blocks(balance: Balance) -> list[Block]:
    """Every arm's contexts against those of all units."""
    text = (
        f"{_evenness(balance)} r = xᵀΣ⁻¹x tells how long a context is. Differences are those of an arm's "
        "means from the means of all units, in standard deviations; below 0.1 they are commonly called "
        "negligible. The p value is the chance of so much imbalance if arms were dealt without a look at "
        "contexts."
    )
    arms = sorted(balance, key=_distance, reverse=True)[:MOST_ARMS]
    arms = [arm for arm in balance if arm in arms]
    rows = [
        [
            arm.arm,
            str(arm.units),
            f"{arm.length:.3g}" if arm.units else "–",
            f"{arm.length_of_all:.3g}" if math.isfinite(arm.length_of_all) else "–",
            f"{arm.length_difference:+.2f}",
            f"{arm.largest_difference:+.2f}",
            balance.names[int(np.argmax(np.abs(arm.differences)))] if arm.largest_difference else "–",
            p_value(arm.p_value),
        ]
        for arm in arms
    ]
    columns = ["arm", "units", "mean r", "of all", "r, standardised", "largest difference", "of feature", "p"]
    text += further(len(balance) - len(arms), "arm")
    blocks: list[Block] = [Text(text), Table(columns, rows)]
    if is_installed("matplotlib") and any(arm.units for arm in arms):
        from equipoise.report.experiment_figures import balance_figure

        blocks.append(balance_figure(arms))
    return [*blocks, _differences(balance, arms)]


def _differences(balance: Balance, arms: Sequence[ArmBalance]) -> Table:
    """Standardised differences of every feature that varies, those that are farthest out first."""
    sizes = np.max(np.abs([arm.differences for arm in balance]), axis=0)
    order = [j for j in np.argsort(-sizes, kind="stable").tolist() if sizes[j] > 0.0][:MOST_FEATURES]
    few = arms[:12]
    rows = [[balance.names[j], *(f"{arm.differences[j]:+.2f}" for arm in few)] for j in order]
    left = "" if len(few) == len(balance) and len(order) == np.count_nonzero(sizes) else " The largest ones."
    caption = f"Standardised differences of the features' means, by arm.{left}"
    return Table(["", *(shortened(arm.arm) for arm in few)], rows, caption=caption)


def _distance(arm: ArmBalance) -> float:
    return max(abs(arm.length_difference), abs(arm.largest_difference))


def fit_blocks(fit: LackOfFit, names: Sequence[str]) -> list[Block]:
    """Tests of the straight line."""
    verdict = _straightness(fit)
    if fit.p_value < 0.05:
        if fit.clearest is not None:
            i, j = fit.clearest
            term = f"the square of {names[i]}" if i == j else f"the product of {names[i]} and {names[j]}"
            verdict += f" What is missing most clearly is {term}."
        verdict += (
            " Intervals of the usual kind promise nothing then: read robust ones, and where lots were drawn "
            "the models by propensities; or add the features that are missing."
        )
    lines = fit.records()
    if not any(_is_tested(line) for line in lines):
        return [Text(f"{verdict} Nothing could be tested: that takes more outcomes than there are yet.")]
    text = (
        f"{verdict} Tried were r, the squares of the features and the products of two, unless these are too "
        "many, for each arm and for what all arms share; a dash stands where outcomes do not suffice. "
        "Curves without these, such as an S, can pass."
    )
    shown = [*lines[:-1][:MOST_ARMS], lines[-1]]
    rows = [
        [
            line["arm"] or "all arms",
            str(line["observed"]),
            *("–" if line[name] == _UNTESTED else p_value(line[name]) for name in _TESTS),
            p_value(line["p_value"]) if _is_tested(line) else "–",
        ]
        for line in shown
    ]
    columns = ["arm", "outcomes", "p of r", "p of squares", "p of products", "p, corrected"]
    return [Text(text + further(len(lines) - len(shown), "arm")), Table(columns, rows)]


def _is_tested(line: Mapping[str, object]) -> bool:
    """Whether any test could be made; those that could not have p = 1."""
    return any(line[name] != _UNTESTED for name in _TESTS)


def _weighted(experiment: Experiment) -> WeightedEstimates | None:
    try:
        return experiment.weighted_estimates()
    except NoPropensities:
        return None


def _naive(
    experiment: Experiment, estimates: Estimates, fits: WeightedEstimates | None, *, drawn: bool
) -> list[Block]:
    at_hand = not isinstance(experiment.policy, AbsentPolicy)
    return naive_blocks(estimates, lambda arm: experiment.data(arm)[1], fits, drawn=drawn, corrected=at_hand)


def weighted_blocks(fits: WeightedEstimates) -> list[Block]:
    """Best linear fits by propensities."""
    text = (
        f"Best linear fits for the {counted(fits.units, 'unit')} at which every arm was possible, "
        "weighted by the probabilities of their arms: right whatever the truth, and wider. Little is "
        "promised of an arm whose outcomes weigh as much as few units."
    )
    arms = fits[:MOST_ARMS]
    weights = [[arm.arm, str(arm.observed), f"{arm.effective:.0f}"] for arm in arms]
    shown = range(min(len(fits[0].coef), MOST_FEATURES))
    level = f"{100 * fits[0].confidence:g} % intervals"
    return [
        Text(text + further(len(fits) - len(arms), "arm")),
        Table(["arm", "outcomes", "weigh as much as"], weights),
        coefficient_cells(arms, shown, fits[0].features, f"Best linear fits with {level}."),
    ]


def chance_blocks(experiment: Experiment) -> list[Block]:
    """How predictable the next arm was, and the test over redrawn lots."""
    found = experiment.predictability()
    if not found.units:
        return [Text("No unit has been assigned yet.")]
    rows = [
        ["knows rule, past and context", f"{100 * found.best:.1f} %"],
        [f"knows past arms, names {found.past_names}", f"{100 * found.past:.1f} %"],
        ["blind", f"{100 * found.chance:.1f} %"],
    ]
    blocks: list[Block] = [
        Text("Who can guess the next arm can choose whom to enrol."),
        Table(["guesser", "correct"], rows),
    ]
    try:
        test = experiment.randomisation_test(draws=max(100, min(_DRAWS, _DRAWN_UNITS // found.units)))
    except (NoPropensities, NotReplayable, PolicyNotAtHand) as refused:
        return [*blocks, Text(f"There is no randomisation test: {refused}.")]
    text = (
        f"Randomisation test of no difference between arms: {p_text(test.p_value)}. The rule was replayed "
        f"over {test.draws:,} redrawn lots; no model is assumed. The statistic, {test.statistic:.3g}, is the "
        "largest standardised difference of two arms' mean residuals from one common line."
    )
    return [*blocks, Text(text)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
