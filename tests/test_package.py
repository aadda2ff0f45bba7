"""The package as a whole: what importing it costs, and what ships with it."""

from __future__ import annotations

import ast
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest

import equipoise as eq
from equipoise import errors


def test_import_is_light():
    """Nothing optional, and nothing compiled, at import."""
    code = (
        "import sys, json, equipoise\n"
        "heavy = ('scipy.special', 'matplotlib', 'pandas', 'click', 'rich')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))\n"
        "from equipoise.core.arms.least_squares import assign\n"
        "print(assign.is_compiled)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded, is_compiled = out.splitlines()
    assert json.loads(loaded) == []
    assert is_compiled == "False"


def output_of(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("act", ["import equipoise", "main(['--version'])", "main(['--help'])"])
def test_help_and_version_wait_for_nothing(act):
    code = (
        "import sys, contextlib, io\n"
        "from equipoise.cli import main\n"
        f"with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n    {act}\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'importlib.metadata'}\n"
        "print(len(sys.modules), heavy & set(sys.modules))"
    )
    count, heavy = output_of(code).split(maxsplit=1)
    assert heavy == "set()\n"
    assert int(count) < 150


def test_the_table_of_names_is_a_stub_that_exports_what_it_imports():
    tree = ast.parse(Path(eq.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [node for node in tree.body if not isinstance(node, ast.Expr)]
    assert all(isinstance(line, ast.ImportFrom) and line.level == 0 for line in lines)
    names = [name for line in lines for name in line.names]
    assert all(name.asname == name.name for name in names), "a stub exports only NAME as NAME"
    assert sorted(name.name for name in names) == eq.__all__


def test_every_piece_of_a_scenario_is_at_hand():
    for name in dir(eq.lab.pieces):
        piece = getattr(eq.lab.pieces, name)
        if isinstance(piece, type) and hasattr(piece, "kind"):
            assert getattr(eq, name) is piece


def test_every_name_is_found():
    for name in eq.__all__:
        assert getattr(eq, name) is not None
        assert name in vars(eq)
    assert set(eq.__all__) <= set(dir(eq))
    namespace = {}
    exec("from equipoise import *", namespace)
    assert set(eq.__all__) <= set(namespace)
    assert namespace["theory"] is eq.theory is import_module("equipoise.core.theory")
    assert eq.lab is import_module("equipoise.lab")
    for name in ("NotThere", "numpy", "_Hidden"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(eq, name)


def test_policies_are_registered_wherever_the_registry_is_asked_first():
    names = sorted(name for name, kind in eq.registered_policies().items() if "test" not in name)
    for ask in (
        "from equipoise.core.policies.base.policy import registered_policies as ask; print(sorted(ask()))",
        "import equipoise as eq; print(sorted(eq.registered_policies()))",
        "from equipoise.core.policies.uniform import Uniform; import equipoise as eq;"
        "print(sorted(eq.registered_policies()))",
    ):
        found = ast.literal_eval(output_of(ask))
        assert set(found) <= set(names)
        assert {"trace-ucb", "trace-gain", "sparse-trace-ucb", "b-as"} <= set(found)
    parse = "from equipoise.core.policies.base.policy import parse_policy; print(parse_policy('trace-ucb'))"
    assert output_of(parse).startswith("TraceUCB(")
    taken = (
        "from equipoise.core.policies.base.policy import Policy, register\n"
        "try:\n    register('trace-ucb', type('Mine', (Policy,), {}))\n"
        "except ValueError as error:\n    print(error)"
    )
    assert "is taken" in output_of(taken)


def test_pickles_need_no_import_first():
    policy = pickle.dumps(eq.TraceUCB(width=0.5))
    assert output_of(f"import pickle; print(pickle.loads({policy!r}).width)") == "0.5\n"


def test_typed_and_versioned():
    assert (files("equipoise") / "py.typed").is_file()
    assert eq.__version__


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
@pytest.mark.parametrize(
    "entry",
    [
        "import runpy; runpy.run_module('equipoise', run_name='__main__')",
        "from equipoise.__main__ import run; run()",
    ],
)
def test_ctrl_c_during_import_leaves_no_traceback(entry):
    # The module that takes longest to import says when it begins.
    hook = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'numba':\n"
        "            print('ready', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    code = f"{hook}sys.argv = ['equipoise', 'policies']\n{entry}"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == ""


def test_every_error_is_rooted_and_documented():
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning):
            assert issubclass(value, eq.EquipoiseError)
            assert value.__doc__
            error = value("what", hint="do")
            assert str(error) == "what (do)"
            assert str(value("what")) == "what"
