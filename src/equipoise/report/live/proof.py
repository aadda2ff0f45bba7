"""How anybody can check that this report is of that log, and that nobody has changed the log."""

from __future__ import annotations

import shlex

from equipoise.report.document import Block, Code, Table, Text
from equipoise.report.live.deviations import when
from equipoise.report.live.history import Entry, History


def proof_blocks(history: History) -> list[Block]:
    """The newest entry of the chain, and the command that checks it."""
    if not history.logged:
        return [
            Text(
                "There is no log: this experiment lives in memory, and nobody can check afterwards what was "
                'asked and told. eq.create_experiment(store="sqlite:///trial.db", …) keeps a log that can.'
            )
        ]
    first, last = history.entries[0], history.entries[-1]
    erased = sum(entry.event is None for entry in history.entries)
    rows = [
        ["entries", f"{len(history.entries):,}"],
        ["first", f"{when(first.time)} UTC"],
        ["newest", f"{when(last.time)} UTC"],
        ["written by", "; then ".join(history.versions) or "–"],
        ["erased", str(erased)],
    ]
    if history.name is not None:
        rows.insert(0, ["experiment", history.name])
    if history.mode is not None:
        rows.insert(1, ["mode", history.mode])
    blocks: list[Block] = [
        Text(
            "Every entry of the log has a hash that covers the entry before it, so no entry can be changed, "
            "removed or put in between without breaking all that follow. The receipt below is the newest "
            "entry that this report has seen; whoever keeps it can prove later that the log still holds "
            "everything up to it."
        ),
        Table(["log", ""], rows, text_columns=2),
    ]
    if history.head is not None:
        blocks.append(Code(history.head, "Receipt:"))
    if history.name is not None:
        lines = [f"equipoise verify {shlex.quote(history.name)}"]
        lines += [] if history.store is None else [f"--store {shlex.quote(history.store)}"]
        lines += [] if history.head is None else [f"--receipt {shlex.quote(history.head)}"]
        lines += ["--import FILE.py"] if _is_own(first) else []
        caption = "To check the chain and the receipt, and to decide every unit anew from the log alone:"
        if erased:
            caption = (
                "To check the chain and the receipt, and to decide anew, from the log alone, every unit "
                "whose decision does not rest on data that were erased; verify says how many:"
            )
        blocks.append(Code(" \\\n  ".join(lines), caption))
    return blocks


def _is_own(created: Entry) -> bool:
    """Whether the rule is one of the experimenter's own, which must be brought along."""
    return created.event is not None and created.event.get("source") is not None
