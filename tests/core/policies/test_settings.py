"""What a policy is checked for before it runs, in experiments and in the lab alike; and its settings."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import pytest
from built_in import BUILT_IN

import equipoise as eq
from equipoise.core.policies.base.settings import score_settings
from equipoise.errors import BudgetTooSmall, InvalidPolicy, LimitConflict

PROBLEM = eq.Problem(3, 2, budget=60, moment=np.eye(2))


def in_an_experiment(scenario, policy):
    eq.Experiment(scenario.problem(), policy.informed(scenario.noise))


def in_the_lab(scenario, policy):
    eq.simulate(scenario, [policy], trials=1)


def on_a_table(scenario, policy):
    rng = np.random.default_rng(1)
    columns = {f"x{c}": rng.normal(size=200) for c in range(scenario.dim - 1)}
    targets = {f"y{i}": rng.normal(size=200) for i in range(len(scenario.noise))}
    table = {**columns, **targets}
    eq.replay(table, [policy], targets=list(targets), budget=scenario.budget, trials=1, saved=False)


# The same answer everywhere


@pytest.mark.parametrize("where", [in_an_experiment, in_the_lab, on_a_table])
@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"sparse-oracle"}))
def test_budgets_below_the_start_have_the_same_answer_everywhere(name, where):
    scenario = eq.GaussianScenario(noise=[0.5, 1.0, 2.0], dim=10, budget=30)
    policy = eq.parse_policy(name)
    if type(policy).forced_start:
        with pytest.raises(BudgetTooSmall, match=rf"{name} needs a budget of .* m\(d\+1\) = 33, not 30"):
            where(scenario, policy)
    else:
        where(scenario, policy)


@pytest.mark.parametrize("where", [in_an_experiment, in_the_lab])
@pytest.mark.parametrize("name", ["uniform", "oracle", "trace-ucb", "trace-gain", "gafs-max"])
def test_caps_that_leave_no_model_have_the_same_answer_everywhere(name, where):
    scenario = eq.GaussianScenario(noise=[1.0, 1.0], dim=10, budget=60, caps=(5, None))
    with pytest.raises(LimitConflict, match="can never be estimated: that takes 11 units"):
        where(scenario, eq.parse_policy(name))
    where(scenario, eq.parse_policy("sparse-trace-ucb:support=0,1"))


@pytest.mark.parametrize("where", [in_an_experiment, in_the_lab])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("oracle:noise=1,2", "2 noise variances for 3 arms"),
        ("static-lasso:noise=1,0,1", "gets no units"),
        ("sparse-oracle:noise=1,2:support=0", "2 noise variances for 3 arms"),
        ("sparse-trace-ucb:support=9", "names feature 9"),
        ("sparse-trace-ucb:sparsity=9", "more than the 4 features"),
        ("trace-ucb:width=theory:bound=1e308", "not a finite number"),
        ("ch-as:delta=1e-320", "not a finite number"),
    ],
)
def test_what_a_policy_refuses_it_refuses_everywhere(spec, message, where):
    scenario = eq.GaussianScenario(noise=[0.5, 1.0, 2.0], dim=4, budget=100)
    with pytest.raises(InvalidPolicy, match=message):
        where(scenario, eq.parse_policy(spec))


def test_a_user_s_own_check_is_asked_everywhere():
    @eq.register("test-settings-fussy")
    class Fussy(eq.Policy):
        def check(self, problem):
            super().check(problem)
            if len(problem.arms) > 2:
                raise InvalidPolicy("two arms are enough")

        @staticmethod
        def score(arm, trial, settings):
            return -float(arm.count)

    for arms in (2, 3):
        scenario = eq.GaussianScenario(noise=[1.0] * arms, dim=2, budget=30)
        for where in (in_an_experiment, in_the_lab, on_a_table):
            if arms == 2:
                where(scenario, Fussy())
            else:
                with pytest.raises(InvalidPolicy, match="two arms are enough"):
                    where(scenario, Fussy())


# Settings


@dataclass(frozen=True, kw_only=True)
class Fields(eq.Policy):
    """Fields and no settings()."""

    low: float = 0.5
    word: str = "any"
    high: int = 7
    flag: bool = True

    @staticmethod
    def score(arm, trial, settings):
        return settings[0] + settings[2] + settings[3]


def test_fields_are_the_settings_in_their_order():
    np.testing.assert_array_equal(Fields().settings(PROBLEM), [0.5, np.nan, 7.0, 1.0])
    scores = eq.Experiment(PROBLEM, Fields(low=2.5)).policy.settings(PROBLEM)
    assert scores[0] == 2.5
    experiment = eq.Experiment(PROBLEM, Fields(low=2.5))
    for t in range(12):
        unit = experiment.ask([1.0 + t % 3, t % 2])
        experiment.tell(unit.id, float(t % 5))
    assert set(experiment.ask([1.0, 0.0]).scores.values()) == {2.5 + 7.0 + 1.0}


def test_beyond_the_settings_there_is_nothing_to_read():
    settings = score_settings(Fields(), PROBLEM)
    count = len(Fields().settings(PROBLEM))
    assert settings[0] == count
    np.testing.assert_array_equal(settings[1:-1], Fields().settings(PROBLEM))
    assert np.isnan(settings[-1])


TABLE = (1.0, 2.0, 3.0)
SHIFT = 2


@numba.njit
def compiled_helper(settings, place):
    return settings[place + SHIFT]


@numba.njit
def helper(settings, place):
    return compiled_helper(settings, place)


def reads_one(arm, trial, settings):
    return settings[0] * arm.trace


def reads_last(arm, trial, settings):
    return settings[-1] * arm.trace


def reads_by_arm(arm, trial, settings):
    return settings[arm.position]


def reads_by_count(arm, trial, settings):
    return settings[arm.count]


def reads_by_step(arm, trial, settings):
    return settings[trial.step] if trial.step > 20 else 0.0


def reads_in_a_helper(arm, trial, settings):
    return helper(settings, 0)


def reads_in_a_loop(arm, trial, settings):
    total = 0.0
    for i in range(3):
        total += settings[i]
    return total


def policy_of(function, values):
    class Table(eq.Policy):
        def settings(self, problem):
            return values

        score = staticmethod(function)

    return Table()


@pytest.mark.parametrize(
    ("function", "enough"),
    [
        (reads_one, 1),
        (reads_by_arm, 3),
        (reads_by_count, 60),
        (reads_by_step, 60),
        (reads_in_a_helper, 3),
        (reads_in_a_loop, 3),
    ],
)
def test_reading_beyond_the_settings_is_refused(function, enough):
    eq.Experiment(PROBLEM, policy_of(function, np.ones(enough)))
    there = f"are {enough - 1 or 'no'} settings"
    with pytest.raises(InvalidPolicy, match=rf"reads settings\[\d+\], and there {there}"):
        eq.Experiment(PROBLEM, policy_of(function, np.ones(enough - 1)))
    eq.Experiment(PROBLEM, policy_of(function, np.ones(enough)))  # an error leaves nothing behind


def test_places_before_the_first_do_not_exist():
    with pytest.raises(InvalidPolicy, match=r"reads settings\[-1\]"):
        eq.Experiment(PROBLEM, policy_of(reads_last, np.ones(5)))


def test_errors_that_only_python_makes_refuse_nothing():
    @eq.register("test-settings-division")
    def division(arm, trial, settings):
        if arm.count == 0:
            return np.inf
        values = [1.0 / (arm.count - arm.observed)]  # compiled: infinity
        return values[0]

    eq.Experiment(
        eq.Problem(2, 2, budget=30), policy_of(lambda arm, trial, settings: 1 / (arm.count * 0), [])
    )
    with pytest.raises(InvalidPolicy, match="cannot be compiled"):  # lists are for the compiler to refuse
        eq.Experiment(eq.Problem(2, 2, budget=30), "test-settings-division")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0]], "one dimension"),
        (5.0, "one dimension"),
        ("wide", "not a list of numbers"),
        (["a"], "not a list of numbers"),
        (None, "not a list of numbers|one dimension"),
        ([1.0, np.nan], r"settings\[1\] of .* is nan"),
        ([np.inf], r"settings\[0\] of .* is inf"),
        ([1j], "not a list of numbers"),
    ],
)
def test_settings_that_are_none(values, message):
    with pytest.raises(InvalidPolicy, match=message):
        eq.Experiment(PROBLEM, policy_of(reads_one, values))


def test_settings_are_copied():
    values = np.ones(3)
    settings = score_settings(policy_of(reads_one, values), PROBLEM)
    values[0] = 9.0
    assert settings[1] == 1.0


def test_a_module_constant_that_changes_is_seen(monkeypatch):
    """In a notebook a constant is changed and the next experiment begun."""

    @eq.register("test-settings-constant")
    def by_sign(arm, trial, settings):
        return SIGN * arm.position

    def favourite():
        experiment = eq.Experiment(eq.Problem(3, 1, budget=30, moment=[[1.0]]), "test-settings-constant")
        for t in range(30):
            experiment.tell(experiment.ask([1.0 + t % 3]).id, float(t % 4))
        return max(experiment.counts, key=experiment.counts.get)

    assert favourite() == "arm-3"
    monkeypatch.setitem(globals(), "SIGN", -1.0)
    assert favourite() == "arm-1"


SIGN = 1.0
