"""Libraries that only some need, imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from equipoise.errors import MissingExtra

# Tables go to it where it is; no extra brings it.
_IN_NO_EXTRA = ("pandas",)


def library(name: str) -> Any:
    """The module of that name, or an error that says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        wanted = package if package in _IN_NO_EXTRA else "'equipoise[data]'"
        raise MissingExtra(f"{package} is not installed", hint=f"pip install {wanted}") from None
