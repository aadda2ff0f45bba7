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
        *("--policy", "uniform", "--policy", "trace-ucb", "--scale", "none", *more),
    )


def record(result):
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found.pop("command") == "replay"
    for policy in found["policies"].values():
        assert policy.pop("decisions_per_second") > 0
    return found


def expected(**settings):
    settings = {"targets": TARGETS, "budget": 40, "trials": 30, "seed": 11, "scale": "none"} | settings
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
        (("--exclude", "age"), {"exclude": ["age"]}),
        (("--order", "age"), {"order": "age"}),
        (("--scale", "targets"), {"scale": "targets"}),
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
    found = eq.replay(
        columns(), ["uniform", "trace-ucb"], targets=TARGETS, scale="none", budget=40, trials=30, seed=11
    )
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
    base = ("replay", table, "--targets", "mild,wild", "--scale", "none", "--trials", 5, "--json")
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
    assert "3 of 150 rows left out, as a value is missing: age 3." in result.stdout
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
    typed = (
        "replay",
        path,
        "--targets",
        "mild,wild",
        "--scale",
        "none",
        "--budget",
        20,
        "--trials",
        3,
        *flags,
    )
    if flags:
        said, _ = fail(*typed, "--one-hot")
        assert said.startswith("1 of 60 rows miss a value, most often in column 'wild'")
        return
    said, hint = fail(*typed)
    assert said == "column 'town' holds text, not numbers"
    assert "one-hot" in hint
    assert run(*typed, "--one-hot").exit_code == 0


@pytest.fixture
def messy(tmp_path):
    """Semicolons, decimal commas, dates, text, gaps, and targets in different units."""
    rng = np.random.default_rng(8)
    lines = ["no;date;who;age;town;dose;pain;pressure"]
    for k in range(120):
        age, dose = rng.normal(50, 10), rng.normal(2, 0.5)
        pain, pressure = 5 + dose + rng.normal(), 130 + age + 15 * rng.normal()
        town = ["Ulm", "Bonn", "Cork"][k % 3]
        numbers = [f"{age:.1f}" if k % 20 else "", town, f"{dose:.2f}" if k % 30 else "?", f"{pain:.2f}"]
        cells = [f"{k + 1}", f"{1 + k % 28}.{1 + k % 12}.2026", f"P{k // 4}", *numbers, f"{pressure:.1f}"]
        lines.append(";".join(cell if "2026" in cell else cell.replace(".", ",") for cell in cells))
    path = tmp_path / "clinic.csv"
    path.write_text("\n".join(lines))
    return path


READ = ("--decimal", ",", "--na", "?", "--date-format", "%d.%m.%Y", "--one-hot", "--exclude", "no")


@pytest.mark.filterwarnings("always::equipoise.errors.ScaleWarning")
def test_every_refusal_says_what_to_type_next(fail, run, messy):
    """A newcomer who types what the hints say gets there."""
    line = [
        "replay",
        messy,
        "--targets",
        "pain,pressure",
        "--budget",
        50,
        "--trials",
        20,
        "--policy",
        "oracle",
    ]
    line += ["--policy", "uniform"]
    for said, hinted, typed in (
        ("'date' looks like dates", "--date-format '%d.%m.%Y'", ["--date-format", "%d.%m.%Y"]),
        ("'age' looks like numbers with a decimal comma", "--decimal ,", ["--decimal", ","]),
        ("'dose' holds numbers and also '?'", "--na '?'", ["--na", "?"]),
        ("columns 'who', 'town' hold text", "--exclude who,town", ["--exclude", "who"]),
        ("column 'town' holds text", "(--one-hot)", ["--one-hot"]),
    ):
        message, hint = fail(*line)
        assert said in message
        assert hinted in hint
        line += typed
    result = run(*line)
    assert result.exit_code == 0, result.output
    assert "standard deviations differ" in result.stderr
    assert "--scale none" in result.stderr
    assert "as shares of each target's variance" in result.stdout
    for words in (
        "Cells are separated by ';'.",
        "8 of 120 rows left out, as a value is missing: age 6, dose 4.",
        "date holds dates, counted in days since 1970-01-01.",
        "town is text: a column of 0 and 1 for each of its 3 values.",
        "no numbers the rows",
        "in % of its variance",
    ):
        assert words in " ".join(result.stdout.split()), words


def test_a_dry_run_only_describes(run, messy, monkeypatch):
    def work(*arguments):
        raise AssertionError("work was done")

    monkeypatch.setattr(running, "run_chunk", work)
    plain = run("replay", messy, "--dry-run")
    assert plain.exit_code == 0, plain.output
    assert "clinic.csv: 120 rows, 8 columns" in plain.stdout
    assert "No targets are named yet" in plain.stdout
    read = run(
        "replay",
        messy,
        "--targets",
        "pain,pressure",
        "--group",
        "who",
        "--missing",
        "mean",
        *READ,
        "--dry-run",
    )
    said = " ".join(read.stdout.split())
    assert "120 rows, 5 context columns" in said
    assert "age: 6 missing cells were filled with the mean of the others" in said
    assert "errors would be shares of each target's variance" in said
    found = json.loads(run("replay", messy, "--targets", "pain", *READ, "--dry-run", "--json").stdout)
    assert [column["name"] for column in found["columns"]][:3] == ["no", "date", "who"]
    assert "'who' has 30 different values" in found["refusal"]


def test_a_budget_is_needed_but_for_a_dry_run(fail, messy):
    said, hint = fail("replay", messy, "--targets", "pain")
    assert "--budget" in said
    assert "--dry-run" in hint


def test_units_saved_are_never_lost_without_a_word(run, messy):
    line = ("replay", messy, "--targets", "pain,pressure", "--group", "who", "--scale", "none", *READ)
    result = run(
        *line, "--budget", 12, "--budget", 40, "--trials", 5, "--policy", "uniform", "--policy", "oracle"
    )
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert said.count("saved") >= 3
    assert "Units saved cannot be said: below m(d+2) = 16 units" in said
    assert "Rows with the same 'who' stay together" in said
    assert "is the worst target in" in result.stderr


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
