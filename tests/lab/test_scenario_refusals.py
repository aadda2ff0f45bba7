"""What makes no sense in a scenario is refused, before anything is simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces import (
    Accrual,
    BinaryContexts,
    Closure,
    CountOutcomes,
    Delay,
    DiscreteContexts,
    DriftingContexts,
    DropOut,
    OneHotContexts,
    SiteContexts,
    SkewedContexts,
    SkewedNoise,
    StopRule,
    StudentContexts,
    StudentNoise,
    YesNoOutcomes,
)

PLAIN = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=60)
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": []}, "noise"),
        ({"noise": [1.0, -0.5]}, "variances of at least 0"),
        ({"noise": [1.0, NAN]}, "variances of at least 0"),
        ({"noise": [1.0, INF]}, "variances of at least 0"),
        ({"noise": 2.0}, "not a list of numbers"),
        ({"noise": "12"}, "not a list of numbers"),
        ({"noise": ["1", "2"]}, "not a list of numbers"),
        ({"noise": None}, "not a list of numbers"),
        ({"dim": 0}, "dim=0 is not a whole number of at least 1"),
        ({"dim": 2.0}, "dim=2.0"),
        ({"dim": True}, "dim=True"),
        ({"dim": "2"}, "dim='2'"),
        ({"budget": 0}, "budget=0"),
        ({"budget": None}, "budget=None"),
        ({"intercept": "yes"}, "neither True nor False"),
        ({"intercept": 2}, "neither True nor False"),
        ({"intercept": True, "contexts": OneHotContexts()}, "leave intercept out"),
        ({"contexts": "student"}, "contexts='student' .*StudentContexts"),
        ({"contexts": None}, "contexts=None"),
        ({"contexts": StudentNoise()}, "contexts=StudentNoise"),
        ({"noise_shape": StudentContexts()}, "noise_shape=StudentContexts"),
        ({"delay": 5}, "delay=5"),
        ({"coef": [[1.0, 2.0]]}, r"coef has shape \(1, 2\), expected \(2, 2\)"),
        ({"coef": [[1.0, 2.0], [3.0]]}, "not a matrix of numbers"),
        ({"coef": [[1.0, 2.0], [3.0, NAN]]}, "not finite"),
        ({"coef": [1.0, 2.0]}, "rows of numbers"),
        ({"coef": "drawn"}, "coef"),
        ({"heteroscedasticity": -0.1}, "heteroscedasticity=-0.1"),
        ({"heteroscedasticity": "much"}, "heteroscedasticity='much' is not a number"),
        ({"coef_drift": -1.0}, "coef_drift"),
        ({"curvature": INF}, "curvature"),
        ({"curvature": True}, "curvature=True"),
        ({"curvature": 0.5, "contexts": OneHotContexts()}, "every truth is linear"),
        ({"curvature": 0.5, "dim": 1, "intercept": True}, "curvature needs a feature that varies"),
        ({"heteroscedasticity": 0.5, "dim": 1, "intercept": True}, "needs a feature that varies"),
        ({"curved": "some"}, "curved='some'"),
        ({"outcomes": "yes-no"}, "outcomes='yes-no'"),
        ({"outcomes": CountOutcomes()}, "need an intercept and Gaussian contexts"),
        (
            {"outcomes": CountOutcomes(), "intercept": True, "contexts": StudentContexts()},
            "need an intercept",
        ),
        ({"outcomes": CountOutcomes(), "intercept": True, "curvature": 1.0}, "no room for curvature"),
        (
            {"outcomes": CountOutcomes(), "intercept": True, "noise_shape": StudentNoise()},
            "no room for noise_shape",
        ),
        ({"outcomes": YesNoOutcomes(), "intercept": True}, "noise of 0.5: .* between .* and 0.236"),
        (
            {"outcomes": CountOutcomes(), "intercept": True, "coef": [[1.0, 1.0], [0.0, 1.0]]},
            "0 for the intercept",
        ),
        (
            {"outcomes": CountOutcomes(), "intercept": True, "coef": [[0.0, 1.0], [0.0, 0.0]]},
            "not 0 everywhere",
        ),
        ({"costs": [1.0, 2.0], "contexts": SiteContexts()}, "arms that cost the same"),
        ({"costs": [1.0, 2.0], "contexts": DriftingContexts()}, "arms that cost the same"),
        ({"noise_drift": NAN}, "noise_drift"),
        ({"moment": "guess"}, "use 'true', 'learned' or a matrix"),
        ({"moment": None}, "use 'true', 'learned' or a matrix"),
        ({"moment": [[1.0]]}, "shape"),
        ({"moment": [[1.0, 2.0], [2.0, 1.0]]}, "not positive definite"),
        ({"lost": 1.0}, "probability below 1"),
        ({"lost": -0.1}, "lost=-0.1"),
        ({"lost": NAN}, "lost=nan"),
        ({"estimator": "ridge", "ridge": -1.0}, "ridge=-1.0 is not a number of at least 0"),
        ({"estimator": "ridge", "ridge": "auto"}, "ridge='auto' is not a number"),
        ({"estimator": "ridge", "ridge": [1.0]}, "ridge"),
        ({"estimator": "auto"}, "no estimator is called 'auto' .*'pooled'"),
        ({"ridge": 0.5}, "say estimator='ridge'"),
        ({"objective": "median"}, "objective='median'"),
        ({"objective": 0.5}, "at least 1"),
        ({"objective": [1.0]}, "objective"),
        ({"weights": [1.0]}, "1 weights for 2 arms"),
        ({"weights": [1.0, 0.0]}, "positive"),
        ({"weights": 3}, "not a list of numbers"),
        ({"costs": [1.0]}, "1 costs for 2 arms"),
        ({"costs": [1.0, -1.0]}, "cost -1.0 of arm 'arm-2' is not a positive number"),
        ({"costs": [1.0, 1.0], "budget": -3.5}, "budget=-3.5"),
        ({"budget": 60.5}, "budget=60.5 is not a whole number"),
        ({"costs": [1.0, 2.0], "coef_drift": 0.5}, "arms that cost the same"),
        ({"costs": [1.0, 2.0], "noise_drift": -0.5}, "arms that cost the same"),
        ({"costs": [1e-15, 1.0]}, "more than can be counted"),
        ({"floors": [1.5, 0]}, "floors=1.5 is not a whole number"),
        ({"floors": "none"}, "not a list of whole numbers"),
        ({"floors": [50, 11]}, "does not pay for the floors"),
        ({"caps": [3, 3]}, "the caps leave 54 of the budget"),
        ({"caps": [30, "no"]}, "caps='no' is not a whole number"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(InvalidScenario, match=message):
        PLAIN.replace(**change)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ("ar1", "use identity, ar1:RHO"),
        ("ar1:1", "use identity, ar1:RHO"),
        ("ar1:-1.5", "use identity, ar1:RHO"),
        ("ar1:nan", "use identity, ar1:RHO"),
        ("ar1:half", "use identity, ar1:RHO"),
        ("diagonal", "use identity, ar1:RHO"),
        ([[1.0, 0.5]], r"shape \(1, 2\), expected \(2, 2\)"),
        (np.eye(3), r"shape \(3, 3\), expected \(2, 2\)"),
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric"),
        ([[1.0, NAN], [NAN, 1.0]], "not finite"),
        ([[1.0, 2.0], [2.0, 1.0]], "not positive definite"),
        ([[1.0, 1.0], [1.0, 1.0]], "not positive definite"),
        ([[1.0, 1 - 1e-16], [1 - 1e-16, 1.0]], "not positive definite"),
        ([[0.0, 0.0], [0.0, 0.0]], "not positive definite"),
        (3.0, "rows of numbers"),
        ([["a", "b"], ["c", "d"]], "holds text"),
    ],
    ids=str,
)
@pytest.mark.parametrize("moment", ["true", "learned"])
def test_bad_covariances_are_refused(covariance, message, moment):
    with pytest.raises(InvalidScenario, match=message):
        eq.GaussianScenario(noise=[1.0, 2.0], dim=2, budget=60, covariance=covariance, moment=moment)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentContexts(dof=2.0), "no variance .*above 2"),
        (lambda: StudentContexts(dof=NAN), "no variance"),
        (lambda: StudentContexts(dof="5"), "dof='5' is not a number"),
        (lambda: StudentNoise(dof=1.0), "no variance .*above 2"),
        (lambda: StudentNoise(dof=None), "dof=None is not a number"),
        (lambda: SkewedNoise(shape=0.0), "not a positive number"),
        (lambda: SkewedNoise(shape="long"), "shape='long' is not a number"),
        (lambda: SkewedContexts(shape=0.0), "not a positive number"),
        (lambda: BinaryContexts(share=0.0), "share=0.0 is not between 0 and 1"),
        (lambda: BinaryContexts(share=1.0), "share=1.0 is not between 0 and 1"),
        (lambda: SiteContexts(sites=0), "sites=0"),
        (lambda: SiteContexts(between=1.0), "between=1.0 is not a share"),
        (lambda: DriftingContexts(shift=3.5), "below √12"),
        (lambda: DriftingContexts(shift=NAN), "below √12"),
        (lambda: YesNoOutcomes(effect=-0.1), "effect=-0.1 is not between 0 and 5"),
        (lambda: CountOutcomes(effect=1.5), "effect=1.5 is not between 0 and 1"),
        (lambda: YesNoOutcomes(effect="much"), "effect='much' is not a number"),
        (lambda: YesNoOutcomes().noise([0.0]), "not between 0 and 1"),
        (lambda: YesNoOutcomes().noise([1.0]), "not between 0 and 1"),
        (lambda: CountOutcomes().noise([0.0]), "rate of 0.0"),
        (lambda: CountOutcomes().noise([1e4]), "rate of 10000.0"),
        (lambda: YesNoOutcomes().rates([0.25]), "noise of 0.25: with effect=0.5 it lies between"),
        (lambda: DiscreteContexts(levels=1), "at least 2"),
        (lambda: DiscreteContexts(levels=2.5), "levels=2.5"),
        (lambda: OneHotContexts(probabilities=(0.5, 0.6)), "sum to 1"),
        (lambda: OneHotContexts(probabilities=(0.0, 1.0)), "positive"),
        (lambda: OneHotContexts(probabilities=0.5), "not a list of numbers"),
        (lambda: PLAIN.replace(contexts=OneHotContexts(probabilities=(1.0,))), "1 probabilities for 2"),
        (lambda: Delay(mean=0.0), "leave delay out"),
        (lambda: Delay(mean=-1.0), "leave delay out"),
        (lambda: Delay(mean=INF), "not between"),
        (lambda: Delay(mean=1e12), "not between"),
        (lambda: Delay(mean="long"), "mean='long' is not a number"),
        (lambda: Delay(shape="normal"), "use fixed, geometric, uniform"),
        (lambda: Delay(shape=[]), "use fixed, geometric, uniform"),
        (lambda: PLAIN.replace(delay=Delay(mean=2.5, shape="fixed")), "whole units"),
        (lambda: PLAIN.replace(delay=Delay(mean=0.3, shape="uniform")), "whole units"),
        (lambda: PLAIN.replace(delay=Delay(mean=3.0, least=0.5)), "whole units .* is at least 0.5"),
        (lambda: Delay(mean=3.0, least=4.0), "at least 4.0 does not have the mean 3.0"),
        (lambda: Delay(mean=3.0, least=3.0), "does not have the mean 3.0"),
        (lambda: Delay(mean=3.0, least=-1.0), "does not have the mean 3.0"),
        (lambda: Accrual(rate=0.0), "rate=0.0 is not a positive number"),
        (lambda: Accrual(rate=4, ramp=-1), "ramp=-1.0"),
        (lambda: Accrual(rate=4, batch=0), "batch=0"),
        (lambda: Accrual(rate=4, pattern="even"), "use poisson, steady"),
        (lambda: Accrual(rate=4, time=""), "time='' is not a word"),
        (lambda: DropOut(rate=-0.1), "rate=-0.1"),
        (lambda: DropOut(rate=[]), "rate"),
        (lambda: PLAIN.replace(delay=Delay(), drop_out=DropOut(rate=[0.1] * 3)), "3 rates .* 2 arms"),
        (lambda: PLAIN.replace(drop_out=DropOut(rate=0.1)), "at once .*delay="),
        (
            lambda: PLAIN.replace(delay=Delay(mean=3.0, shape="fixed"), drop_out=DropOut(rate=[0.1, 1e300])),
            r"rate=1e\+300 leaves nobody",
        ),
        (lambda: Closure(3), "does not name an arm"),
        (lambda: Closure("a", after=5, until=5), "after 5 and until 5"),
        (
            lambda: PLAIN.replace(closures=[Closure("arm-1"), Closure("arm-2", until=5)]),
            "all arms are closed",
        ),
        (lambda: Closure("a", after=-1), "cannot be closed"),
        (lambda: Closure("a", after=1.5), "whole units"),
        (lambda: Closure("a", by="weeks"), "use 'units' or 'time'"),
        (lambda: PLAIN.replace(closures=[Closure("high", after=5)]), "no arm 'high' .*arm-1, arm-2"),
        (lambda: PLAIN.replace(closures=[Closure("arm-1", after=5, by="time")]), "accrual="),
        (lambda: PLAIN.replace(closures=["arm-1"]), "'arm-1' in closures is not a closure"),
        (lambda: StopRule(target=0.0), "target=0.0"),
        (lambda: StopRule(target=0.1, every=0), "every=0"),
        (lambda: StopRule(target=0.1, by="chance"), "use 'objective' or 'bound'"),
        (lambda: PLAIN.replace(arms=["a", "a"]), "'a' is in arms twice"),
        (lambda: PLAIN.replace(arms=["a"]), "1 names for 2 arms"),
        (lambda: PLAIN.replace(arms="ab"), "arms='ab' is not a list of names"),
        (lambda: PLAIN.replace(arms=["a", 2]), "2 in arms is not a name"),
        (lambda: PLAIN.replace(features=["a"]), "1 names for 2 features .*intercept"),
        (lambda: PLAIN.replace(features=["a", " "]), "' ' in features is not a name"),
        (lambda: PLAIN.replace(lost=[0.1]), "1 lost for 2 arms"),
        (lambda: PLAIN.replace(lost=[0.1, 1.0]), "lost=1.0 is not a probability"),
    ],
)
def test_bad_pieces_are_refused(make, message):
    with pytest.raises(InvalidScenario, match=message):
        make()


BASE = {"noise": [1.0, 2.0], "dim": 2, "budget": 60}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "does not say noise, dim, budget"),
        ({"noise": [1.0], "dim": 2}, "does not say budget"),
        ({**BASE, "nose": [1.0]}, "no 'nose' .*noise"),
        ({**BASE, 3: 1, "x": 2}, "a scenario has no"),
        ({**BASE, "contexts": "student"}, "a table with a kind .*binary, discrete, gaussian, drifting"),
        ({**BASE, "contexts": {"dof": 5}}, "a table with a kind"),
        ({**BASE, "contexts": {"kind": "cauchy"}}, "no contexts of kind 'cauchy'"),
        ({**BASE, "contexts": {"kind": ["student"]}}, "no contexts of kind"),
        ({**BASE, "contexts": {"kind": "student", "degrees": 5}}, "no 'degrees' .*covariance, dof"),
        ({**BASE, "noise_shape": {"kind": "gaussian", "dof": 5}}, "no 'dof' .*it takes kind"),
        ({**BASE, "delay": {"kind": "late"}}, "no delay of kind 'late'"),
        ({**BASE, "delay": {"average": 3}}, "no 'average' .*mean, shape"),
        ({**BASE, "contexts": None}, "contexts=None"),
        ([1, 2], "a table of values by name"),
        (None, "a table of values by name"),
    ],
    ids=str,
)
def test_bad_documents_are_refused(values, message):
    with pytest.raises(InvalidScenario, match=message):
        eq.Scenario.from_dict(values)


@pytest.mark.parametrize("text", ["noise = [1.0", "just words", "noise = [1.0]\nnoise = [2.0]"])
def test_documents_that_are_not_toml(text):
    with pytest.raises(InvalidScenario, match="not a TOML document"):
        eq.Scenario.from_toml(text)


def test_unknown_pieces_are_refused():
    with pytest.raises(TypeError, match="drift"):
        eq.GaussianScenario(noise=[1.0, 2.0], dim=2, budget=60, drift=1.0)


@pytest.mark.parametrize(
    "text",
    [
        "noise = " + "[" * 5_000 + "]" * 5_000,
        "noise = " + "{a = " * 5_000 + "1" + "}" * 5_000,
        "a" + ".a" * 5_000 + " = 1",
        "noise" + ".a" * 5_000 + " = 1\ndim = 2\nbudget = 20",
        "noise = [1.0]\ndim = 2\nbudget = 20\ncontexts" + ".kind" * 5_000 + " = 1",
        "noise = [1.0]\ndim = 2\nbudget = " + "9" * 5_000,
        "noise = [1.0]\ndim = 1e400\nbudget = 20",
        "noise = [1.0]\ndim = 2\nbudget = 20\nobjective = [[1]]",
        "noise = [2026-01-01]\ndim = 2\nbudget = 20",
        "\x00",
        "noise = [",
    ],
    ids=lambda text: text[:30],
)
def test_no_toml_brings_it_down(text):
    with pytest.raises(InvalidScenario):
        eq.Scenario.from_toml(text)


@pytest.mark.parametrize("name", ["pooled", "leave-one-out", "empirical-bayes", "ridge"])
def test_an_estimator_in_the_place_of_its_penalty(name):
    with pytest.raises(InvalidScenario) as caught:
        eq.Scenario.from_toml(f'noise = [1.0, 2.0]\ndim = 2\nbudget = 60\nridge = "{name}"')
    assert caught.value.hint == f"say estimator={name!r} instead"


@pytest.mark.parametrize("estimator", ["", 0, False])
def test_an_empty_estimator_is_not_the_scenario_s(estimator):
    with pytest.raises(InvalidScenario, match="no estimator is called"):
        eq.simulate(PLAIN, ["uniform"], trials=1, estimator=estimator)


def test_a_truth_value_is_no_penalty():
    with pytest.raises(InvalidScenario, match="not a number of at least 0"):
        PLAIN.replace(estimator="ridge", ridge=np.True_)


def test_covariances_of_a_short_scenario_go_with_contexts_that_have_one():
    student = eq.GaussianScenario(
        noise=[1.0], dim=2, budget=9, contexts=StudentContexts(dof=7), covariance="ar1:0.5"
    )
    assert student.contexts == StudentContexts(dof=7, covariance="ar1:0.5")
    with pytest.raises(InvalidScenario, match="take no covariance"):
        eq.GaussianScenario(noise=[1.0], dim=2, budget=9, contexts=OneHotContexts(), covariance="identity")
