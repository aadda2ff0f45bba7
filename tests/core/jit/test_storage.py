"""Machine code on disk: never another source's, and never in the way."""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import equipoise
from equipoise.core.jit import storage

# Prints ‖Rg‖² as a kernel that takes in core/arms/factor.py computes it, and how it came about.
PROGRAM = """
import numpy as np
from equipoise.core.jit import storage
written = []
write = storage.write
storage.write = lambda key, payload: (written.append(key), write(key, payload))
from equipoise.core.arms.state import new_state
from equipoise.core.arms.whitening import weighted_square
ones = np.ones(2)
state = new_state(dim=2, budget=9, money=9.0, exponent=1.0, weights=ones, costs=ones, floors=0 * ones,
    caps=np.inf * ones, order=np.arange(2), whitener=None, learns_moment=True, forced_start=True,
    looks=False, pools=False, chance=0.0, seed=0, capacity=9)
state.seen_factor[:] = np.eye(2)
state.g[:] = 2.0
print(weighted_square(state, state.g), sum("weighted_square" in key for key in written))
"""
COMPILED, FOUND = "8.0 1", "8.0 0"


@pytest.fixture
def package(tmp_path):
    """A copy of the package as it would be installed, whose sources can be changed."""
    target = tmp_path / "site"
    source = Path(equipoise.__file__).parent
    shutil.copytree(source, target / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
    return target


def _environment(package, **changes):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "EQUIPOISE_")) and name != "XDG_CACHE_HOME"
    }
    return {**kept, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **changes}


def _run(package, program=PROGRAM, before=None, **changes):
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=_environment(package, **changes),
        capture_output=True,
        text=True,
        preexec_fn=before,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def _kernels(folder):
    return [file for file in folder.rglob("*.kernel") if file.stat().st_size > 0]


def _replace(file, old, new):
    """Change a source and nothing else: as many letters, the same date."""
    facts, text = file.stat(), file.read_text()
    assert old in text
    assert len(old) == len(new)
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def test_the_next_process_finds_the_kernel_beside_the_sources(package):
    assert [_run(package), _run(package)] == [COMPILED, FOUND]
    assert _kernels(package / "equipoise" / "core" / "jit" / "__pycache__")


def test_a_change_in_a_helper_alone_is_noticed(package):
    assert _run(package) == COMPILED
    # The loop over the triangle in squared_length_through, which weighted_square takes in.
    _replace(
        package / "equipoise/core/arms/factor.py",
        "entry += upper[r, k] * g[k]",
        "entry -= upper[r, k] * g[k]",
    )
    _replace(package / "equipoise/core/arms/factor.py", "total += entry * entry", "total -= entry * entry")
    assert _run(package) == "-8.0 1"
    _replace(package / "equipoise/core/arms/factor.py", "total -= entry * entry", "total += entry * entry")
    _replace(
        package / "equipoise/core/arms/factor.py",
        "entry -= upper[r, k] * g[k]",
        "entry += upper[r, k] * g[k]",
    )
    assert _run(package) == FOUND


def test_a_change_in_a_table_is_noticed(package):
    assert [_run(package), _run(package)] == [COMPILED, FOUND]
    table = package / "equipoise/core/draws/normal_table.npy"
    table.write_bytes(table.read_bytes()[:-1] + b"\0")
    assert _run(package) == COMPILED


def test_nothing_is_written_if_sources_change_after_the_import(package):
    factor = package / "equipoise/core/arms/factor.py"
    change = f"import equipoise.core.jit.sources\nopen({str(factor)!r}, 'a').write('# changed')\n"
    assert _run(package, change + PROGRAM) == COMPILED
    assert not _kernels(package)


@pytest.mark.slow
def test_damaged_files_are_compiled_anew(package):
    _run(package)
    for damage in (lambda content: content[: len(content) // 2], lambda content: b"", _flip_a_bit):
        for file in package.rglob("*.kernel"):
            file.write_bytes(damage(file.read_bytes()))
        assert _run(package) == COMPILED
        assert _run(package) == FOUND


def _flip_a_bit(content):
    return content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]


def test_an_unwritable_package_uses_the_home(package, tmp_path):
    # A file where the folder should be: not even an administrator can write there.
    (package / "equipoise/core/jit/__pycache__").touch()
    home = tmp_path / "home"
    home.mkdir()
    assert [_run(package, HOME=str(home)) for _ in range(2)] == [COMPILED, FOUND]
    assert _kernels(home / ".cache" / "equipoise")


def test_without_any_folder_kernels_are_compiled_in_memory(package, tmp_path):
    (package / "equipoise/core/jit/__pycache__").touch()
    (tmp_path / "home").touch()
    assert _run(package, HOME=str(tmp_path / "home")) == COMPILED
    assert _run(package, HOME=str(tmp_path / "home"), EQUIPOISE_COMPILE="plain").startswith("8.0")
    assert _run(package, EQUIPOISE_KERNELS="") == COMPILED
    assert not _kernels(tmp_path)


def _forbid_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_full_disk_costs_time_only(package):
    # Files can be made, and nothing can be written into them.
    import signal

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _forbid_files()

    assert _run(package, before=fill) == COMPILED
    assert _run(package, before=fill, EQUIPOISE_COMPILE="plain").startswith("8.0")
    assert not list(package.rglob("*.kernel"))
    assert not list(package.rglob("*.partial"))


def test_four_processes_that_start_cold_at_once(package):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=_environment(package),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=120) for process in processes]
    assert all(out.startswith("8.0") for out, _ in answers), answers
    assert _run(package) == FOUND
    assert not list(package.rglob("*.partial"))


def test_a_folder_that_others_can_write_is_not_trusted(package, tmp_path):
    folder = tmp_path / "shared"
    assert _run(package, EQUIPOISE_KERNELS=str(folder)) == COMPILED
    (stamped,) = folder.iterdir()
    stamped.chmod(0o777)
    assert _run(package, EQUIPOISE_KERNELS=str(folder)) == COMPILED
    stamped.chmod(0o755)
    assert _run(package, EQUIPOISE_KERNELS=str(folder)) == FOUND


def test_only_old_machine_code_is_cleared_away(tmp_path):
    old, recent, foreign = tmp_path / ("a" * 32), tmp_path / ("b" * 32), tmp_path / "documents"
    for folder in (old, recent, foreign):
        folder.mkdir()
        (folder / "code.kernel").touch()
    (foreign / "letter.txt").touch()
    long_ago = time.time() - 40 * 24 * 3600
    for folder in (old, foreign):
        for file in folder.iterdir():
            os.utime(file, (long_ago, long_ago))
    storage._clear_unused(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b" * 32, "documents"]
    assert len(list(foreign.iterdir())) == 2


def test_what_ended_processes_have_left_half_written_is_cleared_away(package, tmp_path):
    folder = tmp_path / "kernels"
    _run(package, EQUIPOISE_KERNELS=str(folder))
    (stamped,) = folder.iterdir()
    left, at_work = stamped / "17-4.partial", stamped / "18-5.partial"
    for file in (left, at_work):
        file.write_bytes(b"half of a kernel")
    two_hours_ago = time.time() - 2 * 3600
    os.utime(left, (two_hours_ago, two_hours_ago))
    kernels = _kernels(stamped)
    for file in kernels:
        os.utime(file, (two_hours_ago, two_hours_ago))
    # Compiles a kernel that is not there yet: who only reads does not tidy up.
    kernels[0].unlink()
    _run(package, EQUIPOISE_KERNELS=str(folder))
    assert sorted(stamped.glob("*.partial")) == [at_work]
    assert len(_kernels(stamped)) == len(kernels)
