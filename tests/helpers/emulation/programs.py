"""Programs of a GPU on this processor: what they call of a GPU is called from ``threads.c`` instead."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

from llvmlite import binding

from equipoise.core.jit.nvptx import ENTRY, TABLE

WORDS = 3
_INSTEAD = {
    "llvm.nvvm.read.ptx.sreg.tid.x": "emulated_tid",
    "llvm.nvvm.read.ptx.sreg.ntid.x": "emulated_ntid",
    "llvm.nvvm.read.ptx.sreg.ctaid.x": "emulated_ctaid",
    "llvm.nvvm.read.ptx.sreg.nctaid.x": "emulated_nctaid",
    "llvm.nvvm.bar.warp.sync": "emulated_wait",
    "llvm.nvvm.vote.any.sync": "emulated_any",
    "llvm.nvvm.shfl.sync.bfly.i32": "emulated_flip",
    "llvm.nvvm.shfl.sync.idx.i32": "emulated_pick",
}
_STEP = "emulated_step"
_SHARED = "equipoise_shared"
_SHARED_BYTES, _TABLE_WORDS = 2**18, 2048
_at_work = threading.Lock()
_STATUSES = {1: "threads wait for others that never come", 2: "there is no memory for so many threads"}


def why_not() -> str | None:
    """What keeps programs from running here."""
    return None if shutil.which("gcc") else "threads of a GPU are emulated by a program that gcc builds"


@cache
def _threads() -> ctypes.CDLL:
    source = Path(__file__).with_name("threads.c")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "threads.so"
        subprocess.run(
            ["gcc", "-O2", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-o", built, source], check=True
        )
        library = ctypes.CDLL(str(built))
    for name in (*_INSTEAD.values(), _STEP):
        binding.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return library


class EmulatedProgram:
    """A kernel that threads of this processor run."""

    def __init__(self, text: str, name: str) -> None:
        self._threads = _threads()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        module = binding.parse_assembly(_for_this_processor(text, name))
        module.verify()
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=1
        )
        for part in module.functions:
            if not part.is_declaration and part.name != ENTRY:
                part.linkage = "internal"
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=1))
        builder.getModulePassManager().run(module, builder)
        module = binding.parse_assembly(_in_step(str(module)))
        module.verify()
        self._engine = binding.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def launch(self, table, blocks, threads, shared, words, lot=1):
        """Run it as on a GPU; ``lot`` decides in which order threads take turns."""
        assert shared <= _SHARED_BYTES
        assert table.size <= _TABLE_WORDS
        assert _at_work.acquire(blocking=False), "a program is run while another one runs"
        try:
            constants = self._engine.get_global_value_address(TABLE)
            if constants:  # some programs need none
                ctypes.memmove(constants, table.ctypes.data, table.nbytes)
            arguments = (ctypes.c_int64 * WORDS)(*map(int, words))
            entry = ctypes.c_void_p(self._engine.get_function_address(ENTRY))
            status = self._threads.run(entry, arguments, blocks, threads, ctypes.c_uint64(lot))
        finally:
            _at_work.release()
        if status:
            raise AssertionError(_STATUSES[status])
        return 1.0


def _for_this_processor(text: str, name: str) -> str:
    for theirs, ours in _INSTEAD.items():
        text = text.replace(f"@{theirs}(", f"@{ours}(")
    # A hint alone, which a processor does without.
    text = re.sub(r"^ *call void asm sideeffect \"prefetch.*$", "", text, flags=re.M)
    for variable, kind in ((TABLE, f"[{_TABLE_WORDS} x i64]"), (_SHARED, f"[{_SHARED_BYTES} x i8]")):
        pattern = rf"^@{variable} = external (addrspace\(\d\)) global .*$"
        text = re.sub(pattern, rf"@{variable} = \1 global {kind} zeroinitializer, align 64", text, flags=re.M)
    arguments = ", ".join(f"i64 %word.{place}" for place in range(WORDS))
    return f"""{text}
define void @{ENTRY}({arguments}) {{
  %result = alloca i64
  %exception = alloca ptr
  %status = call i32 @"{name}"(ptr %result, ptr %exception, {arguments})
  ret void
}}
"""


def _in_step(text: str) -> str:
    """The same; before it reads or writes memory that others see, a thread waits for those of its warp."""
    own, lines = set(), []
    for line in text.splitlines():
        if line.startswith("define"):
            own = set()
        if " = alloca " in line:
            own.add(line.split()[0])
        pointer = re.search(
            r"(?:load|store) .*?ptr(?: addrspace\(\d\))? (%[^ ,]+|@[^ ,]+|getelementptr)", line
        )
        if (pointer and pointer[1] not in own) or "call void @llvm.mem" in line:
            lines.append(f"  call void @{_STEP}()")
        lines.append(line)
    return "\n".join([*lines, f"declare void @{_STEP}()", ""])
