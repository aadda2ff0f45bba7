import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import equipoise as eq
from equipoise.cli.options import POLICIES
from equipoise.lab.running import simulate as running

TARGETS = ["mild", "wild"]


def columns(rows=150):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, 2))
    noise = rng.normal(size=(rows, 2)) * [0.2, 2.0]
    y = x @ [[1.0, -1.0], [0.5, 2.0]] + noise + 5.0
    return {"age": x[:, 0], "dose": x[:, 1], "mild": y[:, 0], "wild": y[:, 1]}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    values = np.column_stack(list(columns().values()))
    np.savetxt(path, values, delimiter=",", header="age,dose,mild,wild", comments="")
    return path


def options(table, *more):
    # Not the defaults, so that an option that is ignored shows.
    return (
        *("replay", table, "--targets", "mild, wild", "--budget", 40, "--trials", 30, "--seed", 11),
        *("--policy", "uniform", "--policy", "trace-ucb", *more),
    )


def record(result):
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    for policy in found["policies"].values():
        assert policy.pop("decisions_per_second") > 0
    return found


def expected(**settings):
    settings = {"targets": TARGETS, "budget": 40, "trials": 30, "seed": 11} | settings
    found = eq.replay(columns(), ["uniform", "trace-ucb"], name="people.csv", **settings).record()
    for policy in found["policies"].values():
        del policy["decisions_per_second"]
    return json.loads(json.dumps(found))


def test_json_is_one_object_of_the_promised_shape(run, table):
    found = record(run(*options(table, "--json")))
    assert found["scenario"]["table"] == "people.csv"
    assert found["scenario"]["contexts"] == ["age", "dose"]
    assert (found["scenario"]["rows"], found["scenario"]["budget"]) == (150, 40)
    assert (found["trials"], found["seed"]) == (30, 11)
    for policy in found["policies"].values():
        for loss in ("expected_max", "median_max", "mean"):
            assert policy[loss]["value"] > 0
            assert policy[loss]["stderr"] > 0
        assert sum(policy["pulls"]) == pytest.approx(40)
    assert found["policies"]["trace-ucb"]["units_saved"]["uniform_budget"] != 40


@pytest.mark.parametrize(
    ("typed", "settings"),
    [
        ((), {}),
        (("--moment", "online"), {"moment": "online"}),
        (("--center", "table"), {"center": "table"}),
        (("--no-saved", "--workers", 1), {"saved": False}),
        (("--contexts", "dose"), {"contexts": ["dose"]}),
        (
            ("--objective", "mean", "--weights", "1,3"),
            {"objective": "mean", "weights": {"mild": 1.0, "wild": 3.0}},
        ),
    ],
)
def test_the_numbers_are_the_library_s(run, table, typed, settings):
    assert record(run(*options(table, *typed, "--json"))) == expected(**settings)


def test_other_files_give_the_same(run, table, tmp_path):
    pa.parquet.write_table(pa.table(columns()), tmp_path / "people.parquet")
    found = record(run(*options(tmp_path / "people.parquet", "--json")))
    assert found["policies"] == record(run(*options(table, "--json")))["policies"]


def test_the_tables_have_the_numbers(run, table):
    result = run(*options(table))
    assert result.exit_code == 0, result.output
    found = eq.replay(columns(), ["uniform", "trace-ucb"], targets=TARGETS, budget=40, trials=30, seed=11)
    assert "people.csv: 150 rows, 2 context columns, 2 targets" in result.stdout
    assert f"{found['trace-ucb'].median_max().value:.1f}"[:3] in result.stdout
    assert str(found.saved["trace-ucb"]).partition(":")[0] in result.stdout
    again = re.search(r"Run it again: equipoise (.*)", result.stdout)[1]
    assert run(*shlex.split(again)).stdout == result.stdout


def test_several_budgets(run, table, tmp_path):
    result = run(*options(table, "--budget", 60, "--json"))
    found = json.loads(result.stdout)
    assert [one["scenario"]["budget"] for one in found["runs"]] == [40, 60]
    folder = tmp_path / "out"
    shown = run(*options(table, "--budget", 60, "--output", folder))
    assert shown.exit_code == 0, shown.output
    assert sorted(path.name for path in folder.iterdir()) == [
        *("losses.parquet", "report.html", "result-40.npz", "result-60.npz")
    ]
    losses = pa.parquet.read_table(folder / "losses.parquet")
    assert set(losses["budget"].to_pylist()) == {40, 60}
    page = (folder / "report.html").read_text()
    for words in ("people.csv", "By budget", "60 units: units saved", "In a terminal:"):
        assert words in page
    assert eq.ReplayResult.load(folder / "result-60.npz").table.budget == 60


@pytest.mark.slow
def test_the_default_policies_fit_the_budget(run, table):
    base = ("replay", table, "--targets", "mild,wild", "--trials", 5, "--json")
    assert list(record(run(*base, "--budget", 40))["policies"]) == list(POLICIES)
    small = run(*base, "--budget", 7)
    assert "Without trace-ucb, trace-gain" in small.stderr
    assert list(json.loads(small.stdout)["policies"]) == ["uniform", "oracle"]


def test_gaps_and_redundant_columns_are_said(run, tmp_path):
    values = columns()
    path = tmp_path / "gaps.csv"
    lines = ["age,twice,dose,mild,wild"]
    for k, (age, dose, mild, wild) in enumerate(zip(*values.values(), strict=True)):
        lines.append(f"{'' if k < 3 else age},{2 * age},{dose},{mild},{wild}")
    path.write_text("\n".join(lines))
    result = run(*options(path))
    assert "3 rows miss a value and were left out" in result.stdout
    assert "say nothing new: twice" in result.stdout


@pytest.mark.parametrize(
    ("typed", "message", "hint"),
    [
        (("--targets", "mild,weild"), "no column 'weild'", "did you mean 'wild'?"),
        (("--targets", "mild,,wild"), "empty entry", "--targets age,dose,weight"),
        (("--budget", "many"), "--budget many is not a whole number", "--budget "),
        (("--budget", 150), "leaves none of the table's 150 rows", "below 150"),
        (("--budget", 7), "trace-ucb needs a budget of at least m(d+1) = 8, not 7", "uniform, oracle"),
        (("--weights", "1,2,3"), "3 weights for 2 targets", None),
        (("--policy", "trace-usb"), "no policy 'trace-usb'", "did you mean 'trace-ucb'?"),
        (("--cluster", "tcp://x:1", "--workers", 2), "--workers is for threads", "leave one out"),
    ],
)
def test_wrong_values_are_found_before_any_work(fail, table, monkeypatch, typed, message, hint):
    def work(*arguments):
        raise AssertionError("work was done")

    monkeypatch.setattr(running, "run_chunk", work)
    said, help = fail(*options(table, *typed))
    assert message in said
    assert hint is None or hint in help


@pytest.mark.parametrize("flags", [(), ("--missing", "refuse")])
def test_text_and_gaps_are_refused(fail, run, tmp_path, flags):
    path = tmp_path / "towns.csv"
    rows = [f"{['Ulm', 'Bonn'][k % 2]},{k % 7},{(k * k) % 11},{k % 5 if k else ''}" for k in range(60)]
    path.write_text("town,age,mild,wild\n" + "\n".join(rows))
    typed = ("replay", path, "--targets", "mild,wild", "--budget", 20, "--trials", 3, *flags)
    if flags:
        said, _ = fail(*typed, "--one-hot")
        assert said.startswith("1 of 60 rows miss a value, most often in column 'wild'")
        return
    said, hint = fail(*typed)
    assert said == "column 'town' holds text, not numbers"
    assert "one-hot" in hint
    assert run(*typed, "--one-hot").exit_code == 0


def test_a_table_that_is_not_there(fail, tmp_path):
    said, _ = fail("replay", tmp_path / "none.csv", "--targets", "a", "--budget", 5)
    assert "cannot read" in said


def test_ratings_are_loaded_by_name(run, tmp_path):
    rng = np.random.default_rng(3)
    jokes = rng.uniform(-10, 10, size=(60, 100)).round(2)
    np.savetxt(tmp_path / "jester.csv", np.column_stack([np.full(60, 100), jokes]), fmt="%.2f", delimiter=",")
    typed = ("--budget", 30, "--policy", "uniform", "--trials", 3, "--json")
    found = record(run("replay", f"jester:{tmp_path / 'jester.csv'}", *typed))
    assert (found["scenario"]["rows"], len(found["scenario"]["contexts"])) == (60, 40)
    assert len(found["scenario"]["targets"]) == 10


def test_checkpoints_are_kept_and_used(run, table, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    first = run(*options(table, "--checkpoint", folder, "--json"))

    def work(*arguments):
        raise AssertionError("work was done again")

    monkeypatch.setattr(running, "run_chunk", work)
    assert run(*options(table, "--checkpoint", folder, "--json")).stdout == first.stdout
