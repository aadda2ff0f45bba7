"""Code that runs in another process, where the compiler or a library is set up otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""A processor with none of the newer instructions."""


def output_of(test_file, call, **environment):
    """What a function of a test file prints there; ``call`` is Python, e.g. ``"digest()"``."""
    path = Path(test_file)
    code = f"import {path.stem}; print({path.stem}.{call})"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()
