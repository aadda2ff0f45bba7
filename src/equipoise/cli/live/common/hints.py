"""What to do about an error, in the words of a shell: the library's own hints name methods of Python."""

from __future__ import annotations

from equipoise.errors import (
    AssignmentNotFound,
    EquipoiseError,
    ErasureUnfinished,
    NotRedactable,
    OutcomeConflict,
    ReasonMissing,
)


def in_shell_words(error: EquipoiseError, name: str) -> None:
    """Replace the hint where it names a method; ``name`` is the experiment as it was typed."""
    if isinstance(error, AssignmentNotFound):
        error.hint = f"'equipoise units {name}' lists the keys; --id is for numbers"
    elif isinstance(error, OutcomeConflict):
        error.hint = f"to replace it: equipoise correct {name} UNIT VALUE --reason TEXT"
    elif isinstance(error, ReasonMissing):
        error.hint = 'say why, for the log: --reason "…"'
    elif isinstance(error, ErasureUnfinished):
        again = f"equipoise redact {name} {error.unit} --id --reason TEXT"
        error.hint = f"when nobody else reads the store: {again}"
    elif isinstance(error, NotRedactable):
        ways = "'equipoise lose' or 'withdraw'" if "lose(" in (error.hint or "") else "'equipoise withdraw'"
        error.hint = f"first {ways}, then 'equipoise redact'"
