"""Files that must stay where they were opened."""

from __future__ import annotations

import os
import time

import pytest

from equipoise.live.stores.sqlite import placement
from equipoise.live.stores.sqlite.placement import Placement, place_of


@pytest.fixture
def files(tmp_path):
    found = [tmp_path / "trial.db", tmp_path / "trial.db-wal"]
    for file in found:
        file.write_text("x")
    return found


@pytest.fixture
def placed(tmp_path, files):
    return Placement(tmp_path, [(str(file), place_of(file)) for file in files])


@pytest.fixture
def asked(monkeypatch):
    """The files that are asked for their place."""
    seen, look = [], placement.place_of

    def noted(path):
        seen.append(path)
        return look(path)

    monkeypatch.setattr(placement, "place_of", noted)
    return seen


def settle(folder):
    """As if nothing had changed in the folder for a while."""
    before = time.time_ns() - 10**10 + 1
    os.utime(folder, ns=(before, before))
    time.sleep(0.15)  # its ctime is of now


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_a_file_that_goes_is_missed(placed, files, tmp_path, which, settled):
    if settled:
        settle(tmp_path)
    assert placed.holds()
    assert placed.holds()
    files[which].unlink()
    assert not placed.holds()
    assert not placed.holds()


@pytest.mark.parametrize("settled", [False, True])
def test_another_file_under_the_name_is_noticed(placed, files, tmp_path, settled):
    if settled:
        settle(tmp_path)
    assert placed.holds()
    other = tmp_path / "other"
    other.write_text("x")
    other.replace(files[1])
    assert not placed.holds()


def test_a_folder_that_moves_is_noticed(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    file = folder / "trial.db"
    file.write_text("x")
    placed = Placement(folder, [(str(file), place_of(file))])
    settle(folder)
    assert placed.holds()
    folder.rename(tmp_path / "there")
    assert not placed.holds()
    folder.mkdir()
    file.write_text("x")
    assert not placed.holds()
    file.unlink()
    folder.rmdir()
    (tmp_path / "there").rename(folder)
    assert placed.holds()


def test_other_files_may_come_and_go(placed, tmp_path):
    settle(tmp_path)
    assert placed.holds()
    (tmp_path / "another").write_text("x")
    assert placed.holds()


def test_only_a_folder_that_has_changed_is_looked_into(placed, files, tmp_path, asked):
    settle(tmp_path)
    assert placed.holds()
    del asked[:]
    for _ in range(5):
        files[1].write_text("y")  # no change of the folder
        assert placed.holds()
    assert asked == []
    (tmp_path / "another").write_text("x")
    assert placed.holds()
    assert asked == [str(file) for file in files]


def test_a_folder_that_has_just_changed_is_not_relied_on(placed, tmp_path, asked):
    """A second change may bear the same time as the first."""
    (tmp_path / "another").write_text("x")
    assert placed.holds()
    del asked[:]
    assert placed.holds()
    assert asked != []


def test_whole_seconds_are_not_relied_on(placed, tmp_path, asked, monkeypatch):
    settle(tmp_path)
    whole = time.time_ns() // 10**9 * 10**9 - 10**10
    found = os.stat(tmp_path)  # noqa: PTH116
    fields = {name: getattr(found, name) for name in ("st_ino", "st_dev")}
    coarse = type("Coarse", (), {**fields, "st_mtime_ns": whole, "st_ctime_ns": whole})
    look = os.stat

    def stat(path, **options):
        return coarse if str(path) == str(tmp_path) else look(path, **options)

    monkeypatch.setattr(placement.os, "stat", stat)
    for _ in range(3):
        del asked[:]
        assert placed.holds()
        assert asked != []
