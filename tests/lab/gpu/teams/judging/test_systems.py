"""Rooms of arms that are judged side by side: everything has its place, and a bank of its own."""

import pytest

from equipoise.lab.gpu.teams.judging.systems import Room
from equipoise.lab.gpu.teams.lanes import LANES, WARP

DIMS = range(1, 41)


@pytest.mark.parametrize("dim", DIMS)
def test_columns_of_a_triangle_share_nothing(dim):
    room = Room(dim, 7)
    places = [room.column(c) + r for c in range(dim) for r in range(c, dim)]
    assert len(set(places)) == len(places)
    assert min(places) >= 0
    assert max(places) < room.triangle


@pytest.mark.parametrize("dim", DIMS)
def test_pairs_are_whole_and_lie_in_different_banks(dim):
    room = Room(dim, 7)
    for distance in (room.row, room.matrix, room.vector, room.triangle):
        assert distance % 4 == 2
    assert all((room.column(c) + c - c % 2) % 2 == 0 for c in range(dim))


def test_few_arms_have_more_threads_each():
    assert [Room(10, arms).threads for arms in (1, 2, 4, 7, 900)] == [WARP, WARP // 2, 8, LANES, LANES]


def test_large_systems_have_more_threads():
    assert [Room(dim, 7).threads for dim in (16, 24, 32, 40)] == [4, 8, 16, 32]
