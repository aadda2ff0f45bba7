"""Interrupted runs go on where they stopped, to the identical result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import CheckpointMismatch, OutputNotWritable
from equipoise.lab.running import checkpoint
from equipoise.lab.running import simulate as module
from equipoise.lab.trial.ledger import Ledger, new_ledger

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=3, budget=50, lost=0.1)
POLICIES = ["uniform", "trace-ucb"]
RUN = {"trials": 600, "seed": 3}
CHUNK = 50 * SCENARIO.budget  # 25 trials of both policies, each kept in a file of its own
CHUNKS, FILES = 24, 48
PATIENCE = 60.0  # seconds, for another process to start and compile


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "_DECISIONS_A_CHUNK", CHUNK)


@pytest.fixture
def ran(monkeypatch):
    """Chunks that were run, not read."""
    chunks = []

    def run_chunk(*arguments):
        chunks.append(arguments[3])
        return original(*arguments)

    original = module.run_chunk
    monkeypatch.setattr(module, "run_chunk", run_chunk)
    return chunks


@pytest.fixture(scope="module")
def expected():
    return eq.simulate(SCENARIO, POLICIES, **RUN)


def assert_same(result, expected):
    assert list(result.policies) == list(expected.policies)
    for name in expected.policies:
        for field in Ledger._fields:
            one, other = getattr(result[name].ledger, field), getattr(expected[name].ledger, field)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other, field)


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.npz"))


# Interruptions

PROGRAM = """
import sys, time, equipoise as eq
from equipoise.lab.running import simulate as module
module._DECISIONS_A_CHUNK = {chunk}
scenario = eq.Scenario.from_toml({toml!r})

def slowly(done, total):
    time.sleep(0.05)  # so that it is still at work when it is stopped

print("ready", flush=True)
try:
    run = dict(trials={trials}, seed={seed}, workers=1, checkpoint={folder!r})
    eq.simulate(scenario, {policies}, **run, progress=slowly)
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
def test_a_stopped_program_goes_on(how, tmp_path, expected, ran):
    source = PROGRAM.format(
        chunk=CHUNK, toml=SCENARIO.to_toml(), policies=POLICIES, folder=str(tmp_path), **RUN
    )
    program = subprocess.Popen([sys.executable, "-c", source], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while len(kept(tmp_path)) < 4:
        assert program.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    program.send_signal(how)
    _, errors = program.communicate(timeout=PATIENCE)
    if how == signal.SIGKILL:
        assert program.returncode == -signal.SIGKILL
    else:
        assert errors == "interrupted\n"
    finished = len(kept(tmp_path))
    assert 4 <= finished < FILES
    result = eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert_same(result, expected)
    assert len(ran) == CHUNKS - finished // 2


def test_a_finished_run_is_only_read(tmp_path, expected, ran):
    first = eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert len(ran) == CHUNKS
    calls = []
    again = eq.simulate(
        SCENARIO, POLICIES, **RUN, checkpoint=tmp_path, progress=lambda *call: calls.append(call)
    )
    assert len(ran) == CHUNKS
    assert calls[-1] == (1_200, 1_200)
    assert_same(first, expected)
    assert_same(again, expected)
    for name in POLICIES:  # the time that it took is kept too
        assert again[name].seconds == pytest.approx(first[name].seconds)


def test_an_error_in_the_middle_keeps_what_is_finished(tmp_path, expected, ran):
    def fail(done, total):
        if done >= 300:
            raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="screen"):
        eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path, progress=fail)
    finished = len(kept(tmp_path))
    assert finished >= 6
    ran.clear()
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path), expected)
    assert len(ran) == CHUNKS - finished // 2


# Damage


def test_files_that_were_never_finished_are_ignored(tmp_path, expected, ran):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    ran.clear()
    whole = kept(tmp_path)[5]
    whole.with_name(f"{whole.name}.123.partial").write_bytes(whole.read_bytes()[:100])
    whole.unlink()
    (tmp_path / "manifest.json.123.partial").write_text("{")
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path), expected)
    assert len(ran) == 1


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def flipped(content: bytes) -> bytes:
    middle = len(content) // 3
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def replaced(content: bytes) -> bytes:
    return b"not an archive at all"


@pytest.mark.parametrize("damage", [truncated, emptied, flipped, replaced])
def test_damaged_chunks_run_again(damage, tmp_path, expected, ran):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    ran.clear()
    for path in kept(tmp_path)[3:5]:
        path.write_bytes(damage(path.read_bytes()))
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path), expected)
    assert len(ran) == 2
    # And they are whole again.
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path), expected)
    assert len(ran) == 2


def test_chunks_of_another_size_are_read(tmp_path, expected, ran, monkeypatch):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    ran.clear()
    monkeypatch.setattr(module, "_DECISIONS_A_CHUNK", 2 * CHUNK + 50)
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path), expected)
    assert ran == []


def test_an_archive_without_the_arrays_runs_again(tmp_path, expected, ran):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    ran.clear()
    np.savez(kept(tmp_path)[0], something=np.zeros(3))
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path), expected)
    assert len(ran) == 1


# More of the same


def test_more_trials_and_policies_only_add(tmp_path, monkeypatch):
    trials_run = []
    original = module.run_chunk

    def counted(arena, policies, seed, first, trials):
        trials_run.extend((policy.spec, first + k) for policy in policies for k in range(trials))
        return original(arena, policies, seed, first, trials)

    monkeypatch.setattr(module, "run_chunk", counted)

    def run(policies, trials):
        trials_run.clear()
        found = eq.simulate(SCENARIO, policies, trials=trials, seed=3, checkpoint=tmp_path)
        ran = sorted(trials_run)
        assert_same(found, eq.simulate(SCENARIO, policies, trials=trials, seed=3))
        return ran

    assert run(["uniform"], 30) == [("uniform", k) for k in range(30)]
    assert run(["uniform"], 75) == [("uniform", k) for k in range(30, 75)]
    assert run(["uniform"], 10) == []
    assert run(["trace-ucb", "uniform"], 40) == [("trace-ucb", k) for k in range(40)]
    lacking = [("trace-ucb", k) for k in range(40, 80)] + [("uniform", k) for k in range(75, 80)]
    assert run(["uniform", "trace-ucb"], 80) == lacking
    assert run(["trace-ucb:width=2"], 5) == [("trace-ucb:width=2", k) for k in range(5)]


def test_packed_trials_are_one_file_and_the_same(tmp_path, expected, ran):
    result = eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert len(kept(tmp_path)) == FILES
    module.pack_trials(tmp_path, SCENARIO, POLICIES, RUN["seed"], result.policies)
    names = [path.name for path in kept(tmp_path)]
    assert [(name.rsplit("-", 3)[0], name[-9:]) for name in names] == [
        ("trace-ucb", "0-600.npz"),
        ("uniform", "0-600.npz"),
    ]
    ran.clear()
    again = eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert ran == []
    assert_same(again, expected)
    assert again["uniform"].seconds == pytest.approx(result["uniform"].seconds)


# Another simulation


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 4}, "another seed: 3 instead of 4"),
        ({"scenario": SCENARIO.replace(noise=(0.5, 2.1))}, "another scenario: .* instead of "),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_checkpoint_of_something_else_is_refused(change, message, tmp_path, ran):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    ran.clear()
    run = {"scenario": SCENARIO, "policies": POLICIES, **RUN, **change}
    with pytest.raises(CheckpointMismatch, match=f"{message}.*use another folder"):
        eq.simulate(run.pop("scenario"), run.pop("policies"), **run, checkpoint=tmp_path)
    assert ran == []
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_checkpoint_of_another_version_is_refused(tmp_path, ran, monkeypatch):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    ran.clear()
    monkeypatch.setattr(checkpoint, "__version__", "99.0")
    with pytest.raises(CheckpointMismatch, match=r"another version: .* instead of '99\.0'"):
        eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert ran == []


def test_a_policy_whose_code_changed_runs_again(tmp_path, ran):
    """A researcher edits a policy and runs again: what the old code found is not what the new one would."""

    def define(sign):
        def score(arm, trial, settings):
            return -arm.count

        def other_score(arm, trial, settings):
            return -arm.count * 2.0

        chosen = score if sign > 0 else other_score
        chosen.__name__ = chosen.__qualname__ = "edited"
        return eq.register("test-checkpoint-edited", chosen)

    run = {"trials": 5, "seed": 1, "checkpoint": tmp_path}
    for _ in range(2):
        eq.simulate(SCENARIO, [define(1)()], **run)
    assert ran == [0]
    eq.simulate(SCENARIO, [define(-1)()], **run)
    assert ran == [0, 0]
    eq.simulate(SCENARIO, [define(1)()], **run)
    assert ran == [0, 0]  # what the old code found is there still


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"text"', "{}"])
def test_a_manifest_that_is_none_is_refused(content, tmp_path, ran):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(CheckpointMismatch, match="use another folder"):
        eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert ran == []


def test_the_manifest_says_what_it_is(tmp_path):
    eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["version"] == eq.__version__
    assert manifest["seed"] == 3
    assert eq.Scenario.from_dict(manifest["scenario"]) == SCENARIO


# Folders


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made(place, tmp_path, ran):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputNotWritable, match="choose another folder"):
        eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path / place)
    assert ran == []


@contextmanager
def without_rights():
    """Rights of files mean nothing to root, so give root's up for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("started", [False, True])
def test_a_folder_without_the_right_to_write(started, ran):
    # Not pytest's folder, which others may not even look into.
    with TemporaryDirectory() as name:
        folder = Path(name)
        if started:
            eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=folder)
            ran.clear()
        folder.chmod(0o555)
        with without_rights(), pytest.raises(OutputNotWritable, match="Permission denied"):
            eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=folder)
        assert ran == []
        folder.chmod(0o755)


def test_a_disk_that_fills_up(tmp_path, monkeypatch):
    save, count = np.savez, []

    def save_some(file, **arrays):
        count.append(file)
        if len(count) > 4:
            raise OSError(28, "No space left on device")
        save(file, **arrays)

    monkeypatch.setattr(np, "savez", save_some)
    with pytest.raises(OutputNotWritable, match=r"No space left on device.*are kept"):
        eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)
    assert len(kept(tmp_path)) == 4


def test_a_folder_that_does_not_exist_is_made(tmp_path, expected):
    assert_same(eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=str(tmp_path / "a" / "b")), expected)
    assert len(kept(tmp_path / "a" / "b")) == FILES


@pytest.mark.parametrize("text", ["[" * 5_000, '{"version": ' + "[" * 980 + "]" * 980 + "}", "\udc80", "3"])
def test_a_manifest_that_is_none(tmp_path, text):
    (tmp_path / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CheckpointMismatch):
        eq.simulate(SCENARIO, POLICIES, **RUN, checkpoint=tmp_path)


def test_of_files_that_are_written_at_once_one_that_fails_costs_no_other(tmp_path, monkeypatch):
    named = {name: eq.parse_policy(name) for name in POLICIES}
    store = checkpoint.open_checkpoint(tmp_path, SCENARIO, named, 3)
    write, together = checkpoint.write_whole, threading.Barrier(2, timeout=PATIENCE)

    def fail_once(path, content, **options):
        together.wait()  # neither is written before both are about to be
        if path.name.startswith("uniform"):
            raise OutputNotWritable("the disk is broken")
        write(path, content, **options)

    monkeypatch.setattr(checkpoint, "write_whole", fail_once)
    part = checkpoint.Part(0, new_ledger(4, 2), 0.0)
    with pytest.raises(OutputNotWritable, match="broken"):
        store.write({0: part, 1: part})
    assert [store.has(policy, 4) for policy in (0, 1)] == [False, True]
