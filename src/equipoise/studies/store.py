"""What is finished, in a folder, so that a run goes on where it stopped and can be extended.

Trials of policies lie in a folder a point, as :mod:`equipoise.lab.running.checkpoint` keeps them: more
trials, policies or points only add to them. Other measurements are records, a file each. Both are named
after all that their numbers depend on: other settings never meet them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.files import make_folder, write_whole
from equipoise.lab.arena import Setting
from equipoise.version import __version__


@dataclass(frozen=True)
class Store:
    """Trials and records by what they depend on; without a folder nothing is kept."""

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
        """Keep a finished record."""
        if self.folder is None:
            return
        path = self._path(self.folder, identity)
        text = json.dumps({"identity": identity, "record": record, "digest": _digest(record)})
        write_whole(path, text)

    def trials(self, scenario: Setting, seed: int) -> Path | None:
        """Where trials in a scenario are kept, whatever the policies and however many."""
        if self.folder is None:
            return None
        identity = {
            "numerics": NUMERICS,
            "version": __version__,
            "seed": seed,
            "scenario": scenario.to_dict(),
        }
        return self.folder / f"d{scenario.dim}-n{scenario.units}-{_digest(identity)[:16]}"

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
