"""Verifying a log, and nothing but the log: its chain, then every decision made anew."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.history.events import ASKED
from equipoise.errors import PolicyNotAtHand, ReceiptUnknown, ReplayMismatch, StoreDamaged
from equipoise.live.log.archive import reading_archive
from equipoise.live.log.checking import Walk, broken
from equipoise.live.log.entries import moment
from equipoise.live.log.receipts import Receipt
from equipoise.live.log.undisturbed import undisturbed, undisturbed_rows
from equipoise.live.stores.names import full_name
from equipoise.live.stores.opening import open_store
from equipoise.live.stores.store import Head, Row, Store
from equipoise.words import counted


@dataclass(frozen=True, slots=True)
class Verification:
    """A log in which nothing is missing, exchanged or changed."""

    name: str
    mode: str
    rows: int
    """Rows of the log, all of which were checked."""
    units: int
    """Units assigned."""
    decided: int | None
    """Decisions made anew, all of which came out as recorded; None: not asked for."""
    undecided: int
    """Decisions that cannot be made anew: of units that were redacted later, and of others until their
    redaction. 0 where decisions were not asked for."""
    incomparable: int
    """Decisions that were made with other numerics than this library's, so that bits are not the same."""
    redacted: int
    """Rows whose payload was erased by a redaction that is in the log."""
    redacted_units: int
    """Units whose data were erased, however many rows told of them."""
    restored: tuple[int, ...]
    """Rows at which the log was restored from a backup."""
    began: datetime
    ended: datetime
    """Times of the first and of the last row."""
    versions: tuple[str, ...]
    """Of the libraries that wrote it."""
    numerics: tuple[int, ...]
    """``eq.NUMERICS`` of those libraries."""
    head: Receipt
    """Of the last row: who keeps it can show later that nothing before it was changed."""
    receipt: Receipt | None
    """The receipt that was found in the log, if one was to be looked for."""

    def __str__(self) -> str:
        size = f"{counted(self.rows, 'row')}, {counted(self.units, 'unit')}"
        lines = [f"{self.name}: {size}, chain sound up to {self.head}"]
        if self.decided is not None:
            all_so = ": all as recorded" if self.decided else ""
            lines.append(f"{counted(self.decided, 'decision')} made anew{all_so}")
        if self.incomparable:
            written = ", ".join(str(number) for number in self.numerics if number != NUMERICS)
            lines.append(
                f"{counted(self.incomparable, 'decision')} not compared: made with numerics {written}, and "
                f"these are {NUMERICS}; a version of equipoise with those numerics can"
            )
        if self.undecided:
            lines.append(f"{counted(self.undecided, 'decision')} not verifiable: redacted")
        if self.redacted:
            units = counted(self.redacted_units, "unit")
            lines.append(f"{units} redacted, {counted(self.redacted, 'row')} erased")
        if self.restored:
            rows = ", ".join(map(str, self.restored))
            lines.append(f"restored from a backup at row {rows}")
        if self.receipt is not None:
            lines.append(f"receipt of row {self.receipt.sequence}: in the log")
        return "\n".join(lines)


def verify_experiment(
    *, store: str | Store, name: str, receipt: Receipt | str | None = None, decisions: bool = True
) -> Verification:
    """Verify the log of an experiment: also of one that does not open.

    ChainBroken names the first row that is missing, exchanged or changed; ReplayMismatch the first decision
    that comes out otherwise, with both scores; ReceiptUnknown says why a receipt is not in the log.

    Parameters
    ----------
    store, name
        Where the experiment is.
    receipt
        Of a call that must be in the log.
    decisions
        Whether every decision is made anew, too.
    """
    name = full_name(name)
    if isinstance(store, Store):

        def verify(head: Head) -> Verification:
            rows = undisturbed_rows(store, name, head.sequence, _readable(store, name, head.sequence))
            return verify_rows(name, rows, (head.sequence, head.hash), receipt, decisions, head)

        return undisturbed(store, name, verify)
    with open_store(store) as opened:
        return verify_experiment(store=opened, name=name, receipt=receipt, decisions=decisions)


def _readable(store: Store, name: str, upto: int) -> Iterator[Row]:
    """The rows of a log: also those before one that cannot be read, whatever the store reads at once."""
    sequence = 0
    try:
        for row in store.read(name, upto=upto):
            sequence = row.sequence
            yield row
    except StoreDamaged:
        while True:
            try:
                row = next(store.read(name, sequence, sequence + 1))
            except StoreDamaged as error:
                raise broken(name, sequence + 1, error.message) from error
            sequence += 1
            yield row


def verify_archive(
    path: str | Path, *, receipt: Receipt | str | None = None, decisions: bool = True
) -> Verification:
    """Verify an archive as :func:`verify_experiment` does a stored experiment."""
    with reading_archive(path) as (head, rows):
        return verify_rows(head.name, rows, (head.sequence, head.hash), receipt, decisions)


def verify_rows(
    name: str,
    rows: Iterable[Row],
    end: tuple[int, bytes],
    receipt: Receipt | str | None,
    decisions: bool,
    head: Head | None = None,
) -> Verification:
    """Verify rows, which should end with a certain one, and a head that should say what they do."""
    wanted = None if receipt is None else Receipt.of(receipt)
    if wanted is not None and full_name(wanted.name) != name:
        raise ReceiptUnknown(
            f"the receipt is of {wanted.name!r}, not of {name!r}", hint="look in that experiment's log"
        )
    course = _Course(name, rows, end, wanted)
    if decisions:
        try:
            Experiment.replay(course.events(), verify=True, details=False)
        except ReplayMismatch:
            course.finish()  # a broken chain says more
            raise
        except PolicyNotAtHand as error:
            course.finish()
            raise PolicyNotAtHand(
                f"the chain is sound, and decisions cannot be made anew: {error.message}",
                hint="import it as it was, with equipoise.import_policies(…) or --import; or verify the "
                "chain alone, with decisions=False or --no-decisions",
            ) from error
    course.finish()
    walk = course.walk
    if head is not None:
        _check_head(head, walk, course.began)
    undecided, incomparable = course.undecided()
    return Verification(
        name=name,
        mode=walk.mode,
        rows=walk.sequence,
        units=len(course.asked),
        decided=len(course.asked) - undecided - incomparable if decisions else None,
        undecided=undecided if decisions else 0,
        incomparable=incomparable if decisions else 0,
        redacted=len(walk.erased),
        redacted_units=len(set(course.asked) & set(walk.erased)),
        restored=tuple(epoch.sequence for epoch in walk.restored),
        began=moment(course.began),
        ended=moment(walk.time),
        versions=tuple(dict.fromkeys(version for version, _ in walk.writers)),
        numerics=tuple(dict.fromkeys(numerics for _, numerics in walk.writers)),
        head=walk.end,
        receipt=wanted,
    )


class _Course:
    """A walk over rows, once, that looks for a receipt on the way."""

    def __init__(
        self, name: str, rows: Iterable[Row], end: tuple[int, bytes], receipt: Receipt | None
    ) -> None:
        self.walk = Walk(name)
        self.asked = array("q")
        """Rows that tell of units."""
        self.began = 0
        self._foreign: set[int] = set()
        self._receipt = receipt
        self._found = False
        self._end = end
        self._steps = self.walk.over(rows)

    def events(self) -> Iterator[dict[str, Any]]:
        """Events of the rows that have not been looked at."""
        for row, header, event in self._steps:
            self.began = self.began or row.time
            foreign = header["numerics"] != NUMERICS
            if header["kind"] in ASKED:
                self.asked.append(row.sequence)
                if foreign:
                    self._foreign.add(row.sequence)
            if self._receipt is not None and row.sequence == self._receipt.sequence:
                self._found = row.hash == self._receipt.hash
            if event is None:
                yield {"kind": header["kind"]}
            else:
                yield {**_without_live(event), **({"numerics": header["numerics"]} if foreign else {})}

    def undecided(self) -> tuple[int, int]:
        """Units asked for while sums lacked what was redacted later; others, by other numerics."""
        gaps = {number: self.walk.redacted[number] for number in self.walk.erased}
        count, others, until = 0, 0, 0
        for number in self.asked:
            until = max(until, gaps.get(number, 0))
            count += number < until
            others += number >= until and number in self._foreign
        return count, others

    def finish(self) -> None:
        """Go on to the end, and compare it with what it should be."""
        for _ in self.events():
            pass
        self.walk.finish(*self._end)
        if self._receipt is not None and not self._found:
            raise _unknown(self._receipt, self.walk)


def _check_head(head: Head, walk: Walk, began: int) -> None:
    """Compare what a store says of a log beside its end with the rows, which say it, too."""
    told = {
        "mode": (head.mode, walk.mode),
        "epoch": (head.epoch, walk.epoch),
        "time of the first row": (head.created, began),
        "time of the last row": (head.updated, walk.time),
    }
    for what, (said, is_so) in told.items():
        if said != is_so:
            raise broken(
                walk.name, walk.sequence, f"the {what} is {said} by the head, and {is_so} by the rows"
            )


def _without_live(event: dict[str, Any]) -> dict[str, Any]:
    event.pop("live", None)
    return event


def _unknown(receipt: Receipt, walk: Walk) -> ReceiptUnknown:
    """Why a receipt is not in a log."""
    for epoch in walk.restored:
        if epoch.epoch > receipt.epoch and receipt.sequence >= epoch.sequence:
            return ReceiptUnknown(
                f"this receipt is newer than the restored log: row {receipt.sequence} of epoch "
                f"{receipt.epoch} was written after the backup from which the log was restored, at row "
                f"{epoch.sequence}",
                hint="the call is no longer in the log, and must be made again",
            )
        if epoch.epoch == receipt.epoch and epoch.line != receipt.line:
            return ReceiptUnknown(
                f"this receipt is of another restoration: epoch {receipt.epoch} of this log is "
                f"{epoch.epoch}-{epoch.line}, begun at row {epoch.sequence}, and the receipt is of "
                f"{receipt.epoch}-{receipt.line}",
                hint="a backup was restored twice; look in the other log, and let only one of them go on",
            )
    if receipt.epoch > walk.epoch:
        return ReceiptUnknown(
            f"the receipt is of epoch {receipt.epoch}, and the log has come to epoch {walk.epoch}",
            hint="this is a copy from before the last restoration; look for a newer one",
        )
    if receipt.sequence > walk.sequence:
        return ReceiptUnknown(
            f"the receipt is of row {receipt.sequence}, and the log has {counted(walk.sequence, 'row')}",
            hint="its end was cut off, or this is an older copy; look for a newer one",
        )
    return ReceiptUnknown(
        f"row {receipt.sequence} of the log has another hash than the receipt",
        hint="this is another log under the same name, or one that was written anew",
    )
