"""Fingerprints of code: every change of what the code uses is seen, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import ModuleType

import numpy as np
import pytest
from built_in import BUILT_IN

import equipoise as eq
from equipoise.core.jit.fingerprint import code_fingerprint
from equipoise.core.policies.base.staged import StagedPolicy

BASE = """
import functools
import math
import numba
import numpy as np
from dataclasses import dataclass
from types import SimpleNamespace

K = 2.0
NAMES = ("a", "b")
ROWS = [[1, 2], [3, 4]]
TABLE = np.array([1.0, 2.0, 3.0])
KIND = np.dtype([("x", "f8"), ("y", "i4")])
KNOWN = {"low": 1, "high": 5}
CHOSEN = frozenset({"p", "q", "r"})
OPTIONS = SimpleNamespace(depth=3)
FLOAT = numba.float64

class Config:
    limit = 4

    @staticmethod
    def scale(x):
        return x * 2

class Base:
    power = 1.5

    def method(self, x):
        return x + 1

    @property
    def shown(self):
        return 1

class Child(Base):
    def other(self):
        return self.method(2)

@dataclass(frozen=True)
class Point:
    x: float = 1.0

ORIGIN = Point()

@numba.njit
def deep(x):
    return x * 3

@numba.njit
def compiled(x):
    return deep(x) + 1

@functools.cache
def kept(x):
    return x - 1

def helper(x):
    return compiled(x) + kept(x)

def decide(x, y=1, *, z=2):
    inner = lambda v: v + K
    values = [inner(v) for v in TABLE]
    return helper(x) + math.sqrt(y) + sum(values) + len(NAMES) + ROWS[0][0] + KIND.itemsize + z

def rest(x):
    if x in {"u", "v", "w"}:
        return KNOWN["low"], CHOSEN, OPTIONS.depth, FLOAT
    return Config.limit, Config.scale(1), Child().other(), ORIGIN.x

def make(n):
    def counted(x):
        return x + n
    return counted

closed = make(5)
bound = functools.partial(helper, 7)

def recursive(x):
    return 0 if x < 1 else mutual(x - 1)

def mutual(x):
    return recursive(x) + 1
"""
USED = ("decide", "rest", "closed", "bound", "Child", "recursive")


def fingerprint(source: str, *names: str) -> str:
    module = ModuleType("made_up")
    exec(compile(source, "made_up.py", "exec", dont_inherit=True), module.__dict__)
    return code_fingerprint(*(getattr(module, name) for name in names or USED))


CHANGES = {
    "a number in a function": ("return x * 3", "return x * 4"),
    "an operator": ("return x * 3", "return x / 3"),
    "its type": ("return x * 3", "return x * 3.0"),
    "a bool for a number": ("return compiled(x) + kept(x)", "return compiled(x) + kept(x) + True"),
    "a module constant": ("K = 2.0", "K = 2.5"),
    "the sign of zero": ("K = 2.0", "K = -0.0"),
    "a word": ('NAMES = ("a", "b")', 'NAMES = ("a", "c")'),
    "a tuple's length": ('NAMES = ("a", "b")', 'NAMES = ("a", "b", "b")'),
    "a list in a list": ("[3, 4]]", "[3, 5]]"),
    "an array's content": ("np.array([1.0, 2.0, 3.0])", "np.array([1.0, 2.0, 3.5])"),
    "an array's type": ("np.array([1.0, 2.0, 3.0])", "np.array([1.0, 2.0, 3.0], np.float32)"),
    "an array's shape": ("np.array([1.0, 2.0, 3.0])", "np.array([[1.0, 2.0, 3.0]])"),
    "a record's fields": ('("y", "i4")', '("y", "i8")'),
    "a record's names": ('("y", "i4")', '("z", "i4")'),
    "a dictionary's value": ('"high": 5', '"high": 6'),
    "a dictionary's key": ('"high": 5', '"higher": 5'),
    "a set": ('frozenset({"p", "q", "r"})', 'frozenset({"p", "q", "s"})'),
    "a set inside a function": ('{"u", "v", "w"}', '{"u", "v"}'),
    "a namespace": ("depth=3", "depth=4"),
    "a type of Numba": ("numba.float64", "numba.float32"),
    "a class attribute": ("limit = 4", "limit = 5"),
    "a static method": ("return x * 2", "return x * 2 + 1"),
    "a method of a base class": ("return x + 1\n\n    @property", "return x + 2\n\n    @property"),
    "an attribute of a base class": ("power = 1.5", "power = 2.5"),
    "a property of a base class": ("        return 1\n\nclass Child", "        return 2\n\nclass Child"),
    "a helper": ("compiled(x) + kept(x)", "compiled(x) - kept(x)"),
    "a compiled helper": ("return deep(x) + 1", "return deep(x) + 2"),
    "a helper of a compiled helper": ("return x * 3", "return x * 3 + 0"),
    "a function that remembers": ("return x - 1\n\ndef helper", "return x - 2\n\ndef helper"),
    "a default": ("y=1, *", "y=3, *"),
    "a keyword's default": ("z=2)", "z=3)"),
    "a lambda": ("lambda v: v + K", "lambda v: v - K"),
    "a closure": ("make(5)", "make(6)"),
    "a partial's argument": ("partial(helper, 7)", "partial(helper, 8)"),
    "a field of a constant": ("ORIGIN = Point()", "ORIGIN = Point(3.0)"),
    "which function is called": ("math.sqrt(y)", "math.exp(y)"),
    "an argument's name": ("def deep(x):\n    return x", "def deep(w):\n    return w"),
    "a function that calls its caller": ("return recursive(x) + 1", "return recursive(x) + 2"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen(change):
    old, new = CHANGES[change]
    assert BASE.count(old) == 1
    assert fingerprint(BASE.replace(old, new)) != fingerprint(BASE)


def test_nothing_else_is():
    docstrings = BASE.replace("def deep(x):\n", 'def deep(x):\n    """Three times as much."""\n')
    docstrings = docstrings.replace("class Base:\n", 'class Base:\n    """A base."""\n\n')
    docstrings = docstrings.replace("def mutual(x):\n", 'def mutual(x):\n    "Calls back."\n')
    assert docstrings.count('"""') == 4
    comments = "\n\n# A note.\n" + BASE.replace("return x * 3", "return x * 3  # thrice")
    spaces = BASE.replace("return x * 3", "return (\n        x\n        * 3\n    )")
    annotated = BASE.replace("def deep(x):", "def deep(x: 'float') -> 'float':")
    unused = BASE + "\nUNUSED = 3\ndef unused(x):\n    return 7\n"
    for other in (BASE, docstrings, comments, spaces, annotated, unused):
        assert fingerprint(other) == fingerprint(BASE)


def test_use_changes_nothing():
    """Running, pickling and compiling leave traces in functions and classes, which are no code."""
    import copy

    module = ModuleType("made_up")
    exec(compile(BASE, "made_up.py", "exec", dont_inherit=True), module.__dict__)
    before = code_fingerprint(*(getattr(module, name) for name in USED))
    for _ in range(200):  # often enough for Python to specialise its instructions
        module.decide(1.0)
        module.rest("x")
        module.recursive(3)
    copy.copy(module.Child())
    hash(module.ORIGIN)
    assert code_fingerprint(*(getattr(module, name) for name in USED)) == before


def test_order_and_number_of_functions_count():
    one, other = fingerprint(BASE, "decide", "rest"), fingerprint(BASE, "rest", "decide")
    assert len({one, other, fingerprint(BASE, "decide"), fingerprint(BASE, "decide", "rest", "rest")}) == 4


def test_cycles_and_depth_come_to_an_end():
    chain = "\n".join(f"def f{i}(x):\n    return f{i + 1}(x)" for i in range(3_000))
    loop = "LOOP = []\nLOOP.append(LOOP)\ndef f3000(x):\n    return LOOP, x\n"
    found = fingerprint(f"{chain}\n{loop}", "f0")
    assert fingerprint(f"{chain}\n{loop}", "f0") == found
    assert fingerprint(f"{chain}\n{loop.replace(', x', ', 2')}", "f0") != found


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of files: constants, a helper that reads them in every way, and a user."""
    folder = tmp_path / "own_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "constants.py").write_text("K = 1.0\nclass Box:\n    size = 2\n")
    (folder / "late.py").write_text("L = 1.0\n")
    (folder / "relative.py").write_text("R = 1.0\n")
    (folder / "helpers.py").write_text(
        textwrap.dedent(
            """
            import own_package.constants
            from own_package import constants as short

            def whole(x):
                return own_package.constants.K * x

            def boxed(x):
                return short.Box.size * x

            def inside(x):
                from own_package.late import L
                return L * x

            def inside_whole(x):
                import own_package.late as late
                return late.L * x

            def inside_relative(x):
                from .relative import R
                return R * x

            def foreign(x):
                import scipy.special
                return scipy.special.gamma(x)

            def all_of_them(x):
                return whole(x), boxed(x), inside(x), inside_whole(x), inside_relative(x), foreign(x)
            """
        )
    )
    return folder


def in_a_process(folder, function, **environment):
    program = (
        "from own_package import helpers\nfrom equipoise.core.jit.fingerprint import code_fingerprint\n"
        f"print(code_fingerprint(helpers.{function}))"
    )
    paths = os.pathsep.join([str(folder.parent), *sys.path])
    run = subprocess.run(
        [sys.executable, "-B", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("function", "file", "old", "new"),
    [
        ("whole", "constants.py", "K = 1.0", "K = 2.0"),
        ("boxed", "constants.py", "size = 2", "size = 3"),
        ("inside", "late.py", "L = 1.0", "L = 2.0"),
        ("inside_whole", "late.py", "L = 1.0", "L = 2.0"),
        ("inside_relative", "relative.py", "R = 1.0", "R = 2.0"),
    ],
)
def test_constants_of_other_files(package, function, file, old, new):
    before = in_a_process(package, function)
    text = (package / file).read_text()
    (package / file).write_text("# A note.\n\n" + text + "UNUSED = 5\n")
    assert in_a_process(package, function) == before
    (package / file).write_text(text.replace(old, new))
    assert in_a_process(package, function) != before


def test_processes_agree(package):
    found = {in_a_process(package, "all_of_them", PYTHONHASHSEED=seed) for seed in ("0", "1", "77")}
    assert len(found) == 1


POLICIES = """
import equipoise as eq
import equipoise as eq
from equipoise.core.jit.fingerprint import code_fingerprint
from equipoise.core.policies.base.staged import StagedPolicy
{before}
for name in {names!r}:
    print(name, code_fingerprint(eq.registered_policies()[name]))
"""


def test_fingerprints_of_policies_do_not_depend_on_the_process():
    names = sorted(BUILT_IN)
    here = "".join(f"{name} {code_fingerprint(BUILT_IN[name])}\n" for name in names)
    busy = (
        "eq.simulate(eq.GaussianScenario(noise=[1.0, 2.0], dim=2, budget=20), ['trace-ucb'], trials=2)\n"
        "eq.register('another')(lambda arm, trial, settings: 1.0)\n"
        "import pickle; pickle.dumps([kind() for kind in (eq.TraceUCB, eq.BAS, eq.Uniform)])"
    )
    for seed, before in (("3", ""), ("4", busy)):
        run = subprocess.run(
            [sys.executable, "-c", POLICIES.format(before=before, names=names)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert run.stdout == here
    assert len(set(here.split()[1::2])) == len(names)


def test_arrays_of_objects_and_scalars():
    def made(value):
        def function():
            return value

        return code_fingerprint(function)

    values = [
        np.array([1, "a"], object),
        np.array([1, "b"], object),
        np.float64(1.0),
        np.float32(1.0),
        1.0,
        1,
    ]
    assert len({made(value) for value in values}) == len(values)
    assert made(np.arange(6).reshape(2, 3).T) == made(np.arange(6).reshape(2, 3).T.copy())


@pytest.mark.parametrize("kind", [eq.Policy, StagedPolicy])
def test_whatever_a_policy_may_replace_counts(kind):
    """A new method of the base classes must be listed, or said to decide about no unit."""
    decides_nothing = {"name", "contrasts", "check", "check_score", "spec", "label", "to_dict", "from_dict"}
    decides_nothing |= {"categorises", "counts_alone"}  # read by the checks, and by who runs it on a GPU
    public = {name for name in vars(kind) if not name.startswith("_")}
    assert public - decides_nothing == set(kind.__fingerprint__)
