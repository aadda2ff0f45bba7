"""Compile every function once, optimise once per kernel.

Numba turns each function into a library of its own: it optimises the function with everything it
calls and writes machine code, before the first caller takes the result in and does all of that again. In
nested kernels most of that work is thrown away. Here a part stops after lowering; a kernel, which Python
calls, takes all parts in, and they are optimised together. Kernels are kept on disk by storage.py.

This changes when code is optimised, not what it computes: arithmetic is never reordered. It rests on
private parts of Numba, so it is used only where :func:`check` finds that it works.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numba
from llvmlite import binding
from numba.core import (
    ccallback,
    codegen,
    compiler,
    compiler_machinery,
    serialize,
    typed_passes,
    untyped_passes,
)

from equipoise.core.jit import storage
from equipoise.core.jit.ways import OPTIONS, PART

_njit: Any = numba.njit


class Fast:
    """Parts that are optimised inside kernels only."""

    def part(self, function: Callable[..., Any], *, inline: bool) -> Any:
        """A function that compiled code calls."""
        return _njit(pipeline_class=PartCompiler, forceinline=inline, **OPTIONS, **PART)(function)

    def kernel(self, function: Callable[..., Any], *, stored: bool) -> Any:
        """A function that Python calls."""
        kernel = _njit(pipeline_class=_KernelCompiler, no_cfunc_wrapper=True, **OPTIONS)(function)
        if stored:
            kernel._cache = _Stored(f"{function.__module__}.{function.__qualname__}")
        return kernel

    def callback(self, function: Callable[..., Any], signature: Any, *, name: str | None) -> Any:
        """A function that goes by its address."""
        kinds = signature.args, signature.return_type
        made: Any = ccallback.CFunc(function, kinds, {}, dict(OPTIONS), _CallbackCompiler)
        if name is not None:
            made._cache = _Stored(name)
        made.compile()
        return made


def check() -> None:
    """Compile something small, a part within a part within a kernel; raise if that does not work."""
    way = Fast()
    triple = way.part(_triple, inline=True)

    def add_triple(total: Any, number: Any) -> Any:
        return total + triple(number)

    add = way.part(add_triple, inline=False)

    def sum_of_triples(numbers: Any) -> Any:
        total = 0.0
        for number in numbers:
            total = add(total, number)
        return total

    if way.kernel(sum_of_triples, stored=True)((1.0, 2.0)) != 9.0:
        raise RuntimeError("parts are not linked as they should be")


def _triple(number: float) -> float:
    return 3.0 * number


class _Library(codegen.JITCodeLibrary):
    """Code whose functions are not optimised one by one: together they will be."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout


class _PartLibrary(_Library):
    """Code that has no address: it only runs inside the kernels that take it in."""

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                # Kept where it is called, and once.
                function.linkage = "linkonce_odr"
        _inherit(self)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _get_module_for_linking(self) -> Any:
        """For callers that are no kernels: together with the parts that it calls."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            link(self._shared_module, self._linking_libraries)
        return self._shared_module

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set: without an address there is no environment to find."""


class _KernelLibrary(_Library):
    # Loops are either vectors by design (see lanes.py) or short or rare. To unroll them and to look for more
    # vectors takes long, and few run faster for it: startup.py and lab.py in benchmarks/speed show both.
    unrolls = False

    def finalize(self) -> None:
        link(self._final_module, self._linking_libraries)
        _inherit(self)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Once: Numba's first round serves the counting of references, and kernels have none.
        options = binding.create_pipeline_tuning_options(speed_level=3)
        options.slp_vectorization = options.loop_vectorization = False
        options.loop_unrolling = options.loop_interleaving = self.unrolls
        builder = binding.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _CallbackLibrary(_KernelLibrary):
    # A score: one short loop, which runs over all arms at every decision.
    unrolls = True


def link(module: Any, libraries: Iterable[Any]) -> None:
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
    # Numba has had such a thing since 0.63.
    for called in library._linking_libraries if hasattr(library, "_reload_init") else ():
        library._reload_init.update(called._reload_init)


class PartCompiler(compiler.Compiler):
    """Stops after lowering."""

    library: Any = _PartLibrary

    def define_pipelines(self) -> Any:
        """What is done to a function."""
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        if not self._is_own():
            return super().define_pipelines()
        passes: Any = compiler_machinery.PassManager("part")
        for step in _PASSES:
            passes.add_pass(step, step._name)
        passes.finalize()
        return [passes]

    def _is_own(self) -> bool:
        """Whether the function is the package's own; others may use closures and the like."""
        return str(self.state.func_id.modname).startswith("equipoise.")


# What plain loops over arrays and records need: no closures, no references to count, no branches on types.
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


class _KernelCompiler(PartCompiler):
    library: Any = _KernelLibrary

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        # Compiling makes millions of objects that stay: looking for garbage among them takes a tenth
        # of the time.
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if collects:
                gc.enable()


class _CallbackCompiler(PartCompiler):
    library: Any = _CallbackLibrary


class _Stored:
    """What Numba asks for machine code of one function."""

    def __init__(self, name: str) -> None:
        self.cache_path = ""
        self._name = name

    def load_overload(self, signature: Any, context: Any) -> Any:
        payload = storage.read(self._key(signature, context))
        try:
            parts = None if payload is None else pickle.loads(payload)
            return None if parts is None else compiler.CompileResult._rebuild(context, *parts)
        except Exception:
            # What cannot be used is compiled.
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            payload = serialize.dumps(result._reduce())
        except Exception:
            # What cannot be kept is compiled again by the next process.
            return
        storage.write(self._key(signature, result.target_context), payload)

    def enable(self) -> None:
        """Always."""

    def disable(self) -> None:
        """Never."""

    def flush(self) -> None:
        """Nothing is kept back."""

    def _key(self, signature: Any, context: Any) -> str:
        return f"{self._name}{signature}{context.codegen().magic_tuple()}"
