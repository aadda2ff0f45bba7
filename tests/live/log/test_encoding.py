"""One text for one value, and back to the last bit."""

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
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
