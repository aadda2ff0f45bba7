import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from full_disk import full_disk
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.cli.demo.plot import save_plot
from equipoise.cli.demo.trial import World
from equipoise.cli.world.scenario import save_scenario
from equipoise.errors import OutputNotWritable
from equipoise.files import check_file, check_writable, make_folder, write_whole
from equipoise.lab.data.dense import DenseTable
from equipoise.lab.running.checkpoint import open_checkpoint
from equipoise.report import Report, write_report, write_results
from equipoise.studies.leaderboard import run_leaderboard, write_bar, write_leaderboard
from equipoise.studies.leaderboard.bar import BAR_POLICIES
from equipoise.studies.store import Store

needs_rights = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@given(content=st.one_of(st.text(), st.binary()))
def test_what_is_written_is_read(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "file"
    write_whole(path, content)
    expected = content.encode() if isinstance(content, str) else content
    assert path.read_bytes() == expected
    write_whole(path, lambda file: file.write(expected * 2))
    assert path.read_bytes() == expected * 2
    assert names(path.parent) == ["file"]


def test_a_text_with_half_a_character_is_written_all_the_same(tmp_path):
    write_whole(tmp_path / "file", "a \udc80 path")
    assert (tmp_path / "file").read_text() == "a \\udc80 path"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError, MemoryError])
def test_the_old_file_survives_whatever_stops_the_writer(stop, tmp_path):
    path = tmp_path / "file"
    write_whole(path, "old")

    def save(file):
        file.write(b"new" * 100_000)
        raise stop

    with pytest.raises(stop):
        write_whole(path, save)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_whole(path, "text")
    assert path.read_text() == "text"


def test_rights_and_links_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("file")
    write_whole(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_into(tmp_path):
    # Renaming a file onto /dev/stdout would take the terminal away.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write_whole(pipe, "text")
    assert reader.communicate(timeout=20)[0] == b"text"
    assert pipe.is_fifo()


@needs_rights
def test_a_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o400)
    for act in (partial(write_whole, content="new"), check_file):
        with pytest.raises(OutputNotWritable, match="may not be changed"):
            act(path)
    assert path.read_text() == "old"


def test_folders_and_missing_folders_are_refused(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "none" / "file", tmp_path / "file" / "below"):
        for act in (partial(write_whole, content="new"), check_file):
            with pytest.raises(OutputNotWritable, match=r"cannot write to .*choose another place"):
                act(path)
    for act in (check_writable, make_folder):
        with pytest.raises(OutputNotWritable, match="choose another folder"):
            act(tmp_path / "file" / "below")
    assert names(tmp_path) == ["file"]


def test_checks_change_nothing(tmp_path):
    check_file(tmp_path / "file")
    check_writable(tmp_path / "some" / "folder")
    assert names(tmp_path) == []


# ---- every writer of the package on a full disk ----


@pytest.fixture(scope="module")
def result():
    scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=20)
    return eq.simulate(scenario, ["uniform", "oracle"], trials=4, seed=1)


@pytest.fixture(scope="module")
def board():
    return run_leaderboard(["wild-arm"], policies=BAR_POLICIES, trials=4, seed=1)


@pytest.fixture(scope="module")
def comparison():
    world = World(budget=100, seed=1)
    experiments = [world.experiment(eq.parse_policy(name)) for name in ("trace-gain", "uniform")]
    return world.compare(*experiments, lambda: None)


def dense_table():
    numbers = np.ones((3, 1))
    return DenseTable("ones", numbers, numbers, ("a",), ("b",), np.ones(3, np.int64), 3, "popular")


WRITERS = {
    "result": lambda folder, values: values("result").save(folder / "result.npz"),
    "results": lambda folder, values: write_results(folder, values("result"), overwrite=True),
    "parquet": lambda folder, values: values("result").losses().write_parquet(folder / "losses.parquet"),
    "report": lambda folder, values: write_report(
        folder / "report.html", Report(title="title"), overwrite=True
    ),
    "scenario": lambda folder, values: save_scenario(folder / "s.toml", values("result").scenario),
    "table": lambda folder, values: dense_table().write_csv(folder / "table.csv"),
    "leaderboard": lambda folder, values: write_leaderboard(values("board"), folder),
    "bar": lambda folder, values: write_bar(values("board"), folder),
    "store": lambda folder, values: Store(folder).write({"name": "point"}, {"value": 1.0}),
    "checkpoint": lambda folder, values: open_checkpoint(
        folder, values("result").scenario, {"uniform": eq.Uniform()}, 1
    ),
    "plot": lambda folder, values: save_plot(values("comparison"), folder / "demo.png", version="1"),
}


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("writer", WRITERS)
def test_on_a_full_disk_old_files_survive(writer, share, tmp_path, request):
    write = partial(WRITERS[writer], tmp_path, request.getfixturevalue)
    write()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    room = int(share * min(map(len, before.values())))
    with full_disk(room), pytest.raises(OutputNotWritable, match="free some space"):
        write()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_command_line_on_a_disk_that_is_really_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or mount is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("a file system may not be mounted here")
    try:
        old = disk / "result.npz"
        old.write_text("old")
        (disk / "filler").write_bytes(b"\0" * 45_000)
        scenario = ["--noise", "0.5,1", "--dim", "2", "--budget", "20", "--policy", "uniform"]
        command = [sys.executable, "-m", "equipoise", "simulate", *scenario, "--trials", "500", "--output"]
        run = subprocess.run([*command, str(disk), "--overwrite"], capture_output=True, text=True)
        assert run.returncode == 7, run.stderr
        assert "No space left on device" in run.stderr
        assert "free some space" in run.stderr
        assert "Traceback" not in run.stderr
        assert old.read_text() == "old"
        assert not [path for path in disk.iterdir() if path.suffix == ".partial"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_nothing_else_opens_files_for_writing():
    """One way to write a file; downloads, which are resumed, grow a part of their own.

    Machine code is kept as far as that can be done, and nobody is told if it cannot.
    """
    package = Path(eq.__file__).parent
    marks = ('open("w', "open('w", 'open("a', "write_text(", "write_bytes(", "np.save(", 'open("x')
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for mark in marks
        if mark in path.read_text(encoding="utf-8")
    }
    assert found == {"core/jit/storage.py", "files.py", "lab/data/download.py"}
