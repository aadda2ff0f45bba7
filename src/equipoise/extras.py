"""Libraries that not everyone installs: imported when they are needed, or an error that says what to type."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from equipoise.errors import MissingExtra

EXTRAS = {
    "matplotlib": "plot",
    "distributed": "cluster",
    "polars": "data",
    "pyarrow": "data",
    "fastexcel": "data",
    "urllib3": "data",
    "tenacity": "data",
    "platformdirs": "data",
    "psycopg": "postgres",
}
"""The extra of this package that a library comes with; others, such as pandas, are the user's own choice."""


def library(name: str) -> Any:
    """The module of that name, imported."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise _missing(name) from None


def is_installed(name: str) -> bool:
    """Whether a library is there, without importing it."""
    try:
        return find_spec(name) is not None
    except ValueError:  # what find_spec makes of a module that was blocked
        return False


def need(name: str) -> None:
    """Refuse before any work what could not be finished without a library."""
    if not is_installed(name):
        raise _missing(name)


def _missing(name: str) -> MissingExtra:
    package = name.partition(".")[0]
    wanted = f"'equipoise[{EXTRAS[package]}]'" if package in EXTRAS else package
    return MissingExtra(f"{package} is not installed", hint=f"pip install {wanted}")
