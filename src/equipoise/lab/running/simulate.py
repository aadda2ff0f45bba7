"""Simulate: policies in any arena, in chunks of trials, on threads or any executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.errors import InvalidArgument
from equipoise.lab.arena import Arena, Bench
from equipoise.lab.gpu.offers import CPU, split
from equipoise.lab.results.policy import PolicyResult, result_weights
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.running.checkpoint import Checkpoint, Codes, Part, checkpoint_in, open_checkpoint
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.ledger import Ledger, new_ledger, put_together
from equipoise.version import __version__

Progress = Callable[[int, int], None]

# Short enough that progress is smooth and little is lost; fewer files to keep than with shorter ones.
_DECISIONS_A_CHUNK = 2_000_000
# Long enough that handing out chunks costs nothing.
_WORTH_A_CHUNK = 200_000
# Every core finds work, where there is enough of it.
_CHUNKS = 16
# A GPU's trials between two signs of progress.
_TRIALS_ON_GPU = 65_536
# Chunks handed out ahead of those that are done: enough for a large cluster, few enough to cancel.
_AHEAD = 1_000


Outcome = tuple[Ledger, float]
"""What trials of a policy ended with, and the seconds that they took."""


@dataclass(frozen=True)
class Chunk:
    """Some consecutive trials of some policies, on the same draws."""

    policies: tuple[int, ...]
    first: int
    trials: int


def simulate(
    scenario: Scenario,
    policies: Sequence[Policy | str],
    *,
    trials: int = 1_000,
    seed: int = 0,
    estimator: str | None = None,
    ridge: float | None = None,
    intervals: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    device: str = CPU,
) -> SimulationResult:
    """Run ``trials`` trials of every policy on common random numbers.

    Results depend on scenario, policies, trials and seed alone: not on workers, executor or order.

    Parameters
    ----------
    scenario
        The world, e.g. ``eq.GaussianScenario(noise=[0.5, 2.0], dim=3, budget=60)``.
    policies
        Policies or their text forms.
    estimator, ridge
        How final models are estimated, in place of what the scenario says, which is ``"pooled"`` unless it
        says otherwise; as :meth:`equipoise.Experiment.estimates` takes them.
    intervals
        Whose coverage is judged, in place of what the scenario says: ``"classical"`` or ``"robust"``. Robust
        ones take about a millisecond an arm and trial.
    workers
        Threads on this machine; all cores unless given.
    executor
        Any ``concurrent.futures.Executor`` instead of threads, e.g. a Dask client's
        ``get_executor()``.
    progress
        Called with the number of trials done and in all, after every chunk.
    checkpoint
        A folder that keeps finished trials: an interrupted run goes on where it stopped, and one with more
        trials or other policies runs only what is missing.
    device
        ``"cuda"``: an NVIDIA GPU, which gives the same numbers to the last bit and refuses what it cannot
        run; ``"auto"``: a GPU for what it can run, if there is one.

    Examples
    --------
    >>> import equipoise as eq
    >>> scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40)
    >>> result = eq.simulate(scenario, ["uniform", "trace-ucb"], trials=50, seed=1)
    >>> sorted(result.policies), result.trials
    (['trace-ucb', 'uniform'], 50)
    """
    if not isinstance(scenario, Scenario):
        raise InvalidArgument(f"{scenario!r} is not a scenario", hint="e.g. eq.GaussianScenario(...)")
    if estimator is not None or ridge is not None:
        chosen = scenario.estimator if estimator is None else estimator
        scenario = scenario.replace(estimator=chosen, ridge=ridge)
    if intervals is not None:
        scenario = scenario.replace(intervals=intervals)
    results = run_policies(
        scenario,
        policies,
        trials=trials,
        seed=seed,
        workers=workers,
        executor=executor,
        progress=progress,
        checkpoint=checkpoint,
        device=device,
    )
    return SimulationResult(scenario, int(seed), __version__, results)


def run_policies(
    arena: Arena,
    policies: Sequence[Policy | str],
    *,
    trials: int,
    seed: int,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    device: str = CPU,
    codes: Codes | None = None,
) -> dict[str, PolicyResult]:
    """Run every policy in ``arena``; arguments are those of :func:`simulate`.

    ``codes`` where several runs look at the code of policies once.
    """
    named = named_policies(policies)
    check_policies(arena, named, trials, seed, workers)
    trials, seed = int(trials), int(seed)
    on_gpu = split(arena, named, device, elsewhere=executor is not None)
    there = [name in on_gpu for name in named]
    chunks = list(_cut_by_device(there, trials, arena.problem().units))
    store = open_checkpoint(checkpoint, arena, named, seed, codes)
    if on_gpu and executor is None:
        from equipoise.lab.gpu.ahead import compile_ahead

        chosen = [named[name] for name in unfinished(store, named, trials) if name in on_gpu]
        compile_ahead([(arena, chosen)], device)
    ledgers = [new_ledger(0, len(arena.noise)) for _ in named]
    seconds = np.zeros(len(named))
    done = 0
    with worker_pool(executor, workers) as pool:
        for chunk, outcomes in _run_all(pool, arena, list(named.values()), seed, chunks, store, there):
            for policy, (ledger, spent) in zip(chunk.policies, outcomes, strict=True):
                ledgers[policy] = put_together(ledgers[policy], ledger, chunk.first, trials)
                seconds[policy] += spent
            done += chunk.trials * len(chunk.policies)
            if progress is not None:
                progress(done, trials * len(named))
    weights = result_weights(arena)
    return {
        name: PolicyResult(name, policy.spec, ledger, weights, float(spent), _decisions(ledger))
        for (name, policy), ledger, spent in zip(named.items(), ledgers, seconds, strict=True)
    }


def unfinished(store: Checkpoint | None, policies: Mapping[str, Policy], trials: int) -> list[str]:
    """Policies of whose trials some are not kept."""
    return [name for k, name in enumerate(policies) if store is None or not store.has(k, trials)]


def pack_trials(
    checkpoint: str | Path | None,
    arena: Arena,
    policies: Sequence[Policy | str],
    seed: int,
    found: Mapping[str, PolicyResult],
    codes: Codes | None = None,
) -> None:
    """Few files a policy in a checkpoint whose run is finished: sweeps have many points."""
    if checkpoint is not None:
        store = checkpoint_in(checkpoint, arena, named_policies(policies), seed, codes)
        for place, result in enumerate(found.values()):
            store.pack(place, Part(0, result.ledger, result.seconds))


def run_chunk(arena: Arena, policies: Sequence[Policy], seed: int, first: int, trials: int) -> list[Outcome]:
    """Trials ``first`` … of every policy, and the seconds they took without compilation."""
    bench = arena.open(policies, seed)
    _warm_up(bench, arena, policies)
    ledgers = [new_ledger(trials, len(arena.noise)) for _ in policies]
    seconds = bench(first, ledgers)
    return list(zip(ledgers, seconds.tolist(), strict=True))


def _run_chunk_there(
    arena: Arena, policies: Sequence[Policy], seed: int, first: int, trials: int
) -> list[Outcome]:
    """The same on a GPU; one chunk at a time, since each fills it."""
    assert isinstance(arena, Scenario)  # or it would not have been sent there
    from equipoise.lab.gpu.bench import GpuBench

    with _GPU:
        ledgers = [new_ledger(trials, len(arena.noise)) for _ in policies]
        seconds = GpuBench(arena, policies, seed)(first, ledgers)
    return list(zip(ledgers, seconds.tolist(), strict=True))


_GPU = Lock()


def _decisions(ledger: Ledger) -> int:
    """Units that were assigned in all trials."""
    return int(ledger.course[:, 0].sum())


_WARM: set[Hashable] = set()
_WARMING = Lock()


def _warm_up(bench: Bench, arena: Arena, policies: Sequence[Policy]) -> None:
    """Run one trial if this process has not run such trials before, so that they are compiled."""
    # Everything that describes them goes in: what was chosen here could be chosen wrongly.
    where = (type(arena), outline(arena.to_dict()))
    kinds = {(*where, type(policy), outline(vars(policy))) for policy in policies}
    with _WARMING:
        if not kinds <= _WARM:
            bench(0, [new_ledger(1, len(arena.noise)) for _ in policies])
            _WARM.update(kinds)


def outline(value: object) -> Hashable:
    """Plain values without their sizes: what decides which functions are compiled, and a little more.

    Compiled functions branch on numbers, but whether there is a number, and whether it is 0, can decide
    which of them are called.
    """
    if isinstance(value, Mapping):
        return tuple((name, outline(item)) for name, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return frozenset(outline(item) for item in value)
    return value if value is None or isinstance(value, bool | str) else value != 0


def _run_all(
    pool: Executor,
    arena: Arena,
    policies: list[Policy],
    seed: int,
    chunks: list[Chunk],
    store: Checkpoint | None,
    there: list[bool],
) -> Iterator[tuple[Chunk, list[Outcome]]]:
    """Chunks as they are finished; what a checkpoint holds of them first."""
    gaps = [
        [(chunk.first, chunk.first + chunk.trials) for chunk in chunks if policy in chunk.policies]
        for policy in range(len(policies))
    ]
    if store is not None:
        trials = max(chunk.first + chunk.trials for chunk in chunks)
        for policy in range(len(policies)):
            for part in store.read(policy, trials):
                yield Chunk((policy,), part.first, part.last - part.first), [(part.ledger, part.seconds)]
                gaps[policy] = list(_without(gaps[policy], part.first, part.last))
    waiting = _lacking(gaps, there)
    waiting.reverse()
    running: dict[Future[list[Outcome]], Chunk] = {}
    # Executors that reach other machines can send the arena there once, not with every chunk.
    shared = pool.share(arena) if waiting and hasattr(pool, "share") else arena
    try:
        while waiting or running:
            while waiting and len(running) < _AHEAD:
                chunk = waiting.pop()
                chosen = [policies[policy] for policy in chunk.policies]
                run = _run_chunk_there if there[chunk.policies[0]] else run_chunk
                future = pool.submit(run, shared, chosen, seed, chunk.first, chunk.trials)
                running[future] = chunk
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                chunk, outcomes = running.pop(future), future.result()
                if store is not None:
                    parts = (Part(chunk.first, *outcome) for outcome in outcomes)
                    store.write(dict(zip(chunk.policies, parts, strict=True)))
                yield chunk, outcomes
    finally:
        for future in running:
            future.cancel()


def _without(spans: list[tuple[int, int]], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Spans of trials, less those from ``first`` to before ``last``."""
    for begin, end in spans:
        for one, other in ((begin, min(end, first)), (max(begin, last), end)):
            if one < other:
                yield one, other


def _lacking(gaps: list[list[tuple[int, int]]], there: list[bool]) -> list[Chunk]:
    """Chunks of what every policy lacks; policies that lack the same trials run on the same draws."""
    lacking: dict[tuple[int, int, bool], list[int]] = {}
    for policy, spans in enumerate(gaps):
        for span in spans:
            lacking.setdefault((*span, there[policy]), []).append(policy)
    return [
        Chunk(tuple(policies), first, last - first) for (first, last, _), policies in sorted(lacking.items())
    ]


@contextmanager
def worker_pool(executor: Executor | None, workers: int | None) -> Iterator[Executor]:
    """The executor, or threads where there is none."""
    if executor is not None:
        yield executor
        return
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        yield pool


def _cut_by_device(there: list[bool], trials: int, budget: int) -> Iterator[Chunk]:
    """Chunks for the processor, and longer ones for a GPU, which runs thousands of trials at a time."""
    mine, others = (tuple(k for k, on_gpu in enumerate(there) if on_gpu == which) for which in (False, True))
    if mine:
        for chunk in cut_trials(len(mine), trials, budget):
            yield Chunk(tuple(mine[k] for k in chunk.policies), chunk.first, chunk.trials)
    if others:
        for first in range(0, trials, _TRIALS_ON_GPU):
            yield Chunk(others, first, min(_TRIALS_ON_GPU, trials - first))


def cut_trials(policies: int, trials: int, budget: int) -> Iterator[Chunk]:
    """Chunks that cover all trials of all policies: some, unless that makes them too short or too long."""
    decisions = budget * policies
    enough = max(-(-trials // _CHUNKS), _WORTH_A_CHUNK // decisions)
    size = max(1, min(trials, enough, _DECISIONS_A_CHUNK // decisions))
    for first in range(0, trials, size):
        yield Chunk(tuple(range(policies)), first, min(size, trials - first))


def named_policies(policies: Sequence[Policy | str]) -> dict[str, Policy]:
    """Policies by the name they were given, which is their text form unless it was typed."""
    if isinstance(policies, str | Policy):
        policies = [policies]
    if not isinstance(policies, Sequence):
        raise InvalidArgument(f"policies={policies!r} is not a list", hint="e.g. ['uniform', 'trace-ucb']")
    named: dict[str, Policy] = {}
    for given in policies:
        policy = parse_policy(given)
        name = given if isinstance(given, str) else policy.spec
        if name in named:
            raise InvalidArgument(f"policy {name!r} is given twice")
        named[name] = policy
    if not named:
        raise InvalidArgument("no policies to simulate", hint="e.g. ['uniform', 'trace-ucb']")
    return named


def check_policies(
    arena: Arena, policies: dict[str, Policy], trials: int, seed: int, workers: int | None
) -> None:
    """Refuse what cannot be run, before any work."""
    check_counts(trials=trials, seed=seed, workers=workers)
    problem = arena.problem()
    for name, policy in policies.items():
        policy.informed(arena.noise).check(problem)
        if getattr(arena, "stop", None) is not None and isinstance(policy, StagedPolicy):
            raise InvalidArgument(
                f"{name} chooses features, and trials of such policies cannot be stopped at a target",
                hint="leave out stop, or that policy",
            )


def check_counts(*, trials: int, seed: int, workers: int | None) -> None:
    """Refuse numbers of trials and workers, and seeds, that there cannot be."""
    for name, value, least in (("trials", trials, 1), ("seed", seed, 0), ("workers", workers, 1)):
        if name == "workers" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InvalidArgument(f"{name}={value!r} is not a whole number of at least {least}")
    if seed >= 2**63:
        raise InvalidArgument(f"seed={seed!r} is not below 2^63")
