"""From a Python function to PTX, the assembly language of NVIDIA's GPUs, without a GPU.

Numba's front end gives what it gives for processors, unoptimised: a *draft*, which serves all programs that
differ only in what deferred.py generates. LLVM, which comes with Numba, optimises it for a GPU. Nothing is
reordered: additions and multiplications are rounded one by one, and fused only where
:func:`~equipoise.core.arithmetic.fma.fma` says so. Divisions and roots are correctly rounded there, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import binding

from equipoise.core.jit.deferred import fill
from equipoise.core.jit.ways import OPTIONS, PART
from equipoise.errors import DeviceUnavailable

ENTRY = "equipoise_entry"
"""The name of the kernel in the PTX."""

TABLE = "equipoise_table"
"""The name of a table of whole numbers among its constants, which whoever runs it writes first."""

CONSTANT = 4
"""The address space of constants."""

TABLE_WORDS = 2048
"""How many."""
_MOST_REGISTERS = 255
_NODE = 10**6  # of metadata: no other has that number

APART = "apart_"
"""How functions are called that callers do not take in: what happens once a trial, and is long."""

_TRIPLE = "nvptx64-nvidia-cuda"
_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
_FEATURES = "+ptx80"  # drivers of CUDA 12 and later read it
_njit: Any = numba.njit


def new_draft(function: Callable[..., Any], words: int) -> str:
    """LLVM's language for a kernel that calls a function of so many whole numbers."""
    check_way()
    return _retargeted(*lowered(function, words), words)


def to_ptx(draft: str, layout: Any, target: str, *, registers: int = _MOST_REGISTERS) -> str:
    """PTX of a draft for some layout, for GPUs from ``target`` on, such as ``"sm_80"``.

    ``registers`` is how many a thread may have at most.
    """
    text = draft
    if registers < _MOST_REGISTERS:
        text += (
            f'!nvvm.annotations = !{{!{_NODE}}}\n!{_NODE} = !{{ptr @{ENTRY}, !"maxnreg", i32 {registers}}}\n'
        )
    module = binding.parse_assembly(text)
    module.link_in(binding.parse_assembly(_for_gpu(fill(draft, layout))))
    module.verify()
    machine = _machine(target)
    for part in module.functions:
        if not part.is_declaration and part.name != ENTRY:
            part.linkage = "internal"
            # Descriptors of arrays, which everybody hands on, vanish only where callers take functions in.
            part.add_function_attribute("noinline" if APART in part.name else "alwaysinline")
    for variable in module.global_variables:
        if variable.linkage.name == "common":
            # Numba's places for what functions know of Python, which nobody reads here, go.
            variable.linkage = "internal"
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.slp_vectorization = options.loop_vectorization = False
    options.loop_interleaving = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))


def check_way() -> None:
    """Refuse to compile in the plain way, which knows no drafts."""
    from equipoise.core.jit import fast, ways

    if not isinstance(ways.chosen(), fast.Fast):
        raise DeviceUnavailable(
            f"programs for a GPU are not compiled in the plain way ({ways.ENVIRONMENT}=plain)",
            hint="unset it, or use device='cpu'; another Numba than was tried is used in the plain way, too",
        )


def lowered(function: Callable[..., Any], words: int) -> tuple[str, str]:
    """LLVM's language for a function of so many whole numbers and all that it calls, and its name there."""
    from equipoise.core.jit import fast

    kinds = (numba.int64,) * words
    dispatcher = _njit(pipeline_class=fast.PartCompiler, **OPTIONS, **PART)(function)
    dispatcher.compile(kinds)
    result = dispatcher.overloads[kinds]
    module = result.library._final_module.clone()
    fast.link(module, result.library._linking_libraries)
    return str(module), result.fndesc.llvm_func_name


def _retargeted(text: str, name: str, words: int) -> str:
    """The same for a GPU, with a table, and a kernel that calls the function."""
    arguments = ", ".join(f"i64 %word.{place}" for place in range(words))
    # Numba's functions take places for their result and for an exception, and return a status.
    return f"""{_for_gpu(text)}
@{TABLE} = addrspace({CONSTANT}) externally_initialized global [{TABLE_WORDS} x i64] zeroinitializer, align 8
define ptx_kernel void @{ENTRY}({arguments}) {{
  %result = alloca i64
  %exception = alloca ptr
  %status = call i32 @"{name}"(ptr %result, ptr %exception, {arguments})
  ret void
}}
"""


def _for_gpu(text: str) -> str:
    """The same for a GPU."""
    text = re.sub(r'target triple = ".*"', f'target triple = "{_TRIPLE}"', text)
    text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{_LAYOUT}"', text)
    # The mathematical library's square root is an instruction here.
    text = re.sub(
        r'^declare double @"?sqrt"?\(double.*\).*$', "declare double @llvm.sqrt.f64(double)", text, flags=re.M
    )
    return re.sub(r'@"?sqrt"?\(', "@llvm.sqrt.f64(", text)


def _machine(target: str) -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        gpu = binding.Target.from_triple(_TRIPLE)
    except RuntimeError as error:
        raise DeviceUnavailable(
            "this llvmlite was built without NVIDIA's instructions",
            hint="install llvmlite from PyPI or conda, or use device='cpu'",
        ) from error
    return gpu.create_target_machine(cpu=target, features=_FEATURES, opt=3)


def emit_call(builder: Any, name: str, result: Any, arguments: Sequence[Any]) -> Any:
    """Call a function of the GPU by its name, for functions that generate code themselves."""
    from llvmlite import ir

    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)
