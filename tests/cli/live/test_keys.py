"""Keys of units that look like numbers, options or other words: each is the unit that was typed."""

from __future__ import annotations

import pytest

WHY = ("--reason", "r")


@pytest.fixture
def odd(live):
    """An experiment with units of odd names."""
    live("new", "odd", "--arms", "a,b", "--dim", "1", "--budget", "40")
    for unit in ("-5", "3", "007", "7", "--store", "é", "a b"):
        live("ask", "odd", "--context", "1", "--", unit)
    return "odd"


def outcomes(live, name):
    units = live("units", name, "--json")["units"]
    return {unit["unit"]: unit["outcome"] for unit in units if unit["outcome"] is not None}


def test_a_key_below_0_is_no_outcome(live, odd):
    live("tell", odd, "-5", "3")
    assert outcomes(live, odd) == {"-5": 3.0}
    live("tell", odd, "3", "-5")
    live("tell", odd, "007", "-1e-3", "--actor", "-9")
    live("tell", "--actor", "dr-who", odd, "--", "--store", "-2")
    live("correct", odd, "-5", "-4", "--reason", "-4")
    assert outcomes(live, odd) == {"-5": -4.0, "3": -5.0, "007": -0.001, "--store": -2.0}
    last = live("log", odd, "--json")["rows"][-1]
    assert (last["kind"], last["reason"]) == ("corrected", "-4")


def test_a_value_that_is_missing_is_not_taken_from_the_next_word(refused, odd):
    assert "--reason" in refused(2, "correct", odd, "3", "1", "--reason")[0]
    assert "'--reson'" in refused(2, "correct", odd, "3", "1", "--reson", "r")[0]


def test_a_key_like_an_option_is_told_where_to_go(live, refused, odd):
    _, hint = refused(2, "lose", odd, "-5", *WHY)
    assert "goes behind --" in hint
    live("lose", odd, *WHY, "--", "-5")


def test_keys_in_files(live, refused, odd):
    line = ("ask", odd, "--file", "-")
    assert refused(2, *line, stdin="unit,x\nA,1\nB\tC,1\n")[0].startswith("line 3: 'B\\tC' cannot be")
    # The same word, with an accent of its own and as part of its letter.
    twice = "unit,x\n\u00e8,1\ne\u0300,1\n"
    assert refused(2, *line, stdin=twice)[0] == "line 3: unit 'è' is on line 2 already"
    assert "CSV UTF-8" in refused(2, *line, stdin="unit,x\nM\xfcller,1\n".encode("latin-1"))[1]
    live("tell", odd, "--file", "-", stdin="unit,outcome\n-5,1\n007,2\ne\u0301,3\n")
    assert outcomes(live, odd) == {"-5": 1.0, "007": 2.0, "é": 3.0}
    live("tell", odd, "--file", "-", stdin='{"unit": 7, "outcome": 4}')
    assert outcomes(live, odd)["7"] == 4.0
