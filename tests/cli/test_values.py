import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.cli.values import parse_noise, parse_objective, parse_weights, positive_number, whole_number
from equipoise.errors import InvalidArgument

variances = st.floats(min_value=0.0, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("0.5,1,1-4", [0.5, 1.0, (1.0, 4.0)]),
        (" 0.5 , 1 - 4 ", [0.5, (1.0, 4.0)]),
        ("1e-3", [1e-3]),
        ("1e-3-1e-2", [(1e-3, 1e-2)]),
        ("1E-3-2e+1", [(1e-3, 20.0)]),
        ("2-1e1", [(2.0, 10.0)]),
        (".5-1.", [(0.5, 1.0)]),
        ("1–4", [(1.0, 4.0)]),
        ("2-2", [(2.0, 2.0)]),
        ("0", [0.0]),
    ],
)
def test_noise(text, noise):
    assert parse_noise(text) == noise


@given(variances, variances)
def test_every_range_survives_being_typed(first, second):
    low, high = sorted((first, second))
    assert parse_noise(f"{low!r}-{high!r}") == [(low, high)]
    assert parse_noise(f"{low!r},{high!r}") == [low, high]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "--noise '' has an empty entry", "--noise 0.5,1,1-4"),
        ("1,,2", "--noise '1,,2' has an empty entry", "--noise 0.5,1,1-4"),
        ("1,2,", "empty entry", "separated by commas"),
        ("1,two", "'two' in --noise 1,two is neither a variance nor a range", "low-high"),
        ("-1", "'-1'", "at least 0"),
        ("1-2-3", "'1-2-3'", "low-high"),
        ("1-", "'1-'", "low-high"),
        ("1_000", "'1_000'", "numbers"),
        ("nan", "'nan'", "numbers"),
        ("inf", "'inf'", "numbers"),
        ("1;2", "--noise '1;2' is not separated by commas", "did you mean --noise 1,2?"),
        ("0,5;1,2", "not separated by commas", "did you mean --noise 0.5,1.2?"),
        ("1 2 - 3 4", "not separated by commas", "did you mean --noise 1,2 - 3,4?"),
        ("1|2", "not separated by commas", "did you mean --noise 1,2?"),
        ("4-1", "the range '4-1' in --noise 4-1 starts above its end", "1-4"),
        ("1e999", "'1e999' in --noise 1e999 is too large", "1e300"),
        ("1-1e999", "'1-1e999'", "1e300"),
    ],
)
def test_wrong_noise(text, message, hint):
    refused(lambda: parse_noise(text), message, hint)


def test_weights():
    assert parse_weights("1, 2e-1,3") == [1.0, 0.2, 3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [("1,,2", "empty entry"), ("1,0", "'0'"), ("1,-2", "'-2'"), ("1,x", "'x'"), ("1e999", "'1e999'")],
)
def test_wrong_weights(text, message):
    refused(lambda: parse_weights(text), message, "--weights 1,2,1")


@pytest.mark.parametrize(("text", "objective"), [("max", "max"), ("mean", "mean"), ("2", 2.0), ("1.5", 1.5)])
def test_objective(text, objective):
    assert parse_objective(text) == objective


@pytest.mark.parametrize("text", ["median", "0.5", "-2", "nan", "inf", "1e999", "MAX", ""])
def test_wrong_objective(text):
    refused(lambda: parse_objective(text), f"--objective {text} is neither max, mean", "--objective max")


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "inf", "1e999", "1,5"])
def test_wrong_positive_number(text):
    parse = positive_number("--target", "0.1")
    refused(lambda: parse(text), f"--target {text} is not a positive", "--target 0.1")


@pytest.mark.parametrize("text", ["2", "11", "1e1", "3.0", "x", "", "9" * 5000])
def test_wrong_whole_number(text):
    parse = whole_number("--n", "5", least=3, most=10)
    refused(lambda: parse(text), f"--n {text} is not a whole number", "--n 5")


def test_whole_number_limits_are_allowed():
    parse = whole_number("--n", "5", least=3, most=10)
    assert [parse(text) for text in ("3", "10")] == [3, 10]
    assert whole_number("--n", "5", least=3)("1" + "0" * 30) == 10**30


def test_tiny_variances_are_numbers_not_zero():
    (value,) = parse_noise("1e-300")
    assert math.log10(value) == pytest.approx(-300)


def refused(parse, message: str, hint: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse()
    assert message in caught.value.message
    assert hint in caught.value.hint
