"""Compile every function once, optimise once per kernel.

Numba turns each function into a library of its own: it optimises the function with everything it
calls, writes machine code, and wraps it for Python, before the first caller takes the result in and
does all of that again. In nested kernels most of that work is thrown away. A *part* stops after
lowering; a *kernel*, which Python calls, takes all parts in, and they are optimised together.

Both go through those of Numba's passes only that plain loops over arrays and records need. Functions
from elsewhere, such as a user's score, may use closures and the like: they go through all of them.

Parts change when code is optimised, not what it computes: arithmetic is never reordered.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

import numba
from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options
from numba import types
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager

from equipoise.core.lookups import remembering, stop_retrying


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
    return _part(function, _PartCompiler, options)


def foreign_part(function: Callable[..., Any], **options: Any) -> Any:
    """The same for a function that may be written in any way that Numba understands."""
    return _part(function, _ForeignCompiler, options)


def _part(function: Callable[..., Any], compiler: type, options: Any) -> Any:
    return _njit(pipeline_class=compiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


_njit: Any = numba.njit


class _PartLibrary(JITCodeLibrary):
    """Code that has no address: it only runs inside the kernels that take it in."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                # Kept where it is called, and once.
                function.linkage = "linkonce_odr"
        _inherit(self)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _get_module_for_linking(self) -> Any:
        """For callers that are no kernels: together with the parts that it calls."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            _link(self._shared_module, self._linking_libraries)
        return self._shared_module

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set: without an address there is no environment to find."""


class _KernelLibrary(JITCodeLibrary):
    # Loops are either vectors by design (see lanes.py) or short or rare. To unroll them and to look for more
    # vectors takes long, and few run faster for it: benchmarks/startup.py and lab_speed.py show both.
    unrolls = False

    def finalize(self) -> None:
        _link(self._final_module, self._linking_libraries)
        _inherit(self)
        self._linking_libraries = []
        super().finalize()  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        # Once: Numba's first round serves the counting of references, and kernels have none.
        options = create_pipeline_tuning_options(speed_level=3)
        options.slp_vectorization = options.loop_vectorization = False
        options.loop_unrolling = options.loop_interleaving = self.unrolls
        builder = create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _ScoreLibrary(_KernelLibrary):
    # One short loop, which runs over all arms at every decision.
    unrolls = True


def _link(module: Any, libraries: Iterable[Any]) -> None:
    """Take in libraries and the parts that they call, each once."""
    seen, waiting = set(), list(libraries)
    while waiting:
        library = waiting.pop()
        if library in seen:
            continue
        seen.add(library)
        if isinstance(library, _PartLibrary):
            module.link_in(library._final_module, preserve=True)
            waiting.extend(library._linking_libraries)
        else:
            module.link_in(library._get_module_for_linking(), preserve=True)


def _inherit(library: Any) -> None:
    """What has to be set up when a library comes from disk has to be set up for its callers, too."""
    for called in library._linking_libraries:
        library._reload_init.update(called._reload_init)


class _ForeignCompiler(Compiler):
    library: Any = _PartLibrary

    def define_pipelines(self) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class _PartCompiler(_ForeignCompiler):
    """Leaves out what only other code needs: closures, references to count, branches on types."""

    def __init__(self, typing_context: Any, *rest: Any) -> None:
        super().__init__(typing_context, *rest)  # type: ignore[no-untyped-call]
        self.state.typingctx = self.state.targetctx.typing_context = remembering(typing_context)
        stop_retrying(self.state.targetctx)

    def define_pipelines(self) -> Any:
        super().define_pipelines()
        passes: Any = PassManager("part")
        for step in _PASSES:
            passes.add_pass(step, step._name)
        passes.finalize()
        return [passes]


_PASSES: Any = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


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


class ScoreCompiler(_KernelCompiler):
    """For a score, which kernels call by its address."""

    library: Any = _ScoreLibrary
