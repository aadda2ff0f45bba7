"""What ``tools/package.py`` refuses to publish; ``make package`` runs all of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from equipoise import __version__

pytest.importorskip("packaging")
TOOL = Path(__file__).parents[1] / "tools" / "package.py"
spec = importlib.util.spec_from_file_location("package_tool", TOOL)
package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)

INFO = "equipoise-0.1.0.dist-info/"
METADATA = """\
Metadata-Version: 2.4
Name: equipoise
Version: {version}
Summary: Spend a limited experiment budget.
Requires-Python: >=3.11
License-Expression: Apache-2.0
License-File: LICENSE
Provides-Extra: plot
Provides-Extra: cluster
Provides-Extra: data
Provides-Extra: postgres
Description-Content-Type: text/markdown

# Equipoise
"""
GOOD = METADATA.format(version=__version__)


@pytest.fixture
def wheel():
    """The files of a wheel that is in order."""
    return {
        **dict.fromkeys(package.sources(), b""),
        INFO + "METADATA": GOOD.encode(),
        INFO + "licenses/LICENSE": b"Apache",
        INFO + "entry_points.txt": b"[console_scripts]",
    }


@pytest.fixture
def sdist():
    return {f"src/{name}": b"" for name in package.sources()} | dict.fromkeys(package.IN_SDIST, b"")


def test_what_is_in_order_passes(wheel, sdist):
    assert list(package.problems_of_wheel(wheel)) == []
    assert list(package.problems_of_sdist(sdist)) == []


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("tests/test_golden.py", b"", "holds tests/test_golden.py"),
        ("equipoise/ratings.csv", b"", "holds equipoise/ratings.csv"),
        ("equipoise/__pycache__/a.pyc", b"", "compiled for one Python"),
        ("equipoise/py.typed", None, "lacks equipoise/py.typed"),
        ("equipoise/__init__.pyi", None, "lacks equipoise/__init__.pyi"),
        ("equipoise/version.py", f"x = '{TOOL}'".encode(), "a folder of this machine"),
        (INFO + "licenses/LICENSE", None, "no licenses/LICENSE"),
        (INFO + "METADATA", METADATA.format(version="9.9").encode(), "version 9.9"),
        (INFO + "METADATA", METADATA.replace("equipoise", "e q").encode(), "metadata: "),
        (INFO + "METADATA", GOOD.replace(": plot", ": plots").encode(), "extra 'plot'"),
        (INFO + "METADATA", GOOD.replace("License-File: LICENSE\n", "").encode(), "License-File"),
    ],
)
def test_what_is_not_in_order_is_named(wheel, name, data, problem):
    wheel.pop(name, None)
    if data is not None:
        wheel[name] = data
    assert any(problem in found for found in package.problems_of_wheel(wheel))


def test_what_is_missing_from_an_sdist_is_named(sdist):
    del sdist["LICENSE"], sdist["src/equipoise/errors.py"]
    sdist["tests/test_files.py"] = b""
    found = " ".join(package.problems_of_sdist(sdist))
    for problem in ("has no LICENSE", "lacks src/equipoise/errors.py", "holds tests/test_files.py"):
        assert problem in found


def test_the_readme_has_python_in_it():
    assert "eq.Experiment(problem" in package.python_of_readme()
    compile(package.python_of_readme(), "README.md", "exec")


def test_a_command_that_fails_ends_everything():
    with pytest.raises(package.Wrong, match="failed"):
        package.run([sys.executable, "-c", "raise SystemExit(3)"])
