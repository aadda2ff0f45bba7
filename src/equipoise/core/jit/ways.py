"""Which way functions are compiled: fast where that works, plain elsewhere and where it is asked for.

``EQUIPOISE_COMPILE=plain`` asks for Numba's public interface alone. It is slower to start, and gives the
same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from equipoise.errors import CompilerDisabled, InvalidArgument

ENVIRONMENT = "EQUIPOISE_COMPILE"

# No fastmath: another summation order would flip a decision now and then.
# error_model="numpy": a division by zero gives inf or nan, never an exception in the middle of a trial.
# _nrt=False: kernels cannot allocate, which also spares them all counting of references.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False, "_nrt": False}
PART: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Way(Protocol):
    """How functions are compiled."""

    def part(self, function: Callable[..., Any], *, inline: bool) -> Any:
        """A function that compiled code calls, and Python cannot."""

    def kernel(self, function: Callable[..., Any], *, stored: bool) -> Any:
        """A function that Python calls; ``stored`` asks for its machine code to be kept on disk."""

    def callback(self, function: Callable[..., Any], signature: Any, *, name: str | None) -> Any:
        """A function that goes by its ``.address``; its machine code is kept on disk under ``name``."""


@cache
def chosen() -> Way:
    """The way of this process."""
    import numba

    from equipoise.core.jit.plain import Plain

    settings: Any = numba.config
    if settings.DISABLE_JIT:
        raise CompilerDisabled(
            "NUMBA_DISABLE_JIT is set, and Equipoise cannot run without compiled functions",
            hint=f"unset it; {ENVIRONMENT}=plain compiles in the plainest way",
        )
    asked = os.environ.get(ENVIRONMENT, "")
    if asked not in ("", "plain", "fast"):
        raise InvalidArgument(
            f"{ENVIRONMENT}={asked} is neither fast nor plain", hint=f"unset {ENVIRONMENT}, or write plain"
        )
    if asked == "plain":
        return Plain()
    try:
        from equipoise.core.jit.fast import Fast, check

        check()
    except Exception:
        # Another Numba than those that it was written for.
        if asked == "fast":
            raise
        return Plain()
    return Fast()
