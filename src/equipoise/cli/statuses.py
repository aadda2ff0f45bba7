"""What commands end with: a number that a script can tell apart, see docs/command-line.md."""

from __future__ import annotations

from equipoise.errors import (
    ArchiveDamaged,
    BudgetExhausted,
    ChainBroken,
    EquipoiseError,
    ErasureUnfinished,
    ExperimentPaused,
    OutcomeConflict,
    OutputFull,
    OutputReadOnly,
    ReceiptUnknown,
    ReplayMismatch,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    UnitConflict,
)

WRONG_INPUT = 2
TRY_AGAIN = 3
NOT_PROVEN = 4
NO_MORE_UNITS = 5
OTHER_VALUE = 6
NO_SPACE = 7
READ_ONLY = 8
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

_STATUSES: dict[int, tuple[type[EquipoiseError], ...]] = {
    TRY_AGAIN: (StoreBusy, StoreUnavailable, ErasureUnfinished),
    NOT_PROVEN: (ChainBroken, ReplayMismatch, ReceiptUnknown, StoreDamaged, ArchiveDamaged),
    NO_MORE_UNITS: (BudgetExhausted, ExperimentPaused),
    OTHER_VALUE: (UnitConflict, OutcomeConflict),
    NO_SPACE: (StoreFull, OutputFull),
    READ_ONLY: (StoreReadOnly, OutputReadOnly),
}


def status_of(error: EquipoiseError) -> int:
    """The status that goes with an error; 2, wrong input, unless a script needs to know better."""
    return next((status for status, kinds in _STATUSES.items() if isinstance(error, kinds)), WRONG_INPUT)
