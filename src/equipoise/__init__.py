"""Spend a limited experiment budget so that every model comes out accurate.

>>> import equipoise as eq
>>> eq.Experiment, eq.Problem, eq.TraceUCB  # doctest: +ELLIPSIS
(<class '...Experiment'>, <class '...Problem'>, <class '...TraceUCB'>)
"""

# Names and where they are defined stand in __init__.pyi, which type checkers and editors read instead of this
# file. Nothing is imported before it is used, so that --version and --help wait for neither NumPy nor Numba.

from importlib import import_module

from equipoise.version import __version__ as __version__

_homes: dict[str, str] = {}


def _home_of() -> dict[str, str]:
    """For every name the module that it is imported from; read when it is asked for first."""
    if not _homes:
        import ast
        from importlib.resources import files

        table = ast.parse((files(__name__) / "__init__.pyi").read_text(encoding="utf-8"))
        for line in table.body:
            if isinstance(line, ast.ImportFrom):
                _homes.update({name.name: str(line.module) for name in line.names})
    return _homes


def __getattr__(name: str) -> object:
    value: object
    if name == "__all__":
        value = sorted(_home_of())
    elif name.startswith("_") or name not in _home_of():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    elif _home_of()[name] == __name__:
        value = import_module(f"{__name__}.{name}")
    else:
        value = getattr(__import__(_home_of()[name], fromlist=[name]), name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_home_of()})
