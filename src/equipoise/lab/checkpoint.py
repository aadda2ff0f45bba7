"""Checkpoints: finished chunks in a folder, so that an interrupted run can go on.

A chunk is written under another name and then renamed, so a file that exists is whole, whatever
stopped the program. The manifest says what the chunks belong to; anything else is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import CheckpointMismatch, OutputNotWritable
from equipoise.lab.scenario import Scenario
from equipoise.lab.trials import Ledger

_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Checkpoint:
    """Chunks of one simulation in one folder."""

    folder: Path

    def read(self, policy: int, first: int, trials: int) -> tuple[Ledger, float] | None:
        """A finished chunk, or None."""
        path = self._path(policy, first)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as archive:
            ledger = Ledger(*(archive[name] for name in Ledger._fields))
            if len(ledger.errors) != trials:
                raise CheckpointMismatch(
                    f"{path.name} in {self.folder} holds {len(ledger.errors)} trials instead of {trials}",
                    hint="use another folder",
                )
            return ledger, float(archive["seconds"])

    def write(self, policy: int, first: int, outcome: tuple[Ledger, float]) -> None:
        """Keep a finished chunk."""
        ledger, seconds = outcome
        path = self._path(policy, first)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, seconds=np.array(seconds), **ledger._asdict())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def _path(self, policy: int, first: int) -> Path:
        return self.folder / f"policy-{policy}-trial-{first}.npz"


def open_checkpoint(
    folder: str | Path | None, scenario: Scenario, policies: Mapping[str, str], trials: int, seed: int
) -> Checkpoint | None:
    """The checkpoint in ``folder``, made if it is new; None without a folder."""
    if folder is None:
        return None
    from equipoise import __version__

    manifest: dict[str, Any] = {
        "version": __version__,
        "seed": seed,
        "trials": trials,
        "scenario": scenario.to_dict(),
        "policies": dict(policies),
    }
    folder = Path(folder)
    path = folder / _MANIFEST
    if path.exists():
        _compare(path, manifest)
        return Checkpoint(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(manifest, indent=2))
        partial.replace(path)
    except OSError as error:
        raise OutputNotWritable(
            f"cannot keep a checkpoint in {folder}: {error.strerror or error}", hint="choose another folder"
        ) from None
    return Checkpoint(folder)


def _compare(path: Path, manifest: Mapping[str, Any]) -> None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        raise CheckpointMismatch(
            f"{path} is not a checkpoint's manifest", hint="use another folder"
        ) from None
    for name, expected in json.loads(json.dumps(manifest)).items():
        if found.get(name) != expected:
            raise CheckpointMismatch(
                f"the checkpoint in {path.parent} belongs to another {name}: {found.get(name)!r} instead of "
                f"{expected!r}",
                hint="use another folder, or delete that one",
            )
