"""Columns as one matrix of numbers: text as columns of 0 and 1, dates as days, gaps dropped or filled."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.errors import InvalidTable
from equipoise.lab.replay.reading import dates
from equipoise.lab.replay.reading.doubts import doubt_category, doubt_text
from equipoise.lab.replay.reading.options import FILLING, Roles
from equipoise.lab.replay.reading.sources import Column, Source

# A text column with more different values than this is a name or an identifier, not a category.
MOST_CATEGORIES = 1_000
NUMBERS, TEXT, DATES, LENGTHS = "numbers", "text", "dates", "lengths of time"


@dataclass(frozen=True)
class Cells:
    """What a reader found: numbers without gaps, in the order of the table."""

    contexts: Matrix
    targets: Matrix
    context_names: tuple[str, ...]
    dropped: int
    filled: int
    notes: tuple[str, ...]
    group: Vector | None = None  # a number a group
    order: Vector | None = None


@dataclass(frozen=True)
class _Place:
    """Where the features of a context go."""

    name: str
    start: int
    features: tuple[str, ...]
    gaps: int


@dataclass
class Reader:
    """Blocks of columns in, one matrix out; rows that miss what cannot be filled are left out on the way."""

    source: Source
    roles: Roles
    missing: str = "drop"
    one_hot: bool = False
    decimal: str = "."
    date_format: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    codes: dict[str, dict[str, int]] = field(default_factory=dict)  # text → number, as they appear
    dropped: int = 0
    read: int = 0

    def __post_init__(self) -> None:
        dates.check_format(self.date_format)
        self.names = self.roles.columns
        self.gaps = np.zeros(len(self.names), np.int64)
        # Cells that may be filled: those of columns that are contexts and nothing else.
        self._needed = {*self.roles.targets, self.roles.group, self.roles.order}
        filling = self.missing in FILLING
        self.fillable = np.array([filling and name not in self._needed for name in self.names])

    def cells(self) -> Cells:
        """Read everything."""
        blocks = [self._block(columns) for columns in self.source.blocks(self.names)]
        self._check_gaps()
        rows = sum(map(len, blocks))
        self._check_rows(rows)
        for name, known in self.codes.items():
            if name in self.roles.contexts:
                doubt_category(name, len(known), rows, MOST_CATEGORIES)
        return self._finished(blocks, rows)

    # Blocks

    def _block(self, columns: list[Column]) -> Matrix:
        self._refuse_text(columns)
        numbers = [self._numbers(name, column) for name, column in zip(self.names, columns, strict=True)]
        block = np.column_stack(numbers)
        present = np.isfinite(block)
        self.gaps += np.count_nonzero(~present, axis=0)
        self.read += len(block)
        whole = np.asarray((present | self.fillable).all(axis=1))
        if whole.all():
            return block
        self.dropped += int(np.count_nonzero(~whole))
        return block[whole]

    def _numbers(self, name: str, column: Column) -> Column:
        """Numbers as they are, dates as days, text as the number of its value."""
        present = column != None if column.dtype == object else column == column  # noqa: E711
        if not np.any(present):
            return np.full(len(column), np.nan)
        kind = kind_of(column[present], self.date_format)
        if self.kinds.setdefault(name, kind) != kind:
            both = " and ".join(sorted({self.kinds[name], kind}))
            raise InvalidTable(
                f"column {name!r} mixes {both}", hint="write one kind throughout, or leave it out"
            )
        if kind == NUMBERS:
            return column
        if name in self.roles.targets:
            raise InvalidTable(
                f"target {name!r} holds {kind}, not numbers",
                hint="make it a number that means something, such as days until an event",
            )
        if kind == TEXT:
            known = self.codes.setdefault(name, {})
            return np.array(
                [np.nan if cell is None else known.setdefault(cell, len(known)) for cell in column]
            )
        if column.dtype == object:
            moments = np.full(len(column), np.datetime64("NaT"), "M8[us]")
            moments[present] = dates.parse_dates(name, column[present], self.date_format)
            column = moments
        return dates.days(column)

    def _refuse_text(self, columns: list[Column]) -> None:
        refused = []
        for name, column in zip(self.names, columns, strict=True):
            if column.dtype != object or (name == self.roles.group and name not in self.roles.contexts):
                continue
            cells = column[column != None]  # noqa: E711
            if not len(cells) or kind_of(cells, self.date_format) != TEXT:
                continue
            doubt_text(name, set(cells), self.decimal)
            if name == self.roles.order:
                raise InvalidTable(
                    f"column {name!r} holds text, and rows cannot be put in its order",
                    hint="give a column of numbers or dates",
                )
            if not self.one_hot or name in self.roles.targets:
                refused.append(name)
        if not refused:
            return
        named = ", ".join(map(repr, refused[:8])) + (
            f" and {len(refused) - 8} more" if len(refused) > 8 else ""
        )
        one = len(refused) == 1
        hint = f"leave such columns out (--exclude {shlex.quote(','.join(refused[:8]))})"
        if refused[0] not in self.roles.targets and not self.one_hot:
            hint += ", or let one-hot make a column of 0 and 1 of every value (--one-hot)"
        raise InvalidTable(
            f"column{'' if one else 's'} {named} hold{'s' if one else ''} text, not numbers", hint=hint
        )

    # Everything read

    def _check_gaps(self) -> None:
        if self.missing == "refuse" and self.dropped:
            worst = int(np.argmax(self.gaps))
            raise InvalidTable(
                f"{self.dropped} of {self.read} rows miss a value, most often in column "
                f"{self.names[worst]!r} ({self.gaps[worst]} times)",
                hint="fill gaps in contexts (--missing mean, median or indicator), leave the column out "
                "(--exclude), or let such rows be dropped (--missing drop)",
            )

    def _check_rows(self, rows: int) -> None:
        if rows < 2 and self.dropped:
            worst = self.names[int(np.argmax(self.gaps))]
            raise InvalidTable(
                f"{self.source.name} has {rows} complete rows: {self.dropped} of {self.read} miss a value, "
                f"most often in column {worst!r} ({self.gaps.max()} times)",
                hint=f"leave the column out (--exclude {shlex.quote(worst)}), or fill gaps in contexts "
                "(--missing mean)",
            )

    def _finished(self, blocks: list[Matrix], rows: int) -> Cells:
        layout = self._layout(blocks)
        contexts = np.empty((rows, sum(len(column.features) for column in layout)))
        rest = [name for name in self.names if name in self._needed]
        others = np.empty((rows, len(rest)))
        places = [self.names.index(name) for name in rest]
        first = 0
        blocks.reverse()
        while blocks:  # each is let go as soon as it is copied, so that the table is held once
            block = blocks.pop()
            part = slice(first, first + len(block))
            others[part] = block[:, places]
            for column in layout:
                contexts[part, column.start] = block[:, self.names.index(column.name)]
            first += len(block)
        notes = [*self.source.notes, *self._dropped_note(), *self._numbering(contexts, layout)]
        for column in layout:
            notes += self._write(column, contexts)
        apart = {name: others[:, place].copy() for place, name in enumerate(rest)}
        return Cells(
            contexts,
            np.column_stack([apart[name] for name in self.roles.targets]),
            tuple(feature for column in layout for feature in column.features),
            self.dropped,
            sum(column.gaps for column in layout),
            tuple(notes),
            None if self.roles.group is None else apart[self.roles.group],
            None if self.roles.order is None else apart[self.roles.order],
        )

    def _layout(self, blocks: list[Matrix]) -> list[_Place]:
        """Where the features of every context go."""
        found, start = [], 0
        for name in self.roles.contexts:
            place = self.names.index(name)
            gaps = sum(int(np.count_nonzero(~np.isfinite(block[:, place]))) for block in blocks)
            text = self.kinds.get(name) == TEXT
            features = [f"{name}={word}" for word in sorted(self.codes[name])] if text else [name]
            if gaps and (text or self.missing == "indicator"):
                features.append(f"{name}=(missing)" if text else f"{name} (missing)")
            found.append(_Place(name, start, tuple(features), gaps))
            start += len(features)
        return found

    def _write(self, place: _Place, contexts: Matrix) -> list[str]:
        """Spread text and fill gaps, in place; what was done, in sentences."""
        notes = []
        name, kind = place.name, self.kinds.get(place.name, NUMBERS)
        column = contexts[:, place.start].copy() if len(place.features) > 1 else contexts[:, place.start]
        gaps = ~np.isfinite(column)
        if kind == TEXT:
            words = sorted(self.codes[name])
            notes.append(f"{name} is text: a column of 0 and 1 for each of its {len(words)} values.")
            for step, word in enumerate(words):
                contexts[:, place.start + step] = column == self.codes[name][word]
        else:
            if kind != NUMBERS:
                notes.append(f"{name} holds {kind}, counted in {dates.RULE if kind == DATES else 'days'}.")
            if place.gaps:
                value, note = self._filling(name, column[~gaps], place.gaps)
                contexts[gaps, place.start] = value
                notes.append(note)
        if place.gaps and len(place.features) > 1:
            contexts[:, place.start + len(place.features) - 1] = gaps
            notes.append(f"{name}: {_cells(place.gaps)} a column of 0 and 1, {place.features[-1]!r}.")
        return notes

    def _filling(self, name: str, present: Vector, gaps: int) -> tuple[float, str]:
        if not len(present):
            raise InvalidTable(
                f"column {name!r} is empty", hint=f"leave it out (--exclude {shlex.quote(name)})"
            )
        rule = "median" if self.missing == "median" else "mean"
        # fsum is exact, so every machine fills in the same number.
        value = float(np.median(present)) if rule == "median" else math.fsum(present) / len(present)
        cells = "1 missing cell was" if gaps == 1 else f"{gaps:,} missing cells were"
        return value, f"{name}: {cells} filled with the {rule} of the others, {value:.5g}."

    def _dropped_note(self) -> list[str]:
        if not self.dropped:
            return []
        worst = sorted(zip(-self.gaps, self.names, strict=True))
        counts = [
            f"{name} {-gaps}" for gaps, name in worst if gaps and not self.fillable[self.names.index(name)]
        ]
        named = ", ".join(counts[:6]) + (", …" if len(counts) > 6 else "")
        note = f"{self.dropped:,} of {self.read:,} rows left out, as a value is missing: {named}."
        if self.missing == "drop" and self.dropped > self.read / 5:
            note += " All that follows is about the others; --missing mean, median or indicator would fill "
            note += "gaps in contexts."
        return [note]

    def _numbering(self, contexts: Matrix, layout: list[_Place]) -> list[str]:
        """Contexts that only count the rows, if nobody chose them."""
        if self.roles.chosen or len(contexts) < 3:
            return []
        return [
            f"{column.name} numbers the rows: if that means nothing, leave it out "
            f"(--exclude {shlex.quote(column.name)})."
            for column in layout
            if self.kinds.get(column.name) == NUMBERS and self._counts(contexts[:, column.start])
        ]

    def _counts(self, column: Vector) -> bool:
        """Whether a column counts the rows, those included that were left out."""
        steps = np.diff(column)
        return bool(np.all(steps >= 1.0) and np.all(steps == np.rint(steps)) and steps.sum() < self.read)


def kind_of(present: Column, date_format: str | None) -> str:
    """What the cells of a column are that are not missing."""
    if present.dtype == object:
        # One look saves a million in columns of words.
        is_date = dates.is_dates(list(present[:1]), date_format) and dates.is_dates(
            list(present), date_format
        )
        return DATES if is_date else TEXT
    return {"M": DATES, "m": LENGTHS}.get(present.dtype.kind, NUMBERS)


def _cells(gaps: int) -> str:
    return "its missing cell has" if gaps == 1 else f"its {gaps:,} missing cells have"
