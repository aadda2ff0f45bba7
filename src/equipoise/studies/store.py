"""Finished points in a folder, so that an interrupted run goes on where it stopped.

A file is named after everything its numbers depend on: other settings never meet it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.files import make_folder, write_whole


@dataclass(frozen=True)
class Store:
    """Records by what they depend on; without a folder nothing is kept."""

    folder: Path | None

    def read(self, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """A finished record, or None."""
        if self.folder is None:
            return None
        try:
            kept = json.loads(self._path(self.folder, identity).read_text())
            record: dict[str, Any] = kept["record"]
            whole = kept["identity"] == _plain(identity) and kept["digest"] == _digest(record)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return record if whole else None

    def write(self, identity: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Keep a finished record and drop the chunks that it was made of."""
        if self.folder is None:
            return
        path = self._path(self.folder, identity)
        text = json.dumps({"identity": identity, "record": record, "digest": _digest(record)})
        write_whole(path, text)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)

    def chunks(self, identity: Mapping[str, Any]) -> Path | None:
        """Where the chunks of an unfinished record go."""
        return None if self.folder is None else self._path(self.folder, identity).with_suffix("")

    def _path(self, folder: Path, identity: Mapping[str, Any]) -> Path:
        return folder / f"{identity['name']}-{_digest(identity)[:16]}.json"


def open_folder(folder: Path, *, option: str) -> Path:
    """Make the folder if it is new and try to write there; an error before any work."""
    return make_folder(folder, hint=f"choose another directory with {option} DIR")


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(_plain(values), sort_keys=True).encode()).hexdigest()


def _plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    # As it reads back: tuples become lists.
    plain: dict[str, Any] = json.loads(json.dumps(identity))
    return plain
