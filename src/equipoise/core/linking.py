"""Compile every function once, optimise once per kernel.

Numba turns each function into a library of its own: it optimises the function with everything it
calls, writes machine code, and wraps it for Python, before the first caller takes the result in and
does all of that again. In nested kernels most of that work is thrown away. A *part* stops after
lowering; a *kernel*, which Python calls, takes the parts in, and they are optimised together.

Parts change when code is optimised, not what it computes: arithmetic is never reordered.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


def part_and_kernel(function: Callable[..., Any], **options: Any) -> Any:
    """A function that kernels call as a part, and Python as a kernel of its own, cached on disk."""
    kernel = _njit(cache=True, pipeline_class=_KernelCompiler, no_cfunc_wrapper=True, **options)(function)
    inside = part(function, **options)

    def call_inside(arguments: Any, keywords: Any) -> Any:
        # A constant is a number like any other; Numba would compile the function anew for each.
        return inside.get_call_template([types.unliteral(kind) for kind in arguments], keywords)

    kernel.get_call_template, kernel.get_overload = call_inside, inside.get_overload
    return kernel


def part(function: Callable[..., Any], **options: Any) -> Any:
    """A function that kernels call, and Python cannot."""
    return _njit(pipeline_class=_PartCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(
        function
    )


_njit: Any = numba.njit


class _PartLibrary(JITCodeLibrary):
    """Code that has no address: it only runs inside the kernels that take it in."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set: without an address there is no environment to find."""


class _KernelLibrary(JITCodeLibrary):
    def _optimize_final_module(self) -> None:
        # Once: Numba's first round serves the counting of references, and kernels have none.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _PartCompiler(Compiler):
    library: Any = _PartLibrary

    def define_pipelines(self) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class _KernelCompiler(_PartCompiler):
    library: Any = _KernelLibrary

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        # Compiling makes millions of objects that stay: looking for garbage among them takes a tenth
        # of the time.
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)  # type: ignore[no-untyped-call]
        finally:
            if collects:
                gc.enable()
