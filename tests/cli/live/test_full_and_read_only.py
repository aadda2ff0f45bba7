"""No space left, and places that may not be written: statuses of their own, and nothing half done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from full_disk import full_disk
from storing.nobody import as_nobody, open_folder

from equipoise.cli import main

WRITERS = {
    "backup": ("backup", "copy.db"),
    "archive": ("export", "trial", "trial.jsonl.gz"),
    "table": ("export", "trial", "units.csv"),
    "report": ("report", "trial"),
}


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 64 kB, of which nothing is left."""
    disk, mount = tmp_path / "disk", shutil.which("mount")
    disk.mkdir()
    line = [str(mount), "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or mount is None or subprocess.run(line, capture_output=True).returncode != 0:
        pytest.skip("a file system may not be mounted here")
    (disk / "filler").write_bytes(b"\0" * 65_536)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def place(line, folder):
    """The same line, its file in another folder."""
    if line[0] == "report":
        return (*line, "--output", folder / "trial.html")
    return (*line[:-1], folder / line[-1])


def test_on_a_full_disk_everything_that_writes_ends_with_7(refused, running, small_disk):
    for name, line in WRITERS.items():
        message, hint = refused(7, *place(line, small_disk))
        assert "No space left" in message or "full" in message, name
        assert "free some space" in hint, name
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_a_full_disk_under_the_store_ends_with_7_and_stores_nothing(live, refused, running):
    before = live("status", running, "--json")["head"]
    # Below what the file and its -wal have by now: nothing can be added to either.
    with full_disk(1000):
        refused(7, "tell", running, "P-10", "1")
    assert live("status", running, "--json")["head"] == before
    assert live("tell", running, "P-10", "1") == "1 outcome stored.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
def test_output_into_a_full_file_ends_with_7(running):
    for line in (("list",), ("list", "--json")):
        with open("/dev/full", "w") as full:  # noqa: PTH123
            command = [sys.executable, "-m", "equipoise", *line]
            ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert ran.returncode == 7, ran.stderr
        assert ran.stderr.startswith("Error: the output cannot be written: No space left on device\nHint: ")
        assert "Traceback" not in ran.stderr


def test_who_may_not_write_is_told_so_with_8(live, running):
    with open_folder() as folder:
        live("backup", folder / "trial.db")
        (folder / "trial.db").chmod(0o444)
        closed = folder / "closed"
        closed.mkdir(mode=0o755)
        store = ("--store", f"sqlite:///{folder}/trial.db")
        with as_nobody():
            told = status("tell", running, "P-10", "1", *store)
            shown = status("status", running, *store)
            dry = [
                status(*line, "--dry-run")
                for line in (
                    ("tell", running, "P-10", "1", *store),
                    ("pause", running, *store),
                    ("new", "two", "--arms", "a,b", "--dim", "1", "--budget", "9", *store),
                    ("new", "two", "--arms", "a,b", "--dim", "1", "--budget", "9", "--store",
                     f"sqlite:///{closed}/new.db"),
                )
            ]  # fmt: skip
            written = [status(*place(line, closed), *store) for line in WRITERS.values()]
        assert (told, shown) == (8, 0)
        assert dry == [8, 8, 8, 8]
        assert written == [8] * len(WRITERS)
        assert list(closed.iterdir()) == []


def test_a_folder_that_is_not_there_is_wrong_input(refused, running):
    for line in WRITERS.values():
        refused(2, *place(line, Path("nowhere")))


def status(*line):
    result = CliRunner().invoke(main, [str(word) for word in line])
    assert result.exit_code == 0 or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code
