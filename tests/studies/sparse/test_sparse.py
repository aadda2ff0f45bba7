import json
import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab.running import simulate as running
from equipoise.studies.losses import Losses, Measured
from equipoise.studies.reproduce import reproduce
from equipoise.studies.runner import Meter, Runner
from equipoise.studies.sparse import studies, support
from equipoise.studies.sparse.budget import LOSSES, POLICIES, BudgetStudy
from equipoise.studies.sparse.exact_recovery import CURVES, count_exact
from equipoise.studies.sparse.screen import ScreenStudy
from equipoise.studies.sparse.study import EQUAL, affordable, share_of, sparse_scenario
from equipoise.studies.sparse.support import SupportPoint, SupportResult, SupportStudy, crossing_of_half
from equipoise.studies.store import Store

TINY = {
    "support": SupportStudy(dims=(20, 40), pulls=(4, 8, 14), features=2),
    "sparse-budget": BudgetStudy(dim=20, features=2, budgets=(30, 160), asked_at=160),
    "sparse-screen": ScreenStudy(dim=20, features=2, budgets=(160,), screens=(4, 6, 12, 40)),
}
OPTIONS = {"trials_scale": 0.02, "seed": 3, "workers": 1}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    for name, study in TINY.items():
        monkeypatch.setitem(studies.STUDIES, name, study)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name, study in TINY.items():
            patch.setitem(studies.STUDIES, name, study)
        return reproduce(["sparse"], output=tmp_path_factory.mktemp("sparse"), **OPTIONS)


def text(found):
    return json.dumps(found.record(), allow_nan=False)


def runner(workers=1):
    return Runner(seed=3, workers=workers, store=Store(None), meter=Meter(1.0, None))


def test_everything_is_there(found):
    record = json.loads(text(found))
    assert list(record["sparse"]) == list(TINY)
    assert record["panels"] == {}
    assert record["policies"][: len(POLICIES)] == list(POLICIES)
    assert {claim["id"] for claim in record["claims"]} == {"s1", "s2", "s3", "n1", "n2", "l1"}
    assert record["trials"] == {
        "support": 4,
        "sparse-budget": 4,
        "sparse-budget, lasso": 2,
        "sparse-screen": 4,
    }
    assert all("units" in result for result in record["sparse"].values())
    assert json.loads((found.figures[0].parent / "reproduce.json").read_text()) == record


def test_figures_carry_their_settings(found):
    names = ["sparse-support", "sparse-budget", "sparse-screen"]
    assert [path.name for path in found.figures] == [f"{n}.{k}" for n in names for k in ("svg", "png")]
    for path in found.figures:
        written = path.read_bytes().decode("utf-8", "ignore")
        assert f"equipoise {eq.__version__}" in written
        assert "seed 3" in written
        assert "trials (s" in written


def test_the_table_has_claims_sentences_and_numbers(found):
    table = found.claims_table()
    assert table.startswith("| | asked of Sparse-Trace-UCB | measured | verdict |\n")
    for finding in found.sparse_findings:
        assert f"| {finding.id} | {finding.says} |" in table
    for result in found.sparse:
        for words in (*result.explanation(), *(part.title for part in result.tables())):
            assert words in table
    assert "(sparse-budget, lasso) 2" in table


@pytest.mark.slow
def test_a_second_run_measures_nothing_and_says_the_same(tmp_path, monkeypatch):
    first = reproduce(["sparse"], output=tmp_path, **OPTIONS)

    def refuse(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr(running, "run_chunk", refuse)
    monkeypatch.setattr(support, "count_exact", refuse)
    assert text(reproduce(["sparse"], output=tmp_path, **OPTIONS)) == text(first)
    with pytest.raises(AssertionError, match="measured again"):
        reproduce(["support"], output=tmp_path, **{**OPTIONS, "seed": 4})


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    whole = reproduce(["support", "sparse-screen"], output=tmp_path / "whole", **OPTIONS)
    count, calls = support.count_exact, []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return count(*given)

    monkeypatch.setattr(support, "count_exact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["support", "sparse-screen"], output=tmp_path / "parts", **OPTIONS)
    again = reproduce(["support", "sparse-screen"], output=tmp_path / "parts", **OPTIONS)
    assert text(again) == text(whole)
    assert len(calls) == 3 + 4  # two of six points were kept


@pytest.mark.slow
def test_progress_ends_at_the_whole(tmp_path):
    seen = []
    reproduce(["sparse"], output=tmp_path, progress=lambda *step: seen.append(step), **OPTIONS)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1] == pytest.approx(seen[-1][2])


def test_recovery_does_not_depend_on_workers_and_is_that_of_the_policy():
    scenario = sparse_scenario(EQUAL[:4], 20, 4 * 10, 3)
    counts = count_exact(scenario, 40, runner())
    assert counts == count_exact(scenario, 40, runner(workers=2))
    assert 0 < counts["unknown"] < 40
    # The same first stage, in a trial that goes on. What is left limits neither choice.
    longer = sparse_scenario(EQUAL[:4], 20, 4 * 40, 3)
    policies = {
        "known": "sparse-trace-ucb:screen=10:sparsity=3",
        "unknown": "sparse-trace-ucb:screen=10:shared=true",
    }
    result = eq.simulate(longer, list(policies.values()), trials=40, seed=3, workers=1)
    for curve, policy in policies.items():
        exact = np.all(result[policy].ledger.support == 0, axis=1)
        assert np.count_nonzero(exact) == counts[curve]


def test_crossings_are_found_with_their_error():
    shares = [share_of(exact, 200, at=at) for at, exact in ((0.2, 10), (0.3, 60), (0.4, 120), (0.5, 199))]
    found = crossing_of_half(shares)
    assert found.value == pytest.approx(0.3 + 0.1 * 40 / 60)
    rng = np.random.default_rng(1)
    draws = [
        crossing_of_half([share_of(rng.binomial(200, m.value), 200, at=m.at) for m in shares]).value
        for _ in range(4_000)
    ]
    assert found.stderr == pytest.approx(np.std(draws), rel=0.1)
    assert math.isnan(crossing_of_half(shares[:2]).value)


def test_a_share_of_none_or_all_has_an_error():
    none, all_of_them = (share_of(exact, 200, at=1.0).stderr for exact in (0, 200))
    assert none == pytest.approx(all_of_them)
    assert none > 0.0
    assert share_of(50, 200, at=1.0).stderr == pytest.approx(math.sqrt(0.25 * 0.75 / 200), rel=0.01)


@pytest.mark.parametrize(("offset", "verdict"), [(0.0, "holds"), (30.0, "does not hold")])
def test_one_curve_is_told_from_several(offset, verdict):
    points = []
    for dim in (100, 300, 1_000):
        for pulls in range(10, 120):
            rise = (pulls - offset - 4.0 * math.log(dim)) / (8.0 * math.log(dim))
            exact = int(np.clip(round(200 * (0.5 + 2.0 * rise)), 0, 200))
            points.append(SupportPoint(dim, pulls, 200, dict.fromkeys(CURVES, exact)))
    result = SupportResult(8, 10, tuple(points))
    assert [str(finding.verdict) for finding in result.findings()] == [verdict] * 3
    line = result.line("known")
    assert line[0].value == pytest.approx(offset, abs=0.5)
    assert line[1].value == pytest.approx(4.0, abs=0.1)


def test_curves_without_a_crossing_have_no_numbers():
    result = SupportResult(8, 10, tuple(SupportPoint(d, 10, 40, dict.fromkeys(CURVES, 0)) for d in (50, 80)))
    assert {str(finding.verdict) for finding in result.findings()} == {"does not hold"}
    assert "none (d = 50)" in result.explanation()[0]
    assert json.dumps(result.record(), allow_nan=False)


def test_policies_that_refuse_a_budget_leave_a_gap():
    # 30 units: two outcomes an arm, and one to start with; six and forty cannot be paid.
    scenario = sparse_scenario(EQUAL, 20, 30, 2)
    names = ["sparse-trace-ucb:screen=2", "sparse-trace-ucb:screen=6", "sparse-oracle"]
    assert affordable(names, scenario) == [names[0], names[2]]
    study = BudgetStudy(dim=20, features=2, budgets=(10, 160), asked_at=160)
    result = study.measure(runner(), 0.02)
    policy = "sparse-trace-ucb:shared=true"
    assert [m.at for m in result.curve("equal", policy)] == [160]
    assert [m.at for m in result.curve("equal", "uniform-lasso")] == [10, 160]
    rows = result.tables()[0].rows
    assert rows[0][1 + POLICIES.index(policy)] == "–"


def test_trials_belong_to_the_policy(found):
    budget = found.record()["sparse"]["sparse-budget"]
    assert (budget["trials"]["sparse-oracle"], budget["trials"]["static-lasso"]) == (4, 2)
    assert set(budget["curves"]["unequal"]) == set(LOSSES)


def test_prices_are_paired_and_interpolated(found):
    result = found.sparse[2]
    assert result.screens == {160: (4, 6, 12)}  # 40 outcomes of 10 arms are more than 160
    assert result.default == {160: 8}
    best = result.best(160, True)
    assert result.relative(160, True, best).value == 1.0
    assert result.relative(160, True, best).stderr == 0.0
    between, low, high = (result.relative(160, False, at) for at in (math.sqrt(72.0), 6, 12))
    assert between.value == pytest.approx(math.sqrt(low.value * high.value))
    assert math.isnan(result.relative(160, False, 20).value)
    losses = result.points[160].losses["expected_max"]
    assert result.prices(160, False)[1] == Measured(
        6, *losses.ratio("sparse-trace-ucb:screen=6:shared=true", "sparse-oracle")
    )


def test_a_product_has_its_error():
    rng = np.random.default_rng(2)
    covariance = ((4e-4, 1e-4, 0.0), (1e-4, 9e-4, 2e-4), (0.0, 2e-4, 1e-4))
    losses = Losses({"a": 2.0, "b": 3.0, "c": 1.5}, covariance)
    value, stderr = losses.product([("a", 0.5), ("b", 0.5), ("c", -1.0)])
    a, b, c = rng.multivariate_normal((2.0, 3.0, 1.5), covariance, size=40_000).T
    assert value == pytest.approx(math.sqrt(6.0) / 1.5)
    assert stderr == pytest.approx(np.std(np.sqrt(a * b) / c), rel=0.03)
    assert losses.ratio("b", "b") == (1.0, 0.0)
