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


@pytest.fixture(params=["by the name of the open file", "by stat"])
def way(request, monkeypatch):
    """How a file is looked for: as Linux allows, and as elsewhere."""
    if request.param == "by stat":
        monkeypatch.delattr(placement.os, "O_PATH", raising=False)
    elif not hasattr(os, "O_PATH"):
        pytest.skip("this system does not say what an open file is called")


@pytest.fixture
def placed(tmp_path, files, way):
    placed = Placement(tmp_path, [(str(file), place_of(file)) for file in files])
    yield placed
    placed.close()


@pytest.fixture
def asked(monkeypatch):
    """The files that are looked for."""
    seen, look = [], placement._PlacedFile.is_in_place

    def noted(file):
        seen.append(file._path)
        return look(file)

    monkeypatch.setattr(placement._PlacedFile, "is_in_place", noted)
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


def test_a_folder_that_moves_is_noticed(tmp_path, way):
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


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="this system does not say what an open file is called")
def test_no_file_is_asked_for_its_times(files, tmp_path, monkeypatch):
    """Linux makes the sync after the next write wait for that."""
    placed = Placement(tmp_path, [(str(file), place_of(file)) for file in files])
    statted, look = [], os.stat

    def stat(path, **options):
        statted.append(str(path))
        return look(path, **options)

    monkeypatch.setattr(placement.os, "stat", stat)
    (tmp_path / "another").write_text("x")
    assert placed.holds()
    assert set(statted) == {str(tmp_path)}
    placed.close()


def test_a_file_that_was_exchanged_before_is_missed(files, tmp_path, way):
    """Between the look at its place and now."""
    places = [(str(file), place_of(file)) for file in files]
    other = tmp_path / "other"
    other.write_text("x")
    other.replace(files[0])
    placed = Placement(tmp_path, places)
    assert not placed.holds()
    placed.close()


def test_a_file_that_goes_while_it_is_looked_at_is_missed(files, tmp_path, monkeypatch):
    """Its name is then that of a file that was removed."""
    link = os.readlink

    def removed(path):
        files[0].unlink(missing_ok=True)
        return link(path)

    with monkeypatch.context() as patch:
        patch.setattr(placement.os, "readlink", removed)
        placed = Placement(tmp_path, [(str(files[0]), place_of(files[0]))])
    assert not placed.holds()
    placed.close()


def test_a_folder_that_moved_and_left_a_link_holds(tmp_path, way):
    folder = tmp_path / "here"
    folder.mkdir()
    file = folder / "trial.db"
    file.write_text("x")
    placed = Placement(folder, [(str(file), place_of(file))])
    assert placed.holds()
    folder.rename(tmp_path / "there")
    folder.symlink_to(tmp_path / "there")
    assert placed.holds()
    placed.close()


def test_closing_leaves_no_open_file(files, tmp_path):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208
    placed = Placement(tmp_path, [(str(file), place_of(file)) for file in files])
    placed.close()
    placed.close()
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208
    assert after == before
