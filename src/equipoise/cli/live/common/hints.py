"""What to do about an error, in the words of a shell: the library's own hints name methods of Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    BudgetExhausted,
    BudgetTooSmall,
    EquipoiseError,
    ErasureUnfinished,
    ExperimentExists,
    ExperimentPaused,
    InvalidArgument,
    NoArmLeft,
    NotRedactable,
    OutcomeConflict,
    ReasonMissing,
    UnitConflict,
)


def in_shell_words(error: EquipoiseError, name: str) -> None:
    """Replace the hint where it names a method; ``name`` is the experiment as it was typed."""
    if isinstance(error, AssignmentNotFound):
        error.hint = f"'equipoise units {name}' lists the keys; --id is for numbers"
    elif isinstance(error, OutcomeConflict):
        error.hint = f"to replace it: equipoise correct {name} UNIT VALUE --reason TEXT"
    elif isinstance(error, NoArmLeft):
        error.hint = f"'equipoise reopen-arm {name} ARM' or 'add-arm' first, or another arm"
    elif isinstance(error, BudgetExhausted):
        error.hint = f"'equipoise budget {name} N' makes it larger; 'equipoise report {name}' sums it up"
    elif isinstance(error, ExperimentPaused):
        error.hint = f"first 'equipoise resume {name}'"
    elif isinstance(error, AssignmentClosed) and "call withdraw(" in (error.hint or ""):
        error.hint = f"to remove it altogether: equipoise withdraw {name} UNIT --reason TEXT"
    elif isinstance(error, UnitConflict) and "received(" in (error.hint or ""):
        error.hint = f"if it got another arm: equipoise received {name} UNIT ARM --reason TEXT"
    elif isinstance(error, BudgetTooSmall) and "pause()" in (error.hint or ""):
        error.hint = "type a larger one; 'equipoise pause' or 'close-arm' stop an experiment early"
    elif isinstance(error, BudgetTooSmall) and "close_arm()" in (error.hint or ""):
        close = f"'equipoise close-arm {name} ARM' another that is still to get units"
        error.hint = f"{close}, or 'equipoise budget {name} N'"
    elif isinstance(error, InvalidArgument) and "timedelta(" in (error.hint or ""):
        older = f"equipoise expire {name} --older-than 30d --reason TEXT --dry-run"
        error.hint = f"'{older}' lists units that wait for longer than that"
    elif isinstance(error, ReasonMissing):
        error.hint = 'say why, for the log: --reason "…"'
    elif isinstance(error, ErasureUnfinished):
        again = f"equipoise redact {name} {error.unit} --id --reason TEXT"
        error.hint = f"when nobody else reads the store: {again}"
    elif isinstance(error, NotRedactable):
        ways = "'equipoise lose' or 'withdraw'" if "lose(" in (error.hint or "") else "'equipoise withdraw'"
        error.hint = f"first {ways}, then 'equipoise redact'"


@contextlib.contextmanager
def taken_names(hint: str) -> Iterator[None]:
    """Where an experiment begins: what to do if there is one of that name."""
    try:
        yield
    except ExperimentExists as error:
        error.hint = hint
        raise
