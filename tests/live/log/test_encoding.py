"""One text for one value, and back to the last bit."""

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equipoise.errors import InvalidArgument
from equipoise.live.log.encoding import decode, encode
from equipoise.live.log.rows import make_header

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(max_examples=40)
@given(plain)
def test_values_come_back(value):
    assert decode(encode(value)) == value
    assert encode(decode(encode(value))) == encode(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_every_bit(value):
    assert struct.pack("d", decode(encode(value))) == struct.pack("d", value)


@given(st.dictionaries(st.text(), st.integers()))
def test_the_order_of_names_does_not_matter(value):
    assert encode(value) == encode(dict(reversed(value.items())))


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@given(plain)
@example(["\x7f", "\x1f\u2028", 1e16, 123456789012345.6, 1e-5, 1.5e-5, 1e-4, 2**64, -(2**63) - 1, None])
@example({"b": [0.00012345678901234567, 1e300, 5e-324], "a": {"1e5": "0.0000"}})
def test_there_is_one_way_to_write_a_value(value):
    assert encode(value) == canonical(value).encode()


def test_numbers_of_numpy_are_written_as_they_are():
    assert encode([np.float64(0.1)]) == b"[0.1]"


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1j: 0}])
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(InvalidArgument, match="cannot be stored"):
        encode({"x": value})


def test_words_that_are_no_json_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        decode(b"[NaN]")


@given(st.text(), st.none() | st.text())
def test_headers_are_canonical(actor, reason):
    header = make_header("told", actor, reason, 7, 123, 1, "live")
    fields = json.loads(header)
    assert encode(fields) == header
    assert (fields["actor"], fields["reason"], fields["kind"]) == (actor, reason, "told")
