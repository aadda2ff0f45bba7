"""Receipts are text that people copy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import InvalidArgument


@given(st.integers(1, 10**6), st.integers(1, 10**12), st.binary(min_size=32, max_size=32))
def test_text_and_back(epoch, sequence, link):
    receipt = eq.Receipt("asthma/dose-1", epoch, sequence, link)
    assert eq.Receipt.parse(f" {receipt}\n") == receipt


@pytest.mark.parametrize(
    "text",
    [
        *("", "trial@1:2", "trial@1:2:ff", "@1:2:" + "0" * 64, "trial@x:2:" + "0" * 64),
        *(f"trial@1:{'9' * 5000}:{'0' * 64}", 5, b"trial@1:2:ff"),
    ],
)
def test_other_text_is_refused(text):
    with pytest.raises(InvalidArgument, match="is not a receipt"):
        eq.Receipt.of(text)
