"""Claims on hand-made results: the verdict follows from the curves alone."""

import math

import pytest

from equipoise.studies.losses import Losses
from equipoise.studies.reproduce import CLAIMS, PANELS, Check, Finding, Measured, PanelResult, Point, Verdict
from equipoise.studies.verdicts import crossover, number

POLICIES = ("uniform", "oracle", "var-ucb", "trace-ucb")
HOLDS, PARTLY, FAILS, UNKNOWN = Verdict


def verdict(claim_id, stderr=1e-6, **curves):
    """The verdict on curves given as a function of 0 … 1 along the axis, or as a constant; oracle is 1."""
    claim = next(claim for claim in CLAIMS if claim.id == claim_id)
    panel = PANELS[claim.panel]
    scenarios = panel.sweep.arenas
    points = []
    for place, scenario in enumerate(scenarios):
        t = place / (len(scenarios) - 1)
        given = {"oracle": 1.0, **{name.replace("_", "-"): curve for name, curve in curves.items()}}
        values = {name: curve(t) if callable(curve) else curve for name, curve in given.items()}
        spread = tuple(
            tuple(stderr**2 if i == j else 0.0 for j in range(len(values))) for i in range(len(values))
        )
        points.append(Point(scenario.dim, scenario.budget, 1_000, {panel.loss: Losses(values, spread)}))
    return claim.find({panel.id: PanelResult(panel, points)}).verdict


def rising(low, high):
    return lambda t: low + (high - low) * t


@pytest.mark.parametrize(
    ("claim", "expected", "curves"),
    [
        ("a1", HOLDS, {"var_ucb": rising(1.0, 3.0)}),
        ("a1", PARTLY, {"var_ucb": rising(1.0, 1.2)}),
        ("a1", PARTLY, {"var_ucb": rising(4.0, 2.0)}),
        ("a1", FAILS, {"var_ucb": rising(1.2, 1.0)}),
        ("a2", HOLDS, {"trace_ucb": 1.24}),
        ("a2", PARTLY, {"trace_ucb": rising(1.0, 1.5)}),
        ("a2", FAILS, {"trace_ucb": 1.26}),
        # Dimensions are 5, 10, 15, 20, 23, 25, …: the ratio passes 1 at places 3 to 5, or early.
        ("b1", HOLDS, {"uniform": 1.0, "var_ucb": rising(0.5, 1.5)}),
        ("b1", PARTLY, {"uniform": 1.0, "var_ucb": rising(0.9, 3.0)}),
        ("b1", FAILS, {"uniform": 1.0, "var_ucb": lambda t: 2.0 if t < 0.9 else 0.5}),
        ("b2", HOLDS, {"trace_ucb": 1.2}),
        ("b2", PARTLY, {"trace_ucb": rising(1.0, 1.5)}),
        ("b2", FAILS, {"trace_ucb": 2.0}),
        ("c1", HOLDS, {"trace_ucb": 1.09}),
        ("c1", PARTLY, {"trace_ucb": rising(1.0, 1.2)}),
        ("c1", FAILS, {"trace_ucb": 1.11}),
        ("c2", HOLDS, {"trace_ucb": 1.0, "var_ucb": rising(1.5, 1.25)}),
        ("c2", PARTLY, {"trace_ucb": 1.0, "var_ucb": rising(2.0, 1.0)}),
        ("c2", FAILS, {"trace_ucb": 1.0, "var_ucb": 1.2}),
        ("c2", FAILS, {"trace_ucb": 1.0, "var_ucb": 1.6}),
        ("c3", HOLDS, {"trace_ucb": 1.0, "uniform": 1.1, "var_ucb": 1.1}),
        ("c3", PARTLY, {"trace_ucb": 1.0, "uniform": 0.9, "var_ucb": 1.1}),
        ("c3", FAILS, {"trace_ucb": 1.0, "uniform": 0.9, "var_ucb": 0.9}),
        ("d1", HOLDS, {"var_ucb": 1.0, "uniform": rising(3.0, 0.0001)}),
        ("d1", PARTLY, {"var_ucb": 1.0, "uniform": rising(2.0, 1.0)}),
        ("d1", FAILS, {"var_ucb": 1.0, "uniform": rising(0.5, 3.0)}),
        ("d2", HOLDS, {"trace_ucb": 1.0, "uniform": 2.0, "var_ucb": 2.0}),
        ("d3", FAILS, {"trace_ucb": 1.3}),
        ("e1", HOLDS, {"trace_ucb": 1.0}),
        ("e2", HOLDS, {"trace_ucb": 1.0, "var_ucb": rising(3.0, 1.26)}),
        ("e2", FAILS, {"trace_ucb": 1.0, "var_ucb": rising(3.0, 1.24)}),
        ("f1", HOLDS, {"uniform": 1.0, "var_ucb": rising(1.2, 0.5)}),
        ("f1", PARTLY, {"uniform": 1.0, "var_ucb": rising(3.0, 0.9)}),
        ("f1", FAILS, {"uniform": 1.0, "var_ucb": rising(0.5, 1.5)}),
        ("f2", HOLDS, {"var_ucb": rising(3.0, 1.05), "trace_ucb": 1.0}),
        ("f2", PARTLY, {"var_ucb": rising(3.0, 1.15), "trace_ucb": 1.1}),
        ("f2", FAILS, {"var_ucb": 1.3, "trace_ucb": 1.0}),
        ("f3", PARTLY, {"trace_ucb": rising(1.2, 1.0)}),
    ],
)
def test_verdicts(claim, expected, curves):
    others = dict.fromkeys(("uniform", "var_ucb", "trace_ucb"), 1.0)
    if claim == "d1" and expected is HOLDS:
        curves["uniform"] = lambda t: 3.0 if t < 0.5 else 1.05
    assert verdict(claim, **{**others, **curves}) == expected


def test_every_claim_is_about_a_panel_and_has_its_own_id():
    assert {claim.panel for claim in CLAIMS} == {*PANELS, "jester", "movielens"}
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.id.startswith(claim.panel[0]) for claim in CLAIMS)


def test_the_crossover_and_its_error():
    ratios = [Measured(10, 0.5, 0.01), Measured(20, 0.8, 0.04), Measured(30, 1.25, 0.05)]
    found = crossover(ratios)
    assert found.value == pytest.approx(25.0)
    # Both logs are ±0.223 with errors 0.05 and 0.04: a shift of 10·0.223·hypot/(0.446)².
    assert found.stderr == pytest.approx(10 * math.log(1.25) * math.hypot(0.05, 0.04) / math.log(1.5625) ** 2)


def test_the_error_of_the_crossover_is_that_of_repeated_draws():
    import numpy as np

    rng = np.random.default_rng(1)
    draws = [
        crossover([Measured(20, 0.7 + 0.02 * e, 0.02), Measured(30, 1.2 + 0.03 * f, 0.03)])
        for e, f in rng.standard_normal((4_000, 2))
    ]
    spread = np.std([draw.value for draw in draws])
    # 4,000 draws know their spread to 1.1 %; six of that, and the delta method's own few per cent.
    assert crossover([Measured(20, 0.7, 0.02), Measured(30, 1.2, 0.03)]).stderr == pytest.approx(
        spread, rel=0.1
    )


def test_without_a_crossing_there_is_no_crossover():
    found = crossover([Measured(1, 0.5, 0.1), Measured(2, 0.6, 0.1)])
    assert math.isnan(found.value)
    check = Check("crossover d", "", found, 20, 26)
    assert not check.met
    assert check.record()["value"] is None
    assert "none" in Finding("x", "b", "…", (check,), 100).lines[0]


def test_a_number_near_its_limit_is_said_to_be():
    near = Check("ratio", "n", Measured(360, 1.24, 0.02), low=1.25)
    far = Check("ratio", "n", Measured(360, 1.20, 0.02), low=1.25)
    assert (near.met, near.clear, far.met, far.clear) == (False, False, False, True)
    assert "within 2 s.e." in Finding("x", "e", "…", (near,), 100).lines[0]
    assert "within 2 s.e." not in Finding("x", "e", "…", (far,), 100).lines[0]


def test_numbers_are_printed_to_their_error():
    assert number(Measured(0, 1.23456, 0.0123)) == "1.235 ± 0.012"
    assert number(Measured(0, -1.5, 0.25)) == "−1.50 ± 0.25"
    assert number(Measured(0, 123.4, 23.0)) == "123 ± 23"


@pytest.mark.parametrize(("trials", "expected"), [(4, UNKNOWN), (29, UNKNOWN), (30, HOLDS)])
def test_a_few_trials_judge_nothing(trials, expected):
    finding = Finding("x", "b", "…", (Check("ratio", "d", Measured(5.0, 1.0, 0.01), high=2.0),), trials)
    assert finding.verdict == expected
    assert finding.record()["trials"] == trials
    assert "ratio" in finding.lines[0]  # what was measured is said all the same
