"""An experiment as versioned arrays: for stores that want to open it without its whole history.

A snapshot is a dictionary of arrays and one header of JSON, as bytes. It has no pickles, so reading one runs
nobody's code. Scores and records as they were given stay with whoever has the history.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.experiment.history.events import features_chosen, recorded_choice
from equipoise.core.experiment.record import Record
from equipoise.core.experiment.saved import check_signature, damaged, possible_record, signature, to_data
from equipoise.core.plain import from_plain, to_plain
from equipoise.core.policies.base.absent import policy_source, policy_traits, recorded_policy
from equipoise.core.problem.costs import whole_numbers
from equipoise.core.problem.problem import Problem
from equipoise.errors import EquipoiseError

Arrays = dict[str, npt.NDArray[Any]]

_HEADER = "header"
_STATE, _STAGE = "state.", "stage."


def to_arrays(record: Record) -> Arrays:
    """A record that no longer changes, as arrays."""
    data = to_data(record, details=False)
    arrays: Arrays = {"contexts": data["contexts"], "keys": _bytes(data["book"]["keys"])}
    arrays |= {_STATE + name: array for name, array in data["arrays"].items()}
    scalars = {}
    for name, value in data["stage"].items():
        if isinstance(value, np.ndarray):
            arrays[_STAGE + name] = np.array(value)
        else:
            scalars[name] = to_plain(value)
    policy, stage = record.policy, record.stage
    header = {
        **signature(policy),
        "problem": record.problem.to_dict(),
        "policy": policy.to_dict(),
        "source": policy_source(policy),
        "traits": policy_traits(policy),
        "seed": record.seed,
        "stage": scalars,
        "recovery": None if stage.recovery is None else features_chosen(record),
        "paused": record.paused,
    }
    header["digest"] = _digest(header, arrays)
    return {_HEADER: _bytes(json.dumps(header)), **arrays}


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> Record:
    """The record that a snapshot was taken of, or StateMismatch."""
    try:
        header = json.loads(bytes(arrays[_HEADER]))
        rest = {name: np.asarray(array) for name, array in arrays.items() if name != _HEADER}
        digest = header.pop("digest")
        policy = recorded_policy(header["policy"], header["source"], header["traits"])
        problem = _problem(header["problem"])
    except (EquipoiseError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise damaged(f"{type(error).__name__}, {error}") from error
    check_signature(header, policy)
    if digest != _digest(header, rest):
        raise damaged("its numbers are not those that were saved")
    choice = None if header["recovery"] is None else recorded_choice(header["recovery"])
    stage = {name: from_plain(value) for name, value in header["stage"].items()}
    stage |= {name.removeprefix(_STAGE): array for name, array in rest.items() if name.startswith(_STAGE)}
    recovery = None
    if choice is not None:
        fields = dataclasses.fields(choice.recovery)
        recovery = {field.name: getattr(choice.recovery, field.name) for field in fields}
    return possible_record(
        {
            "problem": {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)},
            "policy": policy,
            "seed": header["seed"],
            "stage": stage,
            "recovery": recovery,
            "arrays": {
                name.removeprefix(_STATE): array for name, array in rest.items() if name.startswith(_STATE)
            },
            "contexts": rest["contexts"],
            "book": {"keys": bytes(rest["keys"]).decode()},
            "paused": header["paused"],
        }
    )


def _problem(plain: Mapping[str, Any]) -> Problem:
    """The problem of a running experiment; floors of arms that were closed need not be paid for."""
    problem = Problem.from_dict({**plain, "floors": {}})
    floors = whole_numbers("floor", problem.arms, plain.get("floors"), unless_given=0.0)
    object.__setattr__(problem, "floors", floors)
    return problem


def _bytes(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _digest(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    digest = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{np.lib.format.dtype_to_descr(array.dtype)}{array.shape}\0".encode())
        digest.update(array.tobytes() if array.dtype.names else array.data)
    return digest.hexdigest()
