"""Asking and telling as plain data: what is read is what was written."""

import numpy as np
import orjson
from hypothesis import given
from hypothesis import strategies as st

from equipoise.live.experiment.requests.calls import Ask, Tell, called

numbers = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=True, allow_infinity=True), st.booleans()
)
contexts = st.one_of(
    st.lists(numbers, max_size=4),
    st.dictionaries(st.text(max_size=5), st.one_of(numbers, st.text(max_size=5)), max_size=4),
    st.lists(numbers, max_size=3).map(tuple),
    st.lists(st.floats(), max_size=4).map(lambda found: np.array(found, dtype=float)),
)
arms = st.one_of(st.none(), st.lists(st.text(max_size=3), max_size=3), st.tuples(st.text(max_size=3)))
units = st.one_of(st.none(), st.text(max_size=5), st.integers())


def read_again(call):
    """The call as another process reads it; None if it cannot be written."""
    plain = call.plain()
    try:
        return None if plain is None else called(orjson.loads(orjson.dumps(plain)))
    except TypeError:
        return None


@given(contexts, units, arms)
def test_a_plain_ask_is_read_as_it_was_written(x, unit, arms):
    again = read_again(Ask(x, unit, None, arms))
    if again is None:
        return
    assert isinstance(again, Ask)
    x = x.tolist() if isinstance(x, np.ndarray) else x
    assert repr((again.x, again.unit, again.arm, again.arms)) == repr((x, unit, None, arms))


@given(units, numbers)
def test_a_plain_tell_is_read_as_it_was_written(unit, outcome):
    again = read_again(Tell(unit, outcome))
    if again is None:
        return
    assert isinstance(again, Tell)
    assert repr((again.unit, again.outcome)) == repr((unit, outcome))


def test_most_calls_are_plain():
    assert Ask([1.0, 2], "P-1", None, None).plain() == ["ask", [1.0, 2], "P-1", None]
    assert Ask(np.array([1.0, 2.0]), None, None, ["a"]).plain() == ["ask", [1.0, 2.0], None, ["a"]]
    assert Ask({"age": 54, "sex": "f"}, None, None, None).plain() == [
        "ask",
        {"age": 54, "sex": "f"},
        None,
        None,
    ]
    assert Tell("P-1", 2.5).plain() == ["tell", "P-1", 2.5]
    assert Tell(3, 2).plain() == ["tell", 3, 2]
    for x in (
        [np.float64(1.0)],
        [float("nan")],
        {"age": None},
        {1: 2.0},
        (1.0, 2.0),
        "text",
        np.eye(2),
        [True],
    ):
        assert Ask(x, None, None, None).plain() is None
    assert Ask([1.0], None, "a", None).plain() is None
    assert Tell("P-1", "2.5").plain() is None
    assert Tell(True, 2.5).plain() is None
