"""The pages name what exists, and everything that must be named is named."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from built_in import BUILT_IN

import equipoise as eq
from equipoise.cli.options import ESTIMATOR_HELP
from equipoise.core.arms.state import ARM, TRIAL
from equipoise.core.estimates.estimators import ESTIMATORS
from equipoise.lab.pieces import KINDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if DOCS / "tables" not in page.parents]
PACKAGE = ROOT / "src" / "equipoise"

ERRORS = [name for name, kind in vars(eq.errors).items() if inspect.isclass(kind)]
POLICIES = list(BUILT_IN)


def read(page: str) -> str:
    return (DOCS / page).read_text()


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_explained(name):
    assert f"`{name}`" in read("errors.md")


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_a_section(name):
    assert f"\n## `{name}`\n" in read("policies/policies.md") + read("policies/designs.md")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_on_its_page_and_in_the_help(name):
    assert f'| `"{name}"`' in read("estimates/estimates.md")
    assert name in ESTIMATOR_HELP


@pytest.mark.parametrize("kind", [kind for kinds in KINDS.values() for kind in kinds.values()])
def test_every_piece_is_on_the_page_of_scenarios(kind):
    assert kind.__name__ in read("lab/simulate.md")


@pytest.mark.parametrize(
    "name", [name for name in eq.__all__ if name != "__version__" and not inspect.ismodule(getattr(eq, name))]
)
def test_every_public_name_is_in_the_reference(name):
    # The root of all errors stands with the other errors.
    assert f"::: equipoise.{name}\n" in read("reference.md") or name in ERRORS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page):
    named = re.findall(r"`([\w/]+\.py)`", page.read_text())
    missing = [path for path in named if not (PACKAGE / path).exists() and not (ROOT / path).exists()]
    assert missing == []


def test_mathematics_names_files():
    # Guards the test above against a pattern that finds nothing.
    assert len(re.findall(r"`core/[\w/]+\.py`", read("theory/mathematics.md"))) > 10


def test_fields_of_records_exist():
    fields = re.findall(r"^\| `(arm|trial)\.(\w+)` \|", read("policies/policies.md"), re.MULTILINE)
    assert fields
    assert [f for record, f in fields if f not in {"arm": ARM, "trial": TRIAL}[record].names] == []


def test_tolerances_are_those_of_the_code():
    rows = re.findall(r"^\| `([\w/]+)\.py` \| `(\w+)` \| (\S+) \|", read("theory/numerics.md"), re.MULTILINE)
    assert rows
    for path, name, value in rows:
        module = importlib.import_module("equipoise." + path.replace("/", "."))
        assert np.isclose(getattr(module, name), float(value), rtol=1e-12, atol=0), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_in_the_navigation(page):
    assert f": {page.relative_to(DOCS).as_posix()}\n" in (ROOT / "mkdocs.yml").read_text()


@pytest.mark.parametrize(
    "table",
    [
        *("widths", "coverage", "estimators", "leaderboard", "bar", "batches", "chance"),
        *("replays/trace-gain-replays", "replays/target-units", "designs", "misspecification"),
        *("worlds/yes-no", "worlds/advantage"),
        *("worlds/fit-warnings", "worlds/few-units", "policies/own-policies"),
        *("robust/intervals", "robust/spread", "live/concealment"),
    ],
)
def test_tables_of_the_benchmarks_are_included(table):
    assert f'--8<-- "docs/tables/{table}.md"' in "".join(page.read_text() for page in PAGES)
    assert (DOCS / "tables" / f"{table}.md").exists()
