"""Checkpoints: finished trials in a folder, so that a run can go on, and can be extended.

A file holds consecutive trials of one policy and says what they belong to: whatever it was written for, a
run with more trials, fewer, or other policies besides reads what it needs and runs the rest. A file that
exists is whole, whatever stopped the program; one that is damaged by a power cut or later, or came from
elsewhere, is run again. The manifest says which scenario, seed and version the folder is for; any other is
refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

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
_ELSEWHERE = "choose another folder; trials that are there already are kept"
_LONGEST_STEM = 40
FEW_FILES = 4
"""So many files of a policy stay as they are; more become one."""


class Part(NamedTuple):
    """Consecutive trials that are kept, and the seconds that they took."""

    first: int
    ledger: Ledger
    seconds: float

    @property
    def last(self) -> int:
        """The trial after them."""
        return self.first + len(self.ledger.errors)


@dataclass(frozen=True)
class Checkpoint:
    """Trials of several policies in one folder."""

    folder: Path
    arms: int
    identities: Sequence[Mapping[str, Any]]
    """For every policy, what its trials belong to."""

    def read(self, policy: int, trials: int) -> Iterator[Part]:
        """What is kept of a policy's first ``trials`` trials, in their order, every trial once."""
        reached = 0
        for first, last, path in self._files(policy):
            begin, end = max(first, reached), min(last, trials)
            part = self._read(path, policy, first, last) if begin < end else None
            if part is not None:
                chosen = slice(begin - first, end - first)
                share = (end - begin) / (last - first)
                ledger = Ledger._make(values[chosen] for values in part.ledger)
                yield Part(begin, ledger, share * part.seconds)
                reached = end

    def has(self, policy: int, trials: int) -> bool:
        """Whether there are files of all its first ``trials`` trials: none is read; some may be damaged."""
        reached = 0
        for first, last, _ in self._files(policy):
            if first > reached:
                break
            reached = max(reached, last)
        return reached >= trials

    def write(self, parts: Mapping[int, Part]) -> None:
        """Keep finished trials of some policies, all files at once.

        Nobody waits for the disk: what a power cut damages is run again.
        """
        with ThreadPoolExecutor(len(parts)) as pool:
            written = [
                pool.submit(self._write, policy, part, np.savez, lasting=False)
                for policy, part in parts.items()
            ]
        for each in written:
            each.result()

    def pack(self, policy: int, part: Part) -> None:
        """One compressed file in place of those that hold the same trials, unless these are few."""
        old = {path for first, last, path in self._files(policy) if part.first <= first and last <= part.last}
        if len(old) > FEW_FILES:
            kept = self._write(policy, part, np.savez_compressed, lasting=True)
            for path in old - {kept}:
                path.unlink(missing_ok=True)

    def _write(self, policy: int, part: Part, save: Any, *, lasting: bool) -> Path:
        path = self.folder / f"{self._stem(policy)}-{part.first}-{part.last}.npz"
        belongs = self._belongs(policy, part.first, part.last)

        def fill(file: BinaryIO) -> None:
            save(file, belongs=np.array(belongs), seconds=np.array(part.seconds), **part.ledger._asdict())

        write_whole(path, fill, hint=_ELSEWHERE, lasting=lasting)
        return path

    def _read(self, path: Path, policy: int, first: int, last: int) -> Part | None:
        try:
            with path.open("rb") as file:
                arrays = read_npz(file)
            if str(arrays["belongs"]) != self._belongs(policy, first, last):
                return None
            ledger = Ledger(*(arrays[name] for name in Ledger._fields))
            seconds = float(arrays["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        room = zip(ledger, new_ledger(last - first, self.arms), strict=True)
        whole = all(part.shape == own.shape and part.dtype == own.dtype for part, own in room)
        return Part(first, ledger, seconds) if whole else None

    def _files(self, policy: int) -> list[tuple[int, int, Path]]:
        """First trial, the one after the last, and path of every file; by first trial, long ones first."""
        name = re.compile(rf"{re.escape(self._stem(policy))}-(\d{{1,15}})-(\d{{1,15}})\.npz")
        found = [(match, path) for path in self.folder.iterdir() if (match := name.fullmatch(path.name))]
        spans = [(int(match[1]), int(match[2]), path) for match, path in found]
        return sorted((s for s in spans if s[0] < s[1]), key=lambda span: (span[0], -span[1]))

    def _stem(self, policy: int) -> str:
        """The policy's name, for people, and a digest of all that its trials belong to."""
        identity = self.identities[policy]
        name = re.sub(r"[^\w-]", "_", str(identity["policy"]), flags=re.ASCII)[:_LONGEST_STEM]
        return f"{name}-{_digest(identity)[:16]}"

    def _belongs(self, policy: int, first: int, last: int) -> str:
        return json.dumps({**self.identities[policy], "first": first, "last": last}, sort_keys=True)


def open_checkpoint(
    folder: str | Path | None,
    scenario: Setting,
    policies: Mapping[str, Policy],
    seed: int,
    codes: Codes | None = None,
) -> Checkpoint | None:
    """The checkpoint in ``folder``, made if it is new; None without a folder."""
    if folder is None:
        return None
    folder = make_folder(folder, hint=_ELSEWHERE)
    path, manifest = folder / _MANIFEST, {**_shared(seed), "scenario": scenario.to_dict()}
    if path.exists():
        _compare(path, manifest)
    # Written in any case, to find out before any work whether that can be done.
    write_whole(path, json.dumps(manifest, indent=2), hint=_ELSEWHERE)
    return checkpoint_in(folder, scenario, policies, seed, codes)


def checkpoint_in(
    folder: str | Path,
    scenario: Setting,
    policies: Mapping[str, Policy],
    seed: int,
    codes: Codes | None = None,
) -> Checkpoint:
    """The same without looking at the folder, which this run has opened before."""
    shared, digest = _shared(seed), _digest(scenario.to_dict())
    codes = Codes() if codes is None else codes
    identities = [
        {**shared, "scenario": digest, "policy": policy.spec, "code": codes.fingerprint(policy)}
        for policy in policies.values()
    ]
    return Checkpoint(Path(folder), len(scenario.arms), identities)


def _shared(seed: int) -> dict[str, Any]:
    """What all trials in a folder belong to, whatever their policy."""
    return {"version": __version__, "numerics": NUMERICS, "seed": int(seed)}


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
    word = "other numerics" if name == "numerics" else f"another {name}"
    return f"{word}: {_shown(kept)} instead of {_shown(expected)}"


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "something nested deeply"


class Codes:
    """The code of policies, which may be the user's own and half done, looked at once in a run."""

    def __init__(self) -> None:
        self._found: dict[type, str] = {}

    def fingerprint(self, policy: Policy | str) -> str:
        """Changes with the code of the policy."""
        kind = type(parse_policy(policy))
        if kind not in self._found:
            self._found[kind] = code_fingerprint(kind)
        return self._found[kind]


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()
