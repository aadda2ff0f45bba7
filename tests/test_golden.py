"""The same bits from commit to commit, and from one processor, compiler and Numba to another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest
from other_process import GENERIC

import equipoise as eq
import golden

PINNED = json.loads(golden.FILE.read_text(encoding="utf-8"))
ROOT = Path(__file__).parent.parent
OLDEST, NEWEST = "0.61.0", version("numba")


def test_the_file_is_of_these_bits():
    assert PINNED["numerics"] == eq.NUMERICS
    assert list(PINNED["entries"]) == list(golden.ENTRIES)


@pytest.mark.parametrize("name", golden.ENTRIES)
def test_decisions_are_those_that_are_pinned(name):
    assert golden.ENTRIES[name]() == PINNED["entries"][name]


def test_every_policy_is_pinned():
    pinned = {name for entry in PINNED["entries"] for name in golden.POLICIES if name in entry.split(":")[0]}
    assert pinned == set(golden.POLICIES) == set(built_in_names())


def built_in_names():
    from built_in import BUILT_IN

    return BUILT_IN


def differences(names, python=sys.executable, **environment):
    """Entries that another process computes otherwise."""
    command = [python, str(Path(golden.__file__)), *names]
    source = {"PYTHONPATH": str(ROOT / "src")}
    out = subprocess.run(
        command, env={**os.environ, **source, **environment}, capture_output=True, text=True, check=False
    )
    assert out.returncode == 0, out.stderr
    found = json.loads(out.stdout)["entries"]
    assert list(found) == list(names or PINNED["entries"])
    return [name for name in found if found[name] != PINNED["entries"][name]]


@pytest.mark.slow
def test_all_bits_on_a_plain_processor():
    assert differences((), **GENERIC) == []


@pytest.mark.slow
def test_all_bits_in_the_plain_way():
    assert differences((), EQUIPOISE_COMPILE="plain") == []


@pytest.mark.slow
@pytest.mark.parametrize("way", ["", "plain"])
@pytest.mark.parametrize("numba", [OLDEST, NEWEST])
def test_all_bits_with_the_oldest_and_the_newest_numba(tmp_path, numba, way):
    venv.create(tmp_path, with_pip=True)
    python = str(tmp_path / "bin" / "python")
    wanted = [f"numba=={numba}", "scipy", "click", "rich", "tomli-w", "pyarrow"]
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *wanted], capture_output=True, text=True, check=False
    )
    if installed.returncode != 0:
        pytest.skip(f"numba {numba} cannot be installed here: {installed.stderr[-200:]}")
    assert differences((), python, EQUIPOISE_COMPILE=way) == []
