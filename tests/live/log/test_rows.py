"""Rows that are made to continue a log, and stores that take them without a second look, if they do."""

import pytest

from equipoise.errors import InvalidArgument
from equipoise.live.log.rows import make_rows
from equipoise.live.stores.chain import empty_head, extended

EVENTS = [{"kind": "note", "text": f"remark {i}"} for i in range(3)]


def made(previous, sequence, time=10):
    return make_rows(EVENTS, "ann", previous=previous, sequence=sequence, time=time, epoch=1, mode="live")


def test_the_head_is_the_same_whether_rows_are_looked_at_or_not():
    start = empty_head("trial", "live")
    rows = made(start.hash, 0)
    head = extended(start, rows)
    assert head == extended(start, list(rows))
    assert (head.sequence, head.hash, head.created, head.updated) == (3, rows[-1].hash, 10, 10)
    assert extended(head, made(head.hash, 3, 11)).sequence == 6


@pytest.mark.parametrize(
    ("follow", "words"),
    [
        (lambda head: made(bytes(32), 3), "its hash does not follow"),
        (lambda head: made(head.hash, 4), "its number should be 4"),
        (lambda head: made(head.hash, 3, 9), "its time is before"),
        (lambda head: made(head.hash, 3)[1:], "its number should be 4"),
    ],
)
def test_rows_that_were_made_for_another_place_are_refused(follow, words):
    start = empty_head("trial", "live")
    head = extended(start, made(start.hash, 0))
    with pytest.raises(InvalidArgument, match=words):
        extended(head, follow(head))
