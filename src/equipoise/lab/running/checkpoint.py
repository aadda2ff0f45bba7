"""Checkpoints: finished chunks in a folder, so that an interrupted run can go on.

A chunk that exists is whole, whatever stopped the program; one that is damaged later is run again.
The manifest says what the chunks belong to; anything else is refused. Every chunk says so, too: one that
came from elsewhere is run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.jit.fingerprint import code_fingerprint
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.errors import CheckpointMismatch
from equipoise.files import make_folder, not_writable, write_whole
from equipoise.lab.arena import Setting
from equipoise.lab.trial.ledger import Ledger, new_ledger
from equipoise.unpacking import read_npz
from equipoise.version import __version__

_MANIFEST = "manifest.json"
_ELSEWHERE = "choose another folder; chunks that are there already are kept"


@dataclass(frozen=True)
class Checkpoint:
    """Chunks of one simulation in one folder."""

    folder: Path
    arms: int
    identities: Sequence[Mapping[str, Any]]
    """For every policy, what its chunks belong to."""

    def read(self, policy: int, first: int, trials: int) -> tuple[Ledger, float] | None:
        """A finished chunk; None if there is none, or none that can be used."""
        try:
            with self._path(policy, first).open("rb") as file:
                arrays = read_npz(file)
            if str(arrays["belongs"]) != self._belongs(policy, first, trials):
                return None
            ledger = Ledger(*(arrays[name] for name in Ledger._fields))
            seconds = float(arrays["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        room = zip(ledger, new_ledger(trials, self.arms), strict=True)
        whole = all(part.shape == own.shape and part.dtype == own.dtype for part, own in room)
        return (ledger, seconds) if whole else None

    def write(self, policy: int, first: int, outcome: tuple[Ledger, float]) -> None:
        """Keep a finished chunk."""
        ledger, seconds = outcome
        belongs = self._belongs(policy, first, len(ledger.errors))

        def save(file: BinaryIO) -> None:
            np.savez(file, belongs=np.array(belongs), seconds=np.array(seconds), **ledger._asdict())

        write_whole(self._path(policy, first), save, hint=_ELSEWHERE)

    def _belongs(self, policy: int, first: int, trials: int) -> str:
        return json.dumps({**self.identities[policy], "first": first, "trials": trials}, sort_keys=True)

    def _path(self, policy: int, first: int) -> Path:
        return self.folder / f"policy-{policy}-trial-{first}.npz"


def open_checkpoint(
    folder: str | Path | None, scenario: Setting, policies: Mapping[str, Policy], trials: int, seed: int
) -> Checkpoint | None:
    """The checkpoint in ``folder``, made if it is new; None without a folder."""
    if folder is None:
        return None
    described = scenario.to_dict()
    shared = {"version": __version__, "numerics": NUMERICS, "seed": int(seed)}
    codes = {name: policy_fingerprint(policy) for name, policy in policies.items()}
    manifest: dict[str, Any] = {
        **shared,
        "trials": int(trials),
        "scenario": described,
        # A list, as chunks are numbered by the order of the policies.
        "policies": [[name, policy.spec, codes[name]] for name, policy in policies.items()],
    }
    digest = hashlib.blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=16).hexdigest()
    identities = [
        {**shared, "scenario": digest, "policy": policy.spec, "code": codes[name]}
        for name, policy in policies.items()
    ]
    folder = make_folder(folder, hint=_ELSEWHERE)
    path = folder / _MANIFEST
    if path.exists():
        _compare(path, manifest)
    # Written in any case, to find out before any work whether that can be done.
    write_whole(path, json.dumps(manifest, indent=2), hint=_ELSEWHERE)
    return Checkpoint(folder, len(scenario.arms), identities)


def _compare(path: Path, manifest: Mapping[str, Any]) -> None:
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise not_writable(path, error, _ELSEWHERE) from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise CheckpointMismatch(f"{path} is not a checkpoint's manifest", hint="use another folder")
    for name, expected in json.loads(json.dumps(manifest)).items():
        if values.get(name) != expected:
            raise CheckpointMismatch(
                f"the checkpoint in {path.parent} belongs to {_difference(name, values.get(name), expected)}",
                hint="use another folder, or delete that one",
            )


def _difference(name: str, kept: Any, expected: Any) -> str:
    """What the manifest says otherwise, for people."""
    if name == "policies":
        # Each is its name, its text form and a stamp of its code, which tells people nothing.
        given = ", ".join(policy for policy, *_ in expected)
        try:
            found = ", ".join(policy for policy, *_ in kept)
        except (TypeError, ValueError):
            found = _shown(kept)
        if found == given:
            return f"other policies: the code of {given} has changed"
        return f"other policies: {found} instead of {given}"
    word = {"trials": "another number of trials", "numerics": "other numerics"}.get(name, f"another {name}")
    return f"{word}: {_shown(kept)} instead of {_shown(expected)}"


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "something nested deeply"


def policy_fingerprint(policy: Policy | str) -> str:
    """Changes with the code of a policy, which may be the user's own and half done."""
    return code_fingerprint(type(parse_policy(policy)))
