"""``equipoise new`` and changes of course: arms, budget, pauses, notes."""

from __future__ import annotations

import pytest

import equipoise as eq

SMALL = ("--arms", "a,b", "--dim", "2", "--budget", "20")


def test_an_experiment_is_what_was_typed(live, tmp_path):
    said = live(
        "new", "lab/one", *SMALL, "--policy", "trace-ucb:width=0.5", "--seed", "7", "--mode", "practice"
    )
    assert said.startswith("lab/one is set up in sqlite:///equipoise.db: 2 arms, 2 features, 20 units")
    assert "practice" in said
    assert "equipoise ask lab/one UNIT --context 1,0.5" in said
    with eq.load_experiment(store=f"sqlite:///{tmp_path}/equipoise.db", name="lab/one") as experiment:
        assert experiment.problem == eq.Problem(["a", "b"], 2, budget=20)
        assert experiment.policy == eq.TraceUCB(width=0.5)
        assert (experiment.seed, experiment.mode) == (7, "practice")


def test_limits_are_one_an_arm(live, refused, tmp_path):
    limits = (
        "--weights",
        "1,2",
        "--floors",
        "0,4",
        "--caps",
        "none,12",
        "--costs",
        "1,2.5",
        "--objective",
        "2",
    )
    live("new", "one", "--arms", "a,b", "--dim", "1", "--budget", "99.5", *limits)
    problem = eq.load_experiment(store="sqlite:///equipoise.db", name="one").problem
    expected = eq.Problem(
        ["a", "b"], 1, budget=99.5, weights={"b": 2}, floors={"b": 4}, caps={"b": 12}, costs={"b": 2.5},
        objective=2.0,
    )  # fmt: skip
    assert problem == expected
    message, _ = refused(2, "new", "two", *SMALL, "--weights", "1,2,3")
    assert message == "--weights has 3 numbers for 2 arms"


def test_a_problem_of_a_file_with_options_on_top(live, refused, tmp_path):
    (tmp_path / "problem.toml").write_text('arms = ["a", "b", "c"]\ndim = 3\nbudget = 90\n')
    live("new", "one", "--problem", "problem.toml", "--budget", "60", "--features", "const,age")
    problem = eq.load_experiment(store="sqlite:///equipoise.db", name="one").problem
    assert problem == eq.Problem(["a", "b", "c"], features=["const", "age"], budget=60)
    (tmp_path / "problem.toml").write_text("arms = 2\ndim = 3\nbudget = 1\n")
    message, _ = refused(2, "new", "two", "--problem", "problem.toml")
    assert message.startswith("problem.toml: a budget of 1 cannot")
    (tmp_path / "problem.toml").write_text("arms = ")
    assert "is not TOML" in refused(2, "new", "two", "--problem", "problem.toml")[0]
    assert "cannot read gone.toml" in refused(2, "new", "two", "--problem", "gone.toml")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("one", "--arms", "a,b"), "the problem lacks --budget, --dim or --features"),
        (("a b", *SMALL), "a b"),
        (("one", *SMALL, "--policy", "trace-usb"), "no policy 'trace-usb'"),
        (("one", *SMALL, "--deadline", "soon"), "--deadline soon is not a length of time"),
        (("one", *SMALL, "--store", "equipoise.db"), "'equipoise.db' is not a URL of a store"),
    ],
)
def test_what_is_wrong_makes_no_store(refused, tmp_path, arguments, message):
    assert message in refused(2, "new", *arguments)[0]
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_taken_once(live, refused):
    live("new", "one", *SMALL)
    message, _ = refused(2, "new", "one", *SMALL)
    assert "one" in message


def test_only_new_import_and_restore_make_a_store(refused, tmp_path):
    for line in ("status one", "ask one U x=1", "list", "verify one", "migrate"):
        message, hint = refused(2, *line.split())
        assert message == "there is no store equipoise.db"
        assert "'equipoise new' makes one" in hint
    refused(2, "backup", "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_store_and_actor_come_from_the_environment(live, monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIPOISE_STORE", "sqlite:///other.db")
    monkeypatch.setenv("EQUIPOISE_ACTOR", "site-3")
    live("new", "one", *SMALL)
    assert (tmp_path / "other.db").exists()
    live("note", "one", "begins on Monday", "--actor", "dr-who")
    rows = live("log", "one", "--json")["rows"]
    assert [row["actor"] for row in rows] == ["site-3", "dr-who"]
    assert rows[-1]["event"]["text"] == "begins on Monday"


def test_the_course_can_be_changed(live, refused):
    live("new", "one", *SMALL)
    assert live("close-arm", "one", "b", "--reason", "toxic") == "b is closed.\n"
    assert live("status", "one", "--json")["closed_arms"] == ["b"]
    assert live("ask", "one", "U-1", "--context", "1,2") == "U-1: a\n"
    live("reopen-arm", "one", "b", "--reason", "not toxic after all")
    assert live("status", "one", "--json")["closed_arms"] == []
    assert live("budget", "one", "30", "--reason", "grant") == "The budget is 30: 29 units left.\n"
    said = live("add-arm", "one", "c", "--weight", "2", "--floor", "5", "--cap", "9", "--json")
    assert said["arms"] == ["a", "b", "c"]
    problem = eq.load_experiment(store="sqlite:///equipoise.db", name="one").problem
    assert (problem.weights[2], problem.floors[2], problem.caps[2]) == (2.0, 5.0, 9.0)
    assert "no arm 'x'" in refused(2, "close-arm", "one", "x", "--reason", "y")[0]
    assert "--reason" in refused(2, "close-arm", "one", "a")[0]
    assert refused(2, "budget", "one", "0")[0].startswith("--budget 0")
    kinds = [row["kind"] for row in live("log", "one", "--json")["rows"]]
    assert kinds == ["created", "arm_closed", "asked", "arm_reopened", "budget_changed", "arm_added"]
