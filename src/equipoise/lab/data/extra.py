"""The libraries of the extra ``data``, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from equipoise.errors import MissingExtra


def library(name: str) -> Any:
    """The module of that name, or an error that says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(f"{name} is not installed", hint="pip install 'equipoise[data]'") from None
