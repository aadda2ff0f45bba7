"""Policies from elsewhere: files of one's own, and other packages that offer some.

A package offers policies by entry points of the group ``equipoise.policies``, each of which names a policy
class or a module that registers some. They are looked up when a name is not known or all are listed.

A file is no module that another process could import, so its policies travel with their source: where one is
unpickled, the source is run again, once.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import sys
import tokenize
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from equipoise.core.policies.base import policy as registry
from equipoise.errors import EquipoiseError, ImportFailed, InvalidPolicy, NameTaken, PluginWarning

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "equipoise.policies"
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

_LOCK = RLock()
_SOURCES: dict[str, Source] = {}
"""Files that were imported, by the name of their module."""
_ORIGINS: dict[str, str] = {}
"""Packages that policies came from, by the name of the policy."""
_CLAIMED: dict[str, str] = {}
"""Names that nobody has, as several packages want them, and who they are."""
_loaded = False


@dataclass(frozen=True)
class Source:
    """A file as it was when it was imported."""

    path: str
    text: str

    @property
    def module(self) -> str:
        """A name for its module that no other file has."""
        digest = hashlib.blake2b(self.path.encode(errors="surrogatepass"), digest_size=4).hexdigest()
        stem = re.sub(r"\W", "_", Path(self.path).stem)
        return f"equipoise_policies_of_{stem}_{digest}"


def import_policies(where: str | os.PathLike[str]) -> list[str]:
    """Import a Python file, or a module by its name, and return the names of the policies that it registers.

    Parameters
    ----------
    where
        A path such as ``"my_policies.py"``, or a module such as ``"my_package.policies"``. Policies of a file
        travel to other processes and machines with the text of the file; what it imports must be there.
    """
    text = os.fspath(where)
    with _LOCK:
        before = set(registry.known_policies())
        if _MODULE.fullmatch(text) and not text.endswith(".py"):
            module = _import_module(text)
        else:
            module = _run(_read(Path(text))).__name__
        kinds = registry.known_policies()
    names = [
        name
        for name, kind in kinds.items()
        if name not in before or f"{kind.__module__}.".startswith(f"{module}.")
    ]
    if not names:
        raise ImportFailed(
            f"{text} registers no policy", hint="put @equipoise.register('my-policy') above its definition"
        )
    return sorted(names)


def load_plugins() -> None:
    """Import what other packages offer, once; what cannot be used is left out with a warning."""
    global _loaded
    with _LOCK:
        if _loaded:
            return
        _loaded = True
        from importlib.metadata import entry_points

        for entry in sorted(entry_points(group=GROUP), key=lambda one: (_owner(one), one.name)):
            _load(entry)


def check_claims(name: str) -> None:
    """Refuse a name that two packages want."""
    if name in _CLAIMED:
        raise InvalidPolicy(
            f"the policy name {name!r} is claimed by {_CLAIMED[name]}", hint="uninstall all but one of them"
        )


def origin(kind: type[registry.Policy]) -> str:
    """Where a registered policy comes from: this package, another one, a file, or a module."""
    module = kind.__module__ or "nowhere"  # a class that was made without a module
    if module.partition(".")[0] == "equipoise":
        return "equipoise"
    if module in _SOURCES:
        return _SOURCES[module].path
    return _ORIGINS.get(kind.name, module)


# Files


def source_of(kind: type) -> Source | None:
    """The file that a class was imported from by its path, if it was."""
    return _SOURCES.get(kind.__module__) if "<locals>" not in kind.__qualname__ else None


def restore(source: Source, name: str, values: dict[str, Any]) -> registry.Policy:
    """The policy of a file that was pickled, perhaps in another process."""
    with _LOCK:
        found: Any = _run(source)
    for part in name.split("."):
        found = getattr(found, part)
    policy: registry.Policy = object.__new__(found)
    vars(policy).update(values)
    return policy


def _read(path: Path) -> Source:
    whole = path.expanduser().absolute()
    try:
        with tokenize.open(whole) as file:
            return Source(str(whole), file.read())
    except FileNotFoundError:
        raise ImportFailed(
            f"there is no file {path}", hint="give a path such as my_policies.py, or the name of a module"
        ) from None
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror}") from None
    except (SyntaxError, UnicodeError) as error:
        raise ImportFailed(f"{path} is not a Python file: {error}", hint="save it as UTF-8") from None


def _run(source: Source) -> ModuleType:
    """The module of a file; it is run unless that has been done, with the same text."""
    name = source.module
    if _SOURCES.get(name) == source:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = source.path
    # Where the file itself is not, whoever asks for lines of it finds them all the same.
    lines = source.text.splitlines(keepends=True)
    linecache.cache[source.path] = (len(source.text), None, lines, source.path)
    replaced, sys.modules[name] = sys.modules.get(name), module
    try:
        with _all_or_none(), _beside(source.path):
            exec(compile(source.text, source.path, "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if replaced is not None:
            sys.modules[name] = replaced
        if isinstance(error, Exception | SystemExit):
            raise _explained(source.path, error) from None
        raise
    _SOURCES[name] = source
    return module


@contextmanager
def _beside(path: str) -> Iterator[None]:
    """What lies beside a file can be imported by it, as if it were run."""
    folder = str(Path(path).parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _all_or_none() -> Iterator[None]:
    """No policy of a file or module that breaks off half-way stays registered."""
    before = dict(registry.known_policies())
    try:
        yield
    except BaseException:
        registry.restore_policies(before)
        raise


def _import_module(name: str) -> str:
    try:
        with _all_or_none():
            import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _explained(name, error) from None
        beside = f"{name.replace('.', '/')}.py"
        hint = (
            f"did you mean {beside}?" if Path(beside).is_file() else "install it, or give the path of a file"
        )
        raise ImportFailed(f"there is no module {name!r}", hint=hint) from None
    except (Exception, SystemExit) as error:
        raise _explained(name, error) from None
    return name


def _explained(where: str, error: BaseException) -> ImportFailed:
    """An error of somebody else's code: the file, the line, what it was."""
    if isinstance(error, SyntaxError):
        line = "" if error.lineno is None else f", line {error.lineno}"
        return ImportFailed(f"{error.filename or where}{line}: {error.msg}", hint="correct that")
    frames = traceback.extract_tb(error.__traceback__)
    own = str(Path(registry.__file__).parents[3])
    theirs = [
        frame for frame in frames if frame.filename[:1] != "<" and not frame.filename.startswith(own + os.sep)
    ]
    in_file = [frame for frame in theirs if frame.filename == where] or theirs[-1:]
    place = f"{in_file[-1].filename}, line {in_file[-1].lineno}" if in_file else where
    if isinstance(error, EquipoiseError):
        # What is wrong with a score names its own line.
        named = error.message.startswith(tuple(f"{frame.filename}, line " for frame in in_file))
        return ImportFailed(error.message if named else f"{place}: {error.message}", hint=error.hint)
    if isinstance(error, SystemExit):
        return ImportFailed(
            f"{place}: it ends the program", hint="put what is to be run under if __name__ == '__main__':"
        )
    text = f"{place}: {type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError):
        return ImportFailed(text, hint="install it, or put it beside the file")
    return ImportFailed(text, hint="correct that line, or what it calls")


# Packages


def _load(entry: EntryPoint) -> None:
    owner = _owner(entry)
    before = dict(registry.known_policies())
    try:
        with _all_or_none():
            found = entry.load()
            if not isinstance(found, ModuleType):
                _name(found, entry)
    except NameTaken as error:
        other = _ORIGINS.get(error.policy)
        if other is None:
            _warn(entry, f"the name {error.policy!r} is taken already")
        else:
            _refuse(error.policy, f"{other} and {owner}")
    except (Exception, SystemExit) as error:
        _warn(entry, _explained(entry.module, error).message)
    else:
        new = [name for name in registry.known_policies() if name not in before]
        _ORIGINS.update(dict.fromkeys(new, owner))
        for name in _CLAIMED.keys() & new:
            _refuse(name, f"{_CLAIMED[name]} and {owner}")


def _name(found: Any, entry: EntryPoint) -> None:
    """Register a class that has not registered itself under the name of its entry point."""
    if not (isinstance(found, type) and issubclass(found, registry.Policy)):
        raise InvalidPolicy(
            f"it is neither a module nor a policy; put @equipoise.register({entry.name!r}) above it"
        )
    if not hasattr(found, "name"):
        registry.register(entry.name, found)


def _owner(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _refuse(name: str, owners: str) -> None:
    """Nobody has a name that several packages want: which of them is meant cannot be known."""
    _CLAIMED[name] = owners
    registry.restore_policies(
        {other: kind for other, kind in registry.known_policies().items() if other != name}
    )
    text = f"the policy name {name!r} is claimed by {owners}; none of them has it"
    warnings.warn(text, PluginWarning, stacklevel=2)


def _warn(entry: EntryPoint, what: str) -> None:
    text = f"{_owner(entry)} offers policies ({entry.name} = {entry.value}) that cannot be used: {what}"
    warnings.warn(text, PluginWarning, stacklevel=2)
