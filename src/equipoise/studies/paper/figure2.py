"""The two panels of Figure 2: replays of joke and movie ratings, sized as the files at hand allow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from equipoise.errors import DataNotFound, NoCompleteUsers
from equipoise.lab.data import DenseTable, load_jester
from equipoise.lab.data.dense import dense_table
from equipoise.lab.data.movielens import read_movielens
from equipoise.lab.replay.arena import ReplayArena, new_arena
from equipoise.lab.replay.table import as_table

TRIALS = 1_000
DATA_VARIABLE = "EQUIPOISE_DATA"

JESTER_USERS = 3_811
# The paper's axis is in its figure alone. All of these are above m(d+1) = 410, where adaptive policies start.
_JESTER_BUDGETS = (450, 500, 550, 600, 700, 800, 1_000, 1_200, 1_500)
_MOVIELENS_POINTS = 6
# Items and targets, the paper's first. One is taken if four times as many users as the policies need
# to start with have rated everything: half of them feed the policy, half are left to measure with.
_MOVIELENS_CUTS = ((30, 5), (20, 5), (15, 5), (10, 5))
_ROOM = 4
_TITLES = {"jester": "Jester", "movielens": "MovieLens"}


@dataclass(frozen=True)
class TablePanel:
    """One loss of replays of one table, as a curve a policy."""

    id: str
    title: str
    note: str
    loss: ClassVar[str] = "median_max"
    axis: ClassVar[str] = "n"


@dataclass(frozen=True)
class TableSweep:
    """A panel and the replays that it is drawn from."""

    panel: TablePanel
    arenas: tuple[ReplayArena, ...]
    trials: ClassVar[int] = TRIALS

    @property
    def name(self) -> str:
        """The panel's."""
        return self.panel.id

    @property
    def noise(self) -> tuple[float, ...]:
        """Residual variance of every target."""
        return self.arenas[0].noise


@dataclass(frozen=True)
class _Kind:
    """A table of ratings: which files it may be in, and how it is cut."""

    files: tuple[str, ...]
    fetched: str
    sweep: Callable[[str | Path], TableSweep]


def open_sweep(name: str, folder: str | Path | None) -> TableSweep:
    """The replays of a panel, from a folder (``EQUIPOISE_DATA`` unless given) or from what was fetched."""
    kind = TABLES[name]
    folder = folder or os.environ.get(DATA_VARIABLE)
    if folder is None:
        try:
            return kind.sweep(kind.fetched)
        except DataNotFound:
            raise _missing(name, kind, "no folder with ratings was named") from None
    for file in kind.files:
        path = Path(folder).expanduser() / file
        if path.is_file():
            return kind.sweep(path)
    raise _missing(name, kind, f"{folder} holds none of {', '.join(kind.files)}")


def _missing(name: str, kind: _Kind, reason: str) -> DataNotFound:
    return DataNotFound(
        f"panel {name} needs the ratings: {reason}",
        hint=f"type: equipoise data fetch {kind.fetched}; or put {kind.files[0]} into a folder and name it "
        f"with --data FOLDER or {DATA_VARIABLE}",
    )


def _jester(path: str | Path) -> TableSweep:
    table = load_jester(path, users=JESTER_USERS)
    return _sweep(
        "jester",
        table,
        _JESTER_BUDGETS,
        f"the first {len(table):,} of {table.complete_users:,} users who rated all 49 jokes",
    )


def _movielens(path: str | Path) -> TableSweep:
    table, items = _largest_cut(path)
    start = len(table.target_names) * (len(table.context_names) + 1)
    budgets = np.unique(np.geomspace(1.25 * start, len(table) / 2, _MOVIELENS_POINTS).round().astype(int))
    note = f"{len(table):,} users who rated all {items} movies"
    if items != _MOVIELENS_CUTS[0][0]:
        note += " (the paper: 1,363 users, 30 movies)"
    return _sweep("movielens", table, budgets.tolist(), note)


def _largest_cut(path: str | Path) -> tuple[DenseTable, int]:
    ratings = read_movielens(path)  # once: a release can take a minute
    for items, targets in _MOVIELENS_CUTS:
        if items > len(ratings.item_names):
            continue
        try:
            table = dense_table(
                ratings, items=items, targets=targets, users=None, method="search", rating_count=False, seed=0
            )
        except NoCompleteUsers:
            continue
        if len(table) >= _ROOM * targets * (items - targets + 1):
            return table, items
    raise NoCompleteUsers(
        f"too few users of {Path(path).name} rated the same movies", hint="give a larger release, e.g. ml-25m"
    )


def _sweep(name: str, dense: DenseTable, budgets: Sequence[int], note: str) -> TableSweep:
    table = as_table(dense, name=name)
    # As in the paper: all columns centred by the whole table, Σ known.
    first = new_arena(table, budgets[0], center="table", moment="table", estimator="ridge")
    ratio = max(first.noise) / min(first.noise)
    title = f"{_TITLES[name]}, d = {first.dim}, m = {len(first.arms)}"
    panel = TablePanel(name, title, f"{note}; largest over smallest noise variance {ratio:.1f}")
    return TableSweep(panel, tuple(first.with_budget(budget) for budget in budgets))


TABLES = {
    "jester": _Kind(
        ("jester_dataset_1_1.zip", "jester-data-1.xls", "jester-data-1.csv", "jester1_dense49.csv.gz"),
        "jester-1",
        _jester,
    ),
    "movielens": _Kind(
        (
            *("ml-25m.zip", "ml-32m.zip", "ml-latest.zip", "ml-20m.zip", "ml-10m.zip"),
            *("movielens_halfstar_top200.npz", "ml-latest-small.zip", "ml-latest-small-ratings.csv.gz"),
        ),
        "ml-25m",
        _movielens,
    ),
}
