"""Checkpoints: finished chunks in a folder, so that an interrupted run can go on.

A chunk that exists is whole, whatever stopped the program; one that is damaged later is run again.
The manifest says what the chunks belong to; anything else is refused.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from equipoise.core.policy import registered_policies
from equipoise.errors import CheckpointMismatch
from equipoise.files import not_writable, write_whole
from equipoise.lab.arena import Setting
from equipoise.lab.trials import Ledger
from equipoise.lab.unpacking import read_npz

_MANIFEST = "manifest.json"
_ELSEWHERE = "choose another folder; chunks that are there already are kept"
# What a policy that chooses features is made of.
_STAGES = ("first", "second", "screening", "reserve", "known_columns", "shown", "recover", "fit")


@dataclass(frozen=True)
class Checkpoint:
    """Chunks of one simulation in one folder."""

    folder: Path

    def read(self, policy: int, first: int, trials: int) -> tuple[Ledger, float] | None:
        """A finished chunk; None if there is none, or none that can be used."""
        try:
            with self._path(policy, first).open("rb") as file:
                arrays = read_npz(file)
            ledger = Ledger(*(arrays[name] for name in Ledger._fields))
            seconds = float(arrays["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        whole = all(part.ndim == 2 and len(part) == trials for part in ledger)
        return (ledger, seconds) if whole else None

    def write(self, policy: int, first: int, outcome: tuple[Ledger, float]) -> None:
        """Keep a finished chunk."""
        ledger, seconds = outcome

        def save(file: BinaryIO) -> None:
            np.savez(file, seconds=np.array(seconds), **ledger._asdict())

        write_whole(self._path(policy, first), save, hint=_ELSEWHERE)

    def _path(self, policy: int, first: int) -> Path:
        return self.folder / f"policy-{policy}-trial-{first}.npz"


def open_checkpoint(
    folder: str | Path | None, scenario: Setting, policies: Mapping[str, str], trials: int, seed: int
) -> Checkpoint | None:
    """The checkpoint in ``folder``, made if it is new; None without a folder.

    ``policies`` maps names to text forms.
    """
    if folder is None:
        return None
    from equipoise import __version__

    manifest: dict[str, Any] = {
        "version": __version__,
        "seed": int(seed),
        "trials": int(trials),
        "scenario": scenario.to_dict(),
        # A list, as chunks are numbered by the order of the policies.
        "policies": [[name, spec, policy_fingerprint(spec)] for name, spec in policies.items()],
    }
    folder = Path(folder)
    path = folder / _MANIFEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise not_writable(folder, error, _ELSEWHERE) from None
    if found is not None:
        _compare(path, found, manifest)
    # Written in any case, to find out before any work whether that can be done.
    write_whole(path, json.dumps(manifest, indent=2), hint=_ELSEWHERE)
    return Checkpoint(folder)


def _compare(path: Path, found: bytes, manifest: Mapping[str, Any]) -> None:
    try:
        values = json.loads(found)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise CheckpointMismatch(f"{path} is not a checkpoint's manifest", hint="use another folder")
    for name, expected in json.loads(json.dumps(manifest)).items():
        if values.get(name) != expected:
            raise CheckpointMismatch(
                f"the checkpoint in {path.parent} belongs to another {name}: "
                f"{_shown(values.get(name))} instead of {_shown(expected)}",
                hint="use another folder, or delete that one",
            )


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "something nested deeply"


def policy_fingerprint(spec: str) -> str:
    """Changes with the code of a policy, which may be the user's own and half done."""
    policy = registered_policies()[spec.partition(":")[0]]
    digest = hashlib.blake2b(digest_size=8)
    stages = _STAGES if policy.staged else ()
    for function in (policy.score, policy.settings, *(getattr(policy, name) for name in stages)):
        try:
            digest.update(inspect.getsource(function).encode())
        except (OSError, TypeError):  # typed into an interpreter
            code = function.__code__
            numbers = [value for value in code.co_consts if isinstance(value, int | float)]
            digest.update(code.co_code + repr((numbers, code.co_names)).encode())
    return digest.hexdigest()
