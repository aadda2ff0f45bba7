from dataclasses import dataclass

import pytest
from built_in import BUILT_IN

import equipoise as eq
from equipoise.core.policies.base import policy as registry


@pytest.fixture
def bracket(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    @eq.register("zz-bracket")
    @dataclass(frozen=True, kw_only=True)
    class Bracket(eq.Policy):
        """Assumes outcomes in [red] and :smile:."""

        limit: float = 0.25
        guess: float | None = None

        @staticmethod
        def score(arm, trial, settings):
            return 0.0


def test_every_policy_is_listed_with_its_summary(run):
    result = run("policies")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for name, kind in BUILT_IN.items():
        start = kind.__doc__.split()[:4]
        assert any(line.split()[:5] == [name, *start] for line in lines), name


def test_backticks_stay_in_the_documentation(run, monkeypatch):
    # Without what pages and other tests register in this process.
    monkeypatch.setattr(registry, "_REGISTRY", dict(BUILT_IN))
    assert "`" not in run("policies").stdout


def test_arguments_are_shown_with_their_defaults(run, bracket):
    text = run("policies").stdout
    assert "limit=0.25" in text
    assert "guess=unset" in text
    assert "greedy=1" in text


def test_brackets_and_colons_are_no_markup(run, bracket):
    assert "[red] and :smile:." in run("policies").stdout


def test_the_example_can_be_typed(run):
    example = run("policies").stdout.splitlines()[-1].split()[-1]
    assert eq.parse_policy(example).spec == example
