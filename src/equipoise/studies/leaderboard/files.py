"""The files of a leaderboard: tables, JSON and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from equipoise.files import write_whole
from equipoise.studies.leaderboard.bar import bar_record
from equipoise.studies.leaderboard.drawing import draw_leaderboard
from equipoise.studies.leaderboard.markdown import bar_table, leaderboard_tables
from equipoise.studies.leaderboard.record import Leaderboard
from equipoise.studies.store import open_folder


def write_leaderboard(board: Leaderboard, folder: str | Path) -> list[Path]:
    """``leaderboard.md``, ``.json``, ``.svg`` and ``.png``; returns their paths."""
    folder = open_folder(Path(folder), option="--output")
    draw_leaderboard(board, folder)
    written = _write(folder, "leaderboard", leaderboard_tables(board), board.record())
    return [*written, folder / "leaderboard.svg", folder / "leaderboard.png"]


def write_bar(board: Leaderboard, folder: str | Path) -> list[Path]:
    """``bar.md`` and ``bar.json``; returns their paths."""
    return _write(open_folder(Path(folder), option="--output"), "bar", bar_table(board), bar_record(board))


def _write(folder: Path, name: str, table: str, record: dict[str, Any]) -> list[Path]:
    paths = [folder / f"{name}.md", folder / f"{name}.json"]
    write_whole(paths[0], table)
    write_whole(paths[1], json.dumps(record, indent=2, allow_nan=False) + "\n")
    return paths
