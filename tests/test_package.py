"""The package as a whole: what importing it costs, and what ships with it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files

import equipoise as eq
from equipoise import errors


def test_import_is_light():
    """Nothing optional, and nothing compiled, at import."""
    code = (
        "import sys, json, equipoise\n"
        "heavy = ('scipy.special', 'matplotlib', 'pandas', 'click', 'rich')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))\n"
        "from equipoise.core.arms import assign\n"
        "print(len(assign.signatures))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded, signatures = out.splitlines()
    assert json.loads(loaded) == []
    assert signatures == "0"


def test_typed_and_versioned():
    assert (files("equipoise") / "py.typed").is_file()
    assert eq.__version__
    assert set(eq.__all__) <= set(dir(eq))


def test_every_error_is_rooted_and_documented():
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning):
            assert issubclass(value, eq.EquipoiseError)
            assert value.__doc__
            error = value("what", hint="do")
            assert str(error) == "what (do)"
            assert str(value("what")) == "what"
