"""What formulaic said of a formula is kept on disk, so that a new process need not import it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from equipoise.core.problem.features import formula
from equipoise.core.problem.features.formula import products
from equipoise.errors import InvalidFeatures

PROGRAM = """
import sys
import equipoise as eq
features = eq.Features("1 + age*sex + I(age**2)", age=eq.Number(), sex=eq.Category(*"fmx"))
print(features.names, [name for name in ("formulaic", "pandas") if name in sys.modules])
"""


def test_a_second_process_does_without_formulaic(tmp_path):
    # A folder that others can write to is not trusted, so it is made here.
    environment = {**os.environ, "EQUIPOISE_KERNELS": str(tmp_path / "kernels")}
    line = [sys.executable, "-c", PROGRAM]
    first, second = (
        subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert "['formulaic', 'pandas']" in first
    assert second == first.replace("['formulaic', 'pandas']", "[]")


@pytest.fixture
def kept(monkeypatch):
    """What is kept, in a dictionary instead of on disk."""
    files: dict[str, bytes] = {}
    monkeypatch.setattr(formula.storage, "read", files.get)
    monkeypatch.setattr(formula.storage, "write", files.__setitem__)
    return files


@pytest.mark.parametrize(
    ("categories", "numbers"),
    [({"a": 2}, ["b"]), ({"a": 3}, ["b"]), ({"a": 2, "b": 2}, []), ({}, ["a", "b"])],
)
@pytest.mark.parametrize("text", ["1 + a:b", "0 + a + b", "a*b"])
def test_what_is_kept_is_what_was_said(kept, text, categories, numbers):
    first = products(text, categories, numbers)
    assert len(kept) == 1
    assert products(text, categories, numbers) == first
    for other in (("1 + a", categories, numbers), (text, {**categories, "c": 2}, numbers)):
        products(*other)
    assert len(kept) == 3
    assert products(text, categories, numbers) == first


def test_a_wrong_formula_is_wrong_again(kept):
    for _ in range(2):
        with pytest.raises(InvalidFeatures):
            products("1 + (", {}, ["a"])
    assert kept == {}
