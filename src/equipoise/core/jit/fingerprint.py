"""A fingerprint of code: another one as soon as anything that the code uses is another.

A function is its instructions with their constants, its default arguments and closure, and all that its
names stand for: helpers and their helpers, compiled or not, constants of modules, classes with their
bases. Line numbers, comments and docstrings are no part of it. Python's own modules and the large
numerical packages count by name and version.

Instructions are those of this Python: another version of it may write others for the same source.
What a name stands for in one call only, such as an attribute of an argument, cannot be seen.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from equipoise.core.jit.sources import is_stamped

# Packages that change by release only; to go through what they hold would take long.
_PACKAGES = frozenset({"llvmlite", "numba", "numpy", "scipy"})
# Python's own types whose text says all that is in them.
_TELLING = frozenset({"builtins", "datetime", "decimal", "fractions", "pathlib", "re", "uuid"})
# What Python itself writes into classes, besides names like __doc__ that are no methods.
_BOOKKEEPING = frozenset({"__annotate__", "__annotate_func__", "_abc_impl"})
# Where wrappers keep the function that they wrap: Numba's and Python's own.
_WRAPPED = ("py_func", "_pyfunc", "_defn", "__wrapped__")
_PLAIN = (int, float, complex, str, bytes)
_SHAPE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR
# Instructions by what they do with what names stand for: look up and keep, nothing, load numbers and words.
_FOLLOWED = (
    *("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "IMPORT_"),
    *("LOAD_FAST", "LOAD_DEREF", "STORE_"),
)
_SKIPPED = frozenset({"PUSH_NULL", "NOP", "EXTENDED_ARG", "CACHE"})
_CONSTANTS = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_MOST_OBJECTS = 50_000


def code_fingerprint(*functions: Any) -> str:
    """16 hexadecimal digits that stand for functions, or classes, and for all that they use.

    A class that lists names in ``__fingerprint__`` counts by these alone.

    >>> def double(x):
    ...     return 2 * x
    >>> def triple(x):
    ...     return 3 * x
    >>> code_fingerprint(double) == code_fingerprint(triple)
    False
    """
    walk = _Walk()
    for function in functions:
        walk.take_in(function)
    return walk.digest.hexdigest()


def lasting_fingerprint(function: Any) -> str:
    """:func:`code_fingerprint` of one function or class, looked at once if it is the package's own."""
    return _kept_fingerprint(function) if is_stamped(function) else code_fingerprint(function)


_kept_fingerprint = cache(code_fingerprint)


def is_foreign(module: str | None) -> bool:
    """Whether a module is Python's own or one of the packages that count by their version."""
    root = (module or "").partition(".")[0]
    return root in _PACKAGES or (root in sys.stdlib_module_names and root != "__main__")


class _Walk:
    """Goes through everything once, in an order that the code alone decides, and writes a digest."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=8)
        # Objects by address, kept so that no address is used twice, and the turns at which they were met.
        self._met: dict[int, tuple[int, Any]] = {}
        self._waiting: list[Any] = []

    def take_in(self, value: Any) -> None:
        """Write a value and then, one by one, what it refers to: recursion would run out of stack."""
        self._note(value)
        while self._waiting:
            self._write_contents(self._waiting.pop())

    def _write(self, *words: str | bytes) -> None:
        self.digest.update(_written(*words))

    def _note(self, value: Any) -> None:
        """Write a plain value; of any other the turn at which it was met, and put it in line."""
        if value is None or value is Ellipsis or value is NotImplemented:
            self._write(repr(value))
        elif isinstance(value, _PLAIN):
            base = next(kind for kind in _PLAIN if isinstance(value, kind))
            text = hex(value) if isinstance(value, int) else base.__repr__(value)
            self._write(type(value).__qualname__, text)
        elif isinstance(value, tuple):
            # By value: whether two equal ones are one object is the compiler's affair.
            self._write(type(value).__qualname__, str(len(value)))
            for item in value:
                self._note(item)
        elif isinstance(value, frozenset):
            self._write("set", *sorted(code_fingerprint(item) for item in value))
        elif isinstance(value, np.dtype):
            self._write("dtype", repr(value.descr) if value.names else value.str, str(value.itemsize))
        elif id(value) in self._met:
            self._write("again", str(self._met[id(value)][0]))
        else:
            turn = len(self._met)
            self._met[id(value)] = turn, value
            self._write("new", str(turn))
            if turn < _MOST_OBJECTS:
                self._waiting.append(value)

    def _write_contents(self, value: Any) -> None:
        self._write("contents", str(self._met[id(value)][0]))
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, ModuleType):
            self._foreign(value.__name__) if is_foreign(value.__name__) else self._write(value.__name__)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, np.ndarray | np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, list):
            self._write("list", str(len(value)))
            for item in value:
                self._note(item)
        elif isinstance(value, Mapping):
            self._write(type(value).__qualname__, str(len(value)))
            for item in (part for pair in value.items() for part in pair):
                self._note(item)
        elif isinstance(value, set):
            self._write("set", *sorted(code_fingerprint(item) for item in value))
        else:
            self._object(value)

    def _foreign(self, module: str, name: str = "") -> None:
        self._write("foreign", module, name, _version(module.partition(".")[0]))

    def _function(self, function: FunctionType) -> None:
        if is_foreign(function.__module__):
            self._foreign(function.__module__, function.__qualname__)
            return
        self._code(function.__code__, function.__globals__)
        self._note(function.__defaults__)
        self._names(function.__kwdefaults__ or {})
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._write("cell", name)
            try:
                self._note(cell.cell_contents)
            except ValueError:
                self._write("never filled")

    def _code(self, code: CodeType, known: Mapping[str, Any]) -> None:
        names = _Names(known)
        for text, operation, value in _steps(code):
            self.digest.update(text)
            if isinstance(value, CodeType):
                self._code(value, known)
            elif isinstance(value, tuple | frozenset):
                self._note(value)
            for found in names.follow(operation, value):
                self._note(found)

    def _class(self, kind: type) -> None:
        self._write("class", kind.__qualname__)
        for base in kind.__mro__:
            if is_foreign(base.__module__):
                self._foreign(base.__module__, base.__qualname__)
                continue
            own = vars(base)
            chosen = own.get("__fingerprint__", own)
            self._names({name: own[name] for name in chosen if name in own and _is_code(name, own[name])})

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        self._write("array", repr(array.shape))
        self._note(array.dtype)
        if array.dtype.hasobject:
            self._note(array.tolist())
        else:
            self._write(array.tobytes())

    def _names(self, values: Mapping[str, Any]) -> None:
        self._write("names", str(len(values)))
        for name in sorted(values):
            self._write(name)
            self._note(values[name])

    def _object(self, value: Any) -> None:
        kind = type(value)
        self._write("object", kind.__module__, kind.__qualname__)
        if isinstance(value, staticmethod | classmethod):
            self._note(value.__func__)
        elif isinstance(value, MethodType):
            self._note((value.__func__, value.__self__))
        elif isinstance(value, property):
            self._note((value.fget, value.fset, value.fdel))
        elif isinstance(value, partial):
            self._note((value.func, value.args, value.keywords))
        elif isinstance(value, BuiltinFunctionType):
            self._write(value.__module__ or "", value.__qualname__)
        elif isinstance(value, np.ufunc):
            self._write(value.__name__)
        elif (wrapped := _wrapped(value)) is not None:
            self._note(wrapped)
        elif isinstance(value, SimpleNamespace):
            self._names(vars(value))
        elif any(base.__module__.startswith("numba.core.types") for base in kind.__mro__):
            # Types of Numba are numbered as they come; what they are is in their class and their text.
            self._note(kind)
            self._write(repr(value))
        elif not is_foreign(kind.__module__):
            self._note(kind)
            self._names(dict(_attributes(value)))
        elif kind.__module__ in _TELLING:
            self._write(repr(value))


def _written(*words: str | bytes) -> bytes:
    """Words with their lengths before them, so that no two rows of words are written alike."""
    coded = (word.encode(errors="surrogatepass") if isinstance(word, str) else word for word in words)
    return b"".join(len(data).to_bytes(8, "little") + data for data in coded)


@lru_cache(maxsize=4096)
def _steps(code: CodeType) -> tuple[tuple[bytes, str, Any], ...]:
    """Instructions that may refer to something: what is written up to them, their names and arguments.

    Kept, since every new experiment asks whether its policy is still the same: code never changes, and
    equal code has equal steps. What names stand for does change, and is looked up each time.
    """
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    shape = (code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _SHAPE)
    text = _written("code", repr(arguments), repr(shape))
    steps, is_followed = [], False
    has_imports = any(step.opname == "IMPORT_NAME" for step in dis.get_instructions(code))
    for step in dis.get_instructions(code):
        text += _written(step.opname)
        is_own = isinstance(step.argval, CodeType | tuple | frozenset)
        if not is_own:
            # Constants of one value and several types are several constants.
            text += _written(type(step.argval).__qualname__, repr(step.argval))
        if step.opname in _SKIPPED:
            continue
        was_followed, is_followed = is_followed, step.opname.startswith(_FOLLOWED)
        # The first of others ends what the one before has found.
        if is_own or is_followed or was_followed or (has_imports and step.opname in _CONSTANTS):
            steps.append((text, step.opname, step.argval))
            text = b""
    return *steps, (text, "", None)


class _Names:
    """What the names in a function's instructions stand for, attributes of modules and classes included."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known
        self._found: Any = None  # what the instruction before has left, if that is a module or a class
        self._imported: Any = None
        self._local: dict[str, Any] = {}  # names of imports within the function
        self._constants: list[Any] = [0, None]

    def follow(self, operation: str, name: Any) -> Iterator[Any]:
        """What an instruction refers to."""
        before, self._found = self._found, None
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            self._found = self._known.get(name, getattr(builtins, name, None))
            yield self._found
        elif operation in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(before, ModuleType | type):
            # Packages that count by their version may fill in their modules as they are asked.
            if not (isinstance(before, ModuleType) and is_foreign(before.__name__)):
                self._found = _attribute(before, name)
                yield self._found
        elif operation == "IMPORT_NAME":
            self._found = self._imported = _import(name, self._constants, self._known.get("__package__"))
            yield self._found
        elif operation == "IMPORT_FROM":
            self._found = _attribute(self._imported, name)
            yield self._found
        elif operation in ("STORE_FAST", "STORE_DEREF", "STORE_NAME"):
            self._local[name] = before
        elif operation.startswith(("LOAD_FAST", "LOAD_DEREF")) and isinstance(name, str):
            self._found = self._local.get(name)
        elif operation in _CONSTANTS:
            self._constants = [self._constants[-1], name]


def _is_code(name: str, value: Any) -> bool:
    if name in _BOOKKEEPING:
        return False
    is_method = isinstance(value, FunctionType | staticmethod | classmethod | property)
    return is_method or not (name.startswith("__") and name.endswith("__"))


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType) and is_foreign(owner.__name__):
        # The instruction says the name, and the module its version; below it there may be modules again.
        found = vars(owner).get(name)
        return found if isinstance(found, ModuleType) else None
    return getattr(owner, name, None)


def _import(name: str, constants: list[Any], package: str | None) -> Any:
    """The module that an import within a function gives; it is imported, as the function would."""
    level, names = constants
    try:
        whole = importlib.util.resolve_name("." * (level or 0) + name, package) if level else name
        if is_foreign(whole):
            return whole  # the same whether it has been imported yet or not
        module = importlib.import_module(whole)
        return module if names else sys.modules[whole.partition(".")[0]]
    except (ImportError, KeyError, TypeError, ValueError):
        return None


def _wrapped(value: Any) -> Any:
    own = getattr(value, "__dict__", {})
    return next((own[name] for name in _WRAPPED if name in own), None)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    if dataclasses.is_dataclass(value):
        # Not what has been computed from the fields and kept.
        yield from ((field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value))
        return
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)


@cache
def _version(package: str) -> str:
    if package not in _PACKAGES:
        return ""
    from importlib import metadata  # takes as long to import as the rest of this file together

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(package), "__version__", ""))
