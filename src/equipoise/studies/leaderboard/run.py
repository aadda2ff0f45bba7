"""Run: every policy on every entry of the suite, each entry kept as soon as it is finished."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from equipoise.core.policies.base.policy import Policy, parse_policy, registered_policies
from equipoise.errors import InvalidArgument
from equipoise.lab.running.simulate import check_counts
from equipoise.studies.leaderboard.record import Leaderboard, Row
from equipoise.studies.leaderboard.suite import Entry, chosen_entries
from equipoise.studies.runner import Meter, Progress, Runner, simulation_work
from equipoise.studies.store import Store, open_folder
from equipoise.version import __version__

REFERENCE = "oracle"
TRIALS = 2_000


def run_leaderboard(
    only: Sequence[str] = (),
    *,
    policies: Sequence[str] = (),
    trials: int = TRIALS,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Every policy on every entry of the suite, on common random numbers.

    Parameters
    ----------
    only
        Names of entries or groups; the whole suite unless given.
    policies
        Text forms; all of the package's policies at their defaults unless given. ``oracle``, which
        losses are divided by, always runs.
    trials
        Trials of every policy on every entry; at least two, without which nothing has an error.
    seed
        Every entry draws from a stream of its own, so that their errors are independent.
    workers, executor, device
        Where trials run, as in :func:`equipoise.simulate`.
    checkpoint
        Folder that keeps finished entries and chunks; the same call goes on where it stopped.
    progress
        Called with a label, the work done and all work.

    Examples
    --------
    >>> board = run_leaderboard(["equal-d10-n115"], policies=["uniform", "trace-gain"], trials=20)
    >>> board.ranking()[0].policy
    'trace-gain'
    """
    entries = chosen_entries(only)
    names = chosen_policies(policies)
    check_counts(trials=trials, seed=seed, workers=workers)
    if trials < 2:
        raise InvalidArgument(f"trials={trials!r} is too few", hint="an error needs at least two trials")
    kept = None if checkpoint is None else open_folder(Path(checkpoint), option="--checkpoint")
    total = sum(simulation_work(entry.scenario, len(names), trials) for entry in entries)
    runner = Runner(seed, workers, Store(kept), Meter(total, progress), executor, device)
    rows = tuple(_rows(runner, entries, names, trials))
    return Leaderboard(__version__, seed, trials, tuple(names), rows)


def chosen_policies(specs: Sequence[str]) -> list[str]:
    """Policies as they were typed, the reference among them; all of the package's if none were."""
    chosen = list(specs) or [name for name, kind in registered_policies().items() if _competes(kind)]
    for spec in chosen:
        parse_policy(spec)
        if chosen.count(spec) > 1:
            raise InvalidArgument(f"policy {spec!r} is given twice")
    if chosen == [REFERENCE]:
        raise InvalidArgument(
            f"there is nothing to compare with the {REFERENCE}", hint=f"name a policy besides the {REFERENCE}"
        )
    return chosen if REFERENCE in chosen else [REFERENCE, *chosen]


def entry_seed(seed: int, entry: Entry) -> int:
    """A seed of the entry's own, that does not move when the suite grows."""
    words = np.random.SeedSequence([seed, *entry.name.encode()]).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))  # simulate() takes seeds below 2⁶³


def _rows(runner: Runner, entries: Sequence[Entry], policies: Sequence[str], trials: int) -> Iterator[Row]:
    for entry in entries:
        own = dataclasses.replace(runner, seed=entry_seed(runner.seed, entry))
        point = own.point(entry.scenario, policies, trials, name=entry.name)
        yield Row(entry, own.seed, point.losses)


def _competes(kind: type[Policy]) -> bool:
    # A policy that was typed into an interpreter may have no module. In these scenarios all features
    # matter, so policies that choose some have nothing to win.
    return str(kind.__module__).startswith("equipoise.core.policies.") and not kind.staged
