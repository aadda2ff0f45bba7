"""Targets in different units: what is claimed by default is true, and the ratio is named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab.replay.arena import new_arena
from equipoise.lab.replay.scale import decision_words, resolved, spread_ratio

TARGETS = ["pain", "pressure", "cholesterol"]
READING = {
    "targets": TARGETS,
    "exclude": ["no", "patient"],
    "decimal": ",",
    "na": ["n/a?"],
    "date_format": "%d.%m.%Y",
    "one_hot": True,
}


def messy(path, rows=400):
    """A file as clinics have them. All targets are equally hard to predict, each in its own unit."""
    rng = np.random.default_rng(5)
    age, weight, marker = rng.normal(52, 14, rows), rng.normal(75, 12, rows), rng.lognormal(1, 0.5, rows)
    z = np.column_stack([(age - 52) / 14, (weight - 75) / 12, np.log(marker) - 1])
    signal = z @ np.array([[1.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
    share = signal / signal.std(axis=0) + rng.normal(size=(rows, 3))  # half signal, half noise
    pain, pressure, cholesterol = (share / share.std(axis=0) * [1.2, 18, 40] + [5, 130, 210]).T
    lines = ["no;date;patient;age;weight;town;marker;pain;pressure;cholesterol"]
    for i in range(rows):
        day = np.datetime64("2024-01-01") + rng.integers(0, 500)
        date = ".".join(reversed(str(day).split("-")))
        town = "" if i % 50 == 7 else rng.choice(["Ulm", "Bonn", "Cork"])
        cells = [f"{i + 1}", date, f"P{i // 3}", f"{age[i]:.0f}", f"{weight[i]:.1f}", town]
        cells += ["" if i % 12 == 5 else f"{marker[i]:.2f}", f"{pain[i]:.2f}"]
        cells += ["n/a?" if i % 60 == 9 else f"{pressure[i]:.1f}", f"{cholesterol[i]:.0f}"]
        lines.append(
            ";".join(cell if place == 1 else cell.replace(".", ",") for place, cell in enumerate(cells))
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return messy(tmp_path_factory.mktemp("messy") / "clinic.csv")


@pytest.fixture(scope="module")
def found(table):
    with pytest.warns(eq.errors.ScaleWarning, match=r"differ 33.7-fold \(pain 1.2, cholesterol 40.6\)"):
        return eq.replay(table, ["uniform", "trace-ucb"], budget=120, trials=300, seed=1, **READING)


def test_a_messy_file_leads_to_a_true_conclusion(table, found):
    """By construction no split of the budget beats equal parts, so that next to nothing can be saved."""
    assert found.table.contexts == ("date", "age", "weight", "town=Bonn", "town=Cork", "marker")
    saved = found.saved["trace-ucb"]
    assert saved.limit is None
    # Measured: 2 ± 8 units of 120. Fixed seed; four standard errors, or a tenth of the budget.
    assert abs(saved.saved.value) < max(4 * saved.saved.stderr, 12)
    raw = eq.replay(table, ["uniform", "trace-ucb"], budget=120, trials=300, seed=1, scale="none", **READING)
    # The same rows, as they are: a claim about cholesterol alone.
    claim = raw.saved["trace-ucb"]
    assert claim.limit is not None or claim.saved.value > 60
    assert "cholesterol is the worst target in 100 % of uniform's trials" in raw.warning
    assert found.warning is None
    shares = {(row["policy"], row["target"]): row["share"] for row in raw.by_target()}
    assert shares["trace-ucb", "pain"] > 1.2 * shares["uniform", "pain"]  # what it was paid with


def test_savings_on_models_that_are_worse_than_a_mean_are_called_so(table, found):
    assert found.caution is None
    small = eq.replay(table, "uniform", budget=32, trials=20, scale="targets", saved=False, **READING)
    worse = {row["target"] for row in small.by_target() if row["share"] >= 1.0}
    assert worse
    assert all(target in small.caution for target in worse)


def test_errors_are_shares_of_the_variance(table, found):
    spreads = eq.as_table(table, **READING).targets.std(axis=0)
    assert found.table.spreads == pytest.approx(spreads, rel=1e-12)
    assert (found.table.scale, found.unit) == ("targets", "shares of each target's variance")
    assert found.metadata["units"] == found.unit
    assert 0.4 < min(found.table.noise) < max(found.table.noise) < 0.6
    for row in found.by_target():
        assert row["share"] == row["error"] > 0.4
        assert row["rmse"] == pytest.approx(np.sqrt(row["share"]) * row["spread"])
    raw = new_arena(eq.as_table(table, **READING), 120)
    assert raw.noise == pytest.approx(np.array(found.table.noise) * spreads**2)
    record = found.record()["policies"]["trace-ucb"]["targets"]["pain"]
    assert set(record) == {"error", "stderr", "share", "rmse"}


def test_units_of_single_targets_change_nothing_if_standardised(table):
    """Policies are unit-free under one common factor; standardised, under a factor of each target's own."""
    rows = eq.as_table(table, **READING)
    factors = np.array([1024.0, 0.5, 8.0])
    other = eq.ReplayTable(
        "other", rows.contexts, rows.targets * factors, rows.context_names, rows.target_names
    )
    one, two = (
        eq.replay(data, ["trace-ucb"], budget=90, trials=10, seed=4, scale="targets", saved=False)[
            "trace-ucb"
        ]
        for data in (rows, other)
    )
    np.testing.assert_array_equal(one.ledger.counts, two.ledger.counts)
    np.testing.assert_allclose(one.ledger.errors, two.ledger.errors, rtol=1e-9)


def test_what_is_said_turns_the_warning_off(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in ("targets", "none"):
            eq.replay(table, ["uniform"], budget=60, trials=1, scale=scale, **READING)


def test_when_targets_are_standardised():
    assert spread_ratio([2.0, 0.0, 8.0]) == 4.0
    assert spread_ratio([0.0]) == spread_ratio([]) == 1.0
    assert resolved("auto", [1.0, 2.0]) == "none"
    assert resolved("auto", [1.0, 2.1]) == "targets"
    assert resolved("auto", [1.0, 2.1, 0.0]) == "targets"
    assert resolved("none", [1.0, 9.0]) == "none"
    assert "2.1-fold (b 1, a 2.1)" in decision_words(["a", "b"], [2.1, 1.0])
    with pytest.raises(eq.errors.InvalidArgument, match="scale='target'"):
        eq.replay({"x": [1, 2, 3], "y": [1, 2, 4]}, ["uniform"], targets=["y"], budget=1, scale="target")


def test_constant_targets_stay_as_they_are():
    data = {"x": np.arange(40.0) % 7, "a": np.full(40, 3.0), "b": np.arange(40.0) % 5}
    found = eq.replay(data, ["uniform"], targets=["a", "b"], budget=20, trials=3, scale="targets", seed=1)
    assert found.table.spreads[0] == 0.0
    [constant] = [row for row in found.by_target() if row["target"] == "a"]
    assert np.isnan(constant["share"])
    assert any("'a' is always the same" in note for note in found.scenario.notes)
    assert constant["rmse"] == pytest.approx(np.sqrt(constant["error"]))


# Several budgets


def test_several_budgets_say_why_units_saved_are_missing(table):
    policies = ["uniform", "oracle"]
    both = eq.replay(table, policies, budget=[15, 60], trials=20, scale="targets", **READING)
    assert [result.table.budget for result in both] == [15, 60]
    assert both.at(60) is both[1]
    assert "m(d+2) = 27" in both[0].unsaved
    assert both[0].record()["units_saved_unknown"] == both[0].unsaved
    assert both[1].unsaved is None
    assert both.units_saved().column("budget") == [60]
    assert set(both.losses().column("budget")) == {15, 60}
    assert both.losses().columns[:2] == ("budget", "policy")
    assert len(both[:1]) == 1
    with pytest.raises(eq.errors.InvalidArgument, match="no replay has a budget of 16"):
        both.at(16)
    alone = eq.replay(table, ["uniform"], budget=60, trials=2, scale="targets", **READING)
    assert alone.unsaved == "there is no policy besides uniform"
    for wrong in ([], [60, 60]):
        with pytest.raises(eq.errors.InvalidArgument, match="budget="):
            eq.replay(table, ["uniform"], budget=wrong, trials=2, scale="targets", **READING)
