import json

import pytest

import equipoise as eq

BASE = ("plan", "--noise", "0.5,1,1-4", "--dim", "5", "--target", "0.1")
NOISE = [0.5, 1.0, (1.0, 4.0)]


def test_the_table_has_the_plan_s_numbers(run):
    result = run(*BASE)
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.split()}
    plan = eq.plan(noise=NOISE, dim=5, target=0.1)
    for policy in ("oracle", "uniform"):
        planned = plan[policy]
        low, high = planned.budget_range
        assert rows[policy] == [
            policy,
            str(planned.budget),
            str(low),
            "–",
            str(high),
            f"{planned.expected_error:.4g}",
            *map(str, planned.counts),
        ]


def test_the_saving_is_said_in_words(run):
    text = run(*BASE).stdout
    assert "needs 193 units, a uniform one 318: it saves 125 units (39 %)" in text
    assert "geometric middle" in text


def test_without_guesses_there_is_no_range(run):
    text = run("plan", "--noise", "0.5,1", "--dim", "5", "--target", "0.1").stdout
    assert "low – high" not in text
    assert "middle" not in text


def test_equal_noise_saves_nothing(run):
    text = run("plan", "--noise", "1,1", "--dim", "5", "--target", "0.1").stdout
    assert "nothing to save" in text


@pytest.mark.parametrize(
    ("typed", "words"), [("max", "the worst arm"), ("mean", "the mean of the arms"), ("3", "the 3-norm")]
)
def test_the_title_says_what_reaches_the_target(run, typed, words):
    title = run(*BASE, "--objective", typed).stdout.splitlines()[0]
    assert words in title
    assert "3 arms, 5 features" in title


@pytest.mark.parametrize("objective", ["max", "mean", 2.5])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_json_is_the_plan_s_record(run, objective, weights):
    arguments = [*BASE, "--objective", str(objective), "--json"]
    if weights is not None:
        arguments += ["--weights", ",".join(map(str, weights))]
    record = json.loads(run(*arguments).stdout)
    plan = eq.plan(noise=NOISE, dim=5, target=0.1, objective=objective, weights=weights or 1.0)
    origin = {"command": "plan", "version": eq.__version__, "numerics": eq.NUMERICS}
    assert record == json.loads(json.dumps({**origin, **plan.record()}))


def test_scientific_notation(run):
    record = json.loads(
        run("plan", "--noise", "1e-3,1e-3-1e-1", "--dim", 4, "--target", "1e-2", "--json").stdout
    )
    assert record["noise"] == pytest.approx([1e-3, 1e-2])
    assert record["target"] == 0.01


def test_blanks_around_a_value_do_not_matter(run):
    assert (
        run("plan", "--noise", " 0.5, 1,1 - 4 ", "--dim", " 5", "--target", "0.1 ").stdout
        == run(*BASE).stdout
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--noise", "0.5,one", "'one' in --noise 0.5,one"),
        ("--dim", "0", "--dim 0 is not a whole number of at least 1"),
        ("--dim", "five", "--dim five is not a whole number"),
        ("--target", "0", "--target 0 is not a positive number"),
        ("--target", "small", "--target small is not a positive number"),
        ("--objective", "median", "--objective median is neither"),
        ("--weights", "1,2", "--weights has 2 numbers for 3 arms"),
        ("--weights", "1,2,3,4", "--weights has 4 numbers for 3 arms"),
        ("--weights", "1,0,1", "'0' in --weights 1,0,1 is not a positive number"),
        ("--target", "1e-30", "more than 10¹² units"),
    ],
)
def test_wrong_values_are_named_with_a_hint(fail, option, value, message):
    found, hint = fail(*BASE, option, value)
    assert message in found
    assert hint


def test_costs_make_budgets_money(run):
    line = (
        "plan",
        "--noise",
        "1,2",
        "--dim",
        "3",
        "--target",
        "0.2",
        "--objective",
        "mean",
        "--costs",
        "0.5,4",
    )
    text = run(*line).stdout
    planned = eq.plan(noise=[1.0, 2.0], dim=3, target=0.2, objective="mean", costs=[0.5, 4.0])
    assert text.startswith("Budget for an expected squared error of 0.2")
    assert (
        f"needs {planned['oracle'].budget:.10g}, a uniform one {planned['uniform'].budget:.10g}: it saves"
        in text
    )
    assert " units:" not in text
    assert json.loads(run(*line, "--json").stdout)["costs"] == [0.5, 4.0]
    assert "--costs has 2 numbers for 3 arms" in run(*line, "--noise", "1,2,3").stderr
