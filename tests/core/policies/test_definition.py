"""A score that cannot work is refused when it is registered, with the line to change."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

import numba
import numpy as np
import pytest

import equipoise as eq
from equipoise.checks import check_interval_correction
from equipoise.errors import CheckFailed, ImportFailed, InvalidPolicy

LIST = [1.0, 2.0]
TABLE = {"a": 1.0}
PROBLEM = eq.Problem(2, 2, budget=30)


def reads_a_setting(arm, trial, settings):
    return settings[0] * arm.trace  # refused


def returns_nothing(arm, trial, settings):
    print(arm.trace)  # refused


def may_return_nothing(arm, trial, settings):
    if arm.count > 1000:  # refused
        return arm.trace


def not_a_number(arm, trial, settings):
    return math.log(arm.trace) + math.sqrt(-arm.noise_variance)  # refused


def not_a_number_while_outcomes_wait(arm, trial, settings):
    return arm.trace * arm.dof / (arm.dof * 1.0)  # refused


def returns_text(arm, trial, settings):
    return "high"  # refused


def returns_two(arm, trial, settings):
    return arm.trace, arm.count  # refused


def draws(arm, trial, settings):  # refused
    return np.random.random()  # noqa: NPY002


def too_few(arm, trial):  # refused
    return arm.trace


def too_many(arm, trial, settings, more):  # refused
    return arm.trace


def wrong_field(arm, trial, settings):
    noise = arm.noise_varaince  # refused
    return noise * arm.trace


def field_of_the_other(arm, trial, settings):
    return arm.trace * trial.noise  # refused


def settings_by_name(arm, trial, settings):
    return settings.width * arm.trace  # refused


def writes(arm, trial, settings):
    arm.count = 3  # refused
    return arm.trace


@pytest.mark.parametrize(
    ("score", "message", "hint"),
    [
        (reads_a_setting, r"reads settings\[0\], and there are no settings", "write a class with fields"),
        (returns_nothing, "can end without a number", "return"),
        (may_return_nothing, "can end without a number", "return"),
        (not_a_number, "gives not a number with 3 units", "0/0"),
        (not_a_number_while_outcomes_wait, "gives not a number .* no outcome known", "0/0"),
        (returns_text, "returns a str", "one number"),
        (returns_two, "returns a tuple", "one number"),
        (draws, "gives another number each time", "chance="),
        (
            too_few,
            "takes arm, trial instead of arm, trial and settings",
            r"def too_few\(arm, trial, settings\)",
        ),
        (too_many, "takes arm, trial, settings, more instead", r"def too_many\(arm, trial, settings\)"),
        (wrong_field, r"reads arm\.noise_varaince", r"did you mean arm\.noise_variance\?"),
        (field_of_the_other, r"reads trial\.noise", r"did you mean arm\.noise_variance\?"),
        (settings_by_name, r"reads settings\.width", r"settings\[0\]"),
        (writes, "writes to what it is given", "only reads"),
    ],
)
def test_refused_when_registered(score, message, hint):
    with pytest.raises(InvalidPolicy, match=message) as caught:
        eq.register("test-definition-refused", score)
    assert "test-definition-refused" not in eq.registered_policies()
    assert caught.value.message.startswith(f"{__file__}, line ")
    assert caught.value.message.endswith("refused")  # the source of the line, to its end
    with pytest.raises(AssertionError, match=hint):
        raise AssertionError(caught.value.hint)


def test_a_class_whose_score_reads_beyond_its_fields():
    """Once the score read whatever lay behind a single zero."""
    with pytest.raises(InvalidPolicy, match=r"reads settings\[1\], and there is 1 setting;"):

        @eq.register("test-definition-short")
        @dataclass(frozen=True, kw_only=True)
        class Short(eq.Policy):
            bonus: float = 3.0

            @staticmethod
            def score(arm, trial, settings):
                return settings[0] * arm.trace + settings[1]


def test_fields_without_defaults_are_looked_at_when_the_policy_runs():
    @eq.register("test-definition-needs")
    @dataclass(frozen=True, kw_only=True)
    class Needs(eq.Policy):
        bonus: float

        @staticmethod
        def score(arm, trial, settings):
            return arm.trace * math.sqrt(settings[0] - 2.0) + settings[1]

    with pytest.raises(InvalidPolicy, match=r"reads settings\[1\], and there is 1 setting"):
        eq.Experiment(PROBLEM, Needs(bonus=1.0))


def test_not_a_number_with_these_arguments_is_found_before_the_first_unit():
    @eq.register("test-definition-root")
    @dataclass(frozen=True, kw_only=True)
    class Root(eq.Policy):
        shift: float = 1.0

        @staticmethod
        def score(arm, trial, settings):
            return arm.trace * math.sqrt(settings[0])

    eq.Experiment(PROBLEM, Root())
    with pytest.raises(InvalidPolicy, match="gives not a number"):
        eq.Experiment(PROBLEM, Root(shift=-1.0))


def test_a_method_and_a_class_without_a_score():
    with pytest.raises(InvalidPolicy, match="takes self, arm, trial, settings") as caught:

        @eq.register("test-definition-method")
        class Method(eq.Policy):
            def score(self, arm, trial, settings):
                return arm.trace

    assert "@staticmethod" in caught.value.hint
    with pytest.raises(InvalidPolicy, match="Empty has no score"):

        @eq.register("test-definition-empty")
        class Empty(eq.Policy):
            pass


def test_what_python_alone_refuses_is_allowed():
    """Compiled code divides by zero, takes the logarithm of it, and sees what is defined later."""

    @eq.register("test-definition-allowed")
    def allowed(arm, trial, settings):
        return later(1.0 / arm.pending - math.log(arm.count - arm.observed))

    later = numba.njit(lambda value: value)
    eq.Experiment(PROBLEM, "test-definition-allowed")


def helper(arm):
    return arm.trace


def calls_python(arm, trial, settings):
    return helper(arm)


def uses_a_list(arm, trial, settings):
    return LIST[arm.position]


def uses_a_dictionary(arm, trial, settings):
    return TABLE["a"]


def makes_a_list(arm, trial, settings):
    values = [1.0, arm.trace]
    return values[0]


def unknown_name(arm, trial, settings):
    width = 1.0
    return width * not_there  # noqa: F821


def imports(arm, trial, settings):
    import math

    return math.sqrt(arm.trace)


def keyword(arm, trial, settings):
    return round(arm.trace, ndigits=2)


def whole_settings(arm, trial, settings):
    return arm.trace + len(settings)


def two_kinds(arm, trial, settings):
    value = 1.0
    if arm.count > 1_000_000:
        value = "high"
    return value


@pytest.mark.parametrize(
    ("score", "message", "line"),
    [
        (calls_python, "it calls helper, which is not compiled", "return helper(arm)"),
        (uses_a_list, "LIST can be changed", "return LIST[arm.position]"),
        (uses_a_dictionary, "TABLE is a dict", 'return TABLE["a"]'),
        (makes_a_list, "it makes a list, a text or an array", "values = [1.0, arm.trace]"),
        (unknown_name, "there is no 'not_there'", "return width * not_there"),
        (imports, "it imports something", "import math"),
        (keyword, "Keyword arguments", "def keyword"),
        (whole_settings, r"len\(settings\) is not known", "return arm.trace + len(settings)"),
        (two_kinds, "value is a number in one place and a text in another", ""),
    ],
)
def test_what_the_compiler_says_in_words(score, message, line):
    policy = eq.register(f"test-definition-{score.__name__}", score)
    with pytest.raises(InvalidPolicy, match=f"{score.__name__} cannot be compiled: {message}") as caught:
        eq.Experiment(PROBLEM, policy())
    text = caught.value.message
    assert text.startswith(f"{__file__}, line ")
    assert line in text.partition("the line is: ")[2]
    assert "\n" not in text
    assert len(text) < 400
    assert caught.value.hint


def test_a_file_names_its_line_once(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        textwrap.dedent("""
        import equipoise as eq

        @eq.register("test-definition-file")
        def mine(arm, trial, settings):
            return arm.trase
        """)
    )
    with pytest.raises(ImportFailed) as caught:
        eq.import_policies(file)
    assert caught.value.message == (
        f"{file}, line 6: the score mine reads arm.trase, which there is not; the line is: return arm.trase"
    )
    assert caught.value.hint == "did you mean arm.trace?"


def test_a_bounded_policy_needs_a_score_and_nothing_else():
    @eq.register("test-definition-bounded")
    class Bounded(eq.BoundedPolicy):
        @staticmethod
        def score(arm, trial, settings):
            return eq.noise_bound(arm, trial, settings) / arm.count

    scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40)
    specs = ["test-definition-bounded:width=0.5", "var-ucb:width=0.5"]
    mine, known = eq.simulate(scenario, specs, trials=20, seed=1).policies.values()
    np.testing.assert_array_equal(mine.ledger.counts, known.ledger.counts)


def test_the_correction_of_intervals_must_be_readable():
    @eq.register("test-definition-log")
    def log_score(arm, trial, settings):
        return eq.arithmetic.log(arm.noise_variance * arm.trace / trial.mean_variance)

    @eq.register("test-definition-blind")
    def blind(arm, trial, settings):
        return -1.0 * arm.count

    check_interval_correction(blind())
    check_interval_correction(eq.TraceUCB(width=0.25))
    with pytest.raises(CheckFailed, match="not positive"):
        check_interval_correction(log_score())
