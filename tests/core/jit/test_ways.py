"""Two ways to compile: the same bits, and the plain one wherever the fast one does not work."""

import os
import subprocess
import sys

import pytest

FIRST_SCORES = """
import numpy as np
import equipoise as eq
from equipoise.core.jit import ways
experiment = eq.Experiment(eq.Problem(3, 2, budget=30), eq.TraceUCB(), seed=5)
for k in range(12):
    unit = experiment.ask([1.0, np.sin(k)])
    experiment.tell(unit.id, np.cos(3.0 * k))
print(type(ways.chosen()).__name__, unit.arm, [score.hex() for score in unit.scores.values()])
"""

# What a Numba without the parts that the fast way rests on looks like.
OTHER_NUMBA = """
import numba.core.codegen
class Other(numba.core.codegen.JITCodeLibrary):
    __slots__ = ()
    @property
    def _linking_libraries(self):
        raise AttributeError("_linking_libraries")
    @_linking_libraries.setter
    def _linking_libraries(self, value):
        pass
numba.core.codegen.JITCodeLibrary = Other
"""


def _run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def fast():
    return _run(FIRST_SCORES, EQUIPOISE_COMPILE="fast").stdout.split(maxsplit=1)


@pytest.mark.slow
def test_plain_compilation_gives_the_same_bits(fast, tmp_path):
    way, bits = _run(FIRST_SCORES, EQUIPOISE_COMPILE="plain", EQUIPOISE_KERNELS=str(tmp_path)).stdout.split(
        maxsplit=1
    )
    assert way == "Plain"
    assert fast == ["Fast", bits]


@pytest.mark.slow
def test_a_numba_that_is_not_known_is_used_in_the_plain_way(fast, tmp_path):
    out = _run(OTHER_NUMBA + FIRST_SCORES, EQUIPOISE_COMPILE="", EQUIPOISE_KERNELS=str(tmp_path)).stdout
    assert out.split(maxsplit=1) == ["Plain", fast[1]]


def test_an_unknown_way_is_refused():
    result = _run(FIRST_SCORES, EQUIPOISE_COMPILE="quick")
    assert "EQUIPOISE_COMPILE=quick is neither fast nor plain" in result.stderr


def test_without_a_compiler_there_is_a_clear_word():
    result = _run(FIRST_SCORES, NUMBA_DISABLE_JIT="1")
    assert "CompilerDisabled: NUMBA_DISABLE_JIT is set" in result.stderr
