"""Creating an experiment in a store, and loading one that is there."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from equipoise.core.experiment.experiment import Experiment
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.errors import (
    CommitUnknown,
    ExperimentExists,
    InvalidArgument,
    ReceiptUnknown,
    StoreBusy,
    StoreUnavailable,
)
from equipoise.live.experiment.actors import Actor
from equipoise.live.experiment.experiment import LiveExperiment
from equipoise.live.experiment.late import checked_duration
from equipoise.live.log.encoding import encode
from equipoise.live.log.receipts import Receipt
from equipoise.live.log.rows import make_rows
from equipoise.live.stores.chain import first_link
from equipoise.live.stores.names import full_name
from equipoise.live.stores.opening import open_store
from equipoise.live.stores.store import FIRST_EPOCH, Head, Store, Writer

LARGEST_DRAWN_SEED = 2**53
"""Seeds below it are whole numbers everywhere, in JSON of any reader, too."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _by_name(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Say what to write where store and name are not given by name, which Python's own error does not."""

    @functools.wraps(function)
    def checked(*given: _P.args, **named: _P.kwargs) -> _R:
        if given or not {"store", "name"} <= named.keys():
            own = function.__name__
            raise InvalidArgument(
                f"{own}() needs store= and name=, by these names",
                hint=f'e.g. eq.{own}(store="sqlite:///trial.db", name="trial-1"'
                + (", problem=problem)" if own.startswith("create") else ")"),
            )
        return function(*given, **named)

    return checked


@_by_name
def create_experiment(
    *,
    store: str | Store,
    name: str,
    problem: Problem,
    policy: Policy | str = "trace-gain",
    seed: int | None = None,
    mode: str = "live",
    actor: str | None = None,
    deadline: timedelta | None = None,
) -> LiveExperiment:
    """Begin an experiment in a store.

    Parameters
    ----------
    store
        Where its log is kept: ``"sqlite:///trial.db"``, ``"postgresql://…"``, or a store that
        :func:`open_store` has opened.
    name
        ``"trial-1"`` or ``"project/trial-1"``; there must be none of that name.
    problem, policy
        As for :class:`~equipoise.Experiment`.
    seed
        Decides lots and ties; drawn unless given, so that nobody knows it beforehand. The log has it.
    mode
        ``"live"``, or ``"practice"`` for trying out: its data can never become live data.
    actor
        Who acts; the login name unless given.
    deadline
        How long outcomes may take, for :meth:`LiveExperiment.overdue`.
    """
    if not isinstance(problem, Problem):
        raise InvalidArgument(f"{problem!r} is not a Problem", hint="build one with eq.Problem(...)")
    name = full_name(name)
    chosen = secrets.randbelow(LARGEST_DRAWN_SEED) if seed is None else seed
    event: dict[str, Any] = dict(Experiment(problem, policy, chosen).created_event())
    if deadline is not None:
        event["live"] = {"deadline": checked_duration(deadline).total_seconds()}
    encode(event)  # what cannot be written down is refused before a store is made
    who = Actor(actor).name

    def fill(writer: Writer) -> None:
        writer.append(
            make_rows(
                [event],
                who,
                previous=first_link(name),
                sequence=0,
                time=writer.now,
                epoch=FIRST_EPOCH,
                mode=mode,
            )
        )

    target, owns = opened(store)
    try:
        begun = begin(target, name, fill, mode)
        return LiveExperiment(target, name, actor, owns_store=owns, begun=begun)
    except BaseException:
        if owns:
            target.close()
        raise


@_by_name
def load_experiment(
    *, store: str | Store, name: str, actor: str | None = None, receipt: Receipt | str | None = None
) -> LiveExperiment:
    """Go on with an experiment that is in a store.

    Parameters
    ----------
    store, name
        Where it is.
    actor
        Who acts; the login name unless given.
    receipt
        Of the last call that the caller knows to have been acknowledged. If it is not in the log, because
        that was restored from an older backup, ReceiptUnknown says so.
    """
    target, owns = opened(store)
    try:
        experiment = LiveExperiment(target, name, actor, owns_store=owns)
        if receipt is not None:
            check_receipt(experiment, Receipt.of(receipt))
        return experiment
    except BaseException:
        if owns:
            target.close()
        raise


def check_receipt(experiment: LiveExperiment, receipt: Receipt) -> None:
    """Look a receipt up in the log; ReceiptUnknown says why it is not there."""
    same_name = full_name(receipt.name) == experiment.name
    row = next(experiment.store.read(experiment.name, receipt.sequence - 1, receipt.sequence), None)
    if not same_name or row is None or row.hash != receipt.hash:
        experiment.verify(receipt, decisions=False)
        raise ReceiptUnknown(f"{receipt} is not in the log")


def begin(
    store: Store, name: str, fill: Callable[[Writer], None], mode: str, epoch: int = FIRST_EPOCH
) -> Head:
    """Create an experiment of the rows that ``fill`` appends; a commit that was lost is looked for.

    Gives the head that was stored.
    """
    made: dict[bytes, Head] = {}
    """What every attempt came to, by the hash of its last row."""

    def attempt() -> Head:
        with store.creating(name, mode, epoch=epoch) as writer:
            fill(writer)
            made[writer.head.hash] = head = writer.head
        return head

    try:
        return attempt()
    except CommitUnknown as lost:
        try:
            return attempt()
        except ExperimentExists:
            # Somebody may have gone on with it already.
            last = min(head.sequence for head in made.values())
            row = next(store.read(name, last - 1, last), None)
            if row is None or row.hash not in made:
                raise
            return made[row.hash]
        except (StoreUnavailable, StoreBusy) as error:
            raise lost from error  # nobody knows still


def opened(store: str | Store) -> tuple[Store, bool]:
    """The store, and whether it was opened here."""
    return (store, False) if isinstance(store, Store) else (open_store(store), True)
