"""Functions whose code is generated when a program is finished, not when its callers are compiled.

What Numba does, to find types and to write LLVM's language, takes most of the time in which a program for a
GPU is compiled, and is the same for programs that differ in the sizes of their arrays alone. So it is done
once: callers get a call of a function that is only declared, a *gap*, and :func:`fill` defines all gaps of
a draft for some ``layout``, whatever that is. LLVM then takes them in like any other function. Gaps go to
other processes with their draft, see :func:`packed`.
"""

from __future__ import annotations

import functools
import itertools
import pickle
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import registry, serialize
from numba.extending import intrinsic

Generate = Callable[..., Any]
"""Emits code for a layout: takes it before what Numba gives to an intrinsic, see :func:`deferred`."""

_PREFIX = "equipoise_gap_"
_NAMES = re.compile(rf"{_PREFIX}\d+")
_numbers = itertools.count()


class _Gap(NamedTuple):
    generate: Generate
    context: Any
    signature: Any
    kind: Any
    """The type of the function."""


_gaps: dict[str, _Gap] = {}
_names: dict[tuple[Generate, str], str] = {}


def deferred(define: Callable[..., Any]) -> Any:
    """Like Numba's ``intrinsic``, for code that depends on the layout.

    The function gives types and a generator ``generate(layout, context, builder, signature, arguments)``.
    """

    @functools.wraps(define)
    def declare(typing_context, *kinds):
        signature, generate = define(typing_context, *kinds)

        def call(context, builder, signature, arguments):
            return call_later(context, builder, signature, arguments, generate)

        return signature, call

    return intrinsic(declare)


def call_later(
    context: Any, builder: Any, signature: Any, arguments: Sequence[Any], generate: Generate
) -> Any:
    """Emit the call of a gap; ``arguments`` may have others than the signature says."""
    is_void = signature.return_type is types.void
    result = ir.VoidType() if is_void else context.get_value_type(signature.return_type)
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    # One generator serves one signature; by the type, too, since Numba may keep generators.
    key = generate, str(kind)
    if key not in _names:
        name = f"{_PREFIX}{next(_numbers)}"
        _gaps[name] = _Gap(generate, context, signature, kind)
        _names[key] = name
    name = _names[key]
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    found = builder.call(function, arguments)
    return context.get_dummy_value() if is_void else found


def fill(draft: str, layout: Any) -> str:
    """LLVM's language for all gaps that a draft has, for a layout."""
    module = ir.Module()
    for name in _gaps_in(draft):
        gap = _gaps[name]
        function = ir.Function(module, gap.kind, name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        found = gap.generate(layout, gap.context, builder, gap.signature, function.args)
        if isinstance(gap.kind.return_type, ir.VoidType):
            builder.ret_void()
        else:
            builder.ret(found)
    text = str(module)
    # A generator cannot leave gaps itself: nobody would fill them.
    assert not re.search(rf"^declare .*{_PREFIX}\d+", text, re.M)
    return text


def packed(draft: str) -> bytes:
    """A draft for other processes of the same Python and sources, with all that fills its gaps.

    Numba's addresses of what functions know of Python stay in it; no program reads them.
    """
    gaps = {name: _gaps[name] for name in _gaps_in(draft)}
    # One by one: some kinds of Numba's cannot be written where they have been met before.
    filled = {name: serialize.dumps(gap._replace(context=None)) for name, gap in gaps.items()}
    return zlib.compress(pickle.dumps((draft, filled)), level=1)


def unpacked(content: bytes) -> str:
    """The draft that was packed, whose gaps are known here from now on under names of their own."""
    draft, filled = pickle.loads(zlib.decompress(content))
    # In the same order, in which they will be filled.
    names = {name: f"{_PREFIX}{next(_numbers)}" for name in filled}
    for name, gap in filled.items():
        _gaps[names[name]] = pickle.loads(gap)._replace(context=registry.cpu_target.target_context)
    return _NAMES.sub(lambda found: names[found[0]], draft)


def _gaps_in(draft: str) -> list[str]:
    """The gaps of a draft by number, so that the order does not depend on how many others had before."""
    return sorted(set(_NAMES.findall(draft)), key=lambda name: int(name.removeprefix(_PREFIX)))
