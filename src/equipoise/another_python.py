"""Another Python like this one, for work that this process is to be spared."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def another_python(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command of a Python that finds the same libraries as this one, and its environment.

    Raises OSError, as starting it might, where there is none: a program that brings Python with it would
    start itself once more.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise ChildProcessError("this program brings its own Python")
    # An empty one is the folder at hand, which "-P" keeps away from whoever did not have it.
    paths = os.pathsep.join(str(path or Path.cwd()) for path in sys.path)
    return [sys.executable, "-P", *arguments], {**os.environ, "PYTHONPATH": paths}
