"""Forecasts as files: NumPy archives without pickles, with a header of plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.plain import from_plain, to_plain
from equipoise.files import write_whole
from equipoise.lab.forecast.result import Course, Forecast, Origin
from equipoise.lab.forecast.target import TargetBudget
from equipoise.unpacking import Damaged, load_npz

_KIND = "forecast"


def save_forecast(forecast: Forecast, path: str | Path) -> None:
    """Every trial's numbers, and what they depend on."""
    arrays: dict[str, Any] = {}
    for place, course in enumerate(forecast.courses):
        arrays[f"{place}_errors"], arrays[f"{place}_counts"] = course.errors, course.counts
    header = json.dumps(_header(forecast))
    write_whole(path, lambda file: np.savez_compressed(file, header=np.array(header), **arrays))


def load_forecast(path: str | Path) -> Forecast:
    """What was saved, or an error that says why not."""
    return load_npz(path, _read, "forecast")


def _header(forecast: Forecast) -> dict[str, Any]:
    origin = forecast.origin
    return {
        "kind": _KIND,
        "version": forecast.version,
        "numerics": forecast.numerics,
        "seed": forecast.seed,
        "estimator": forecast.estimator,
        "ridge": forecast.ridge,
        "target": forecast.target,
        "targets": [vars(found) for found in forecast.targets],
        "origin": {name: to_plain(value) for name, value in vars(origin).items()},
        "courses": [
            {"policy": course.policy, "budget": course.budget, "units": course.units}
            for course in forecast.courses
        ],
    }


def _read(arrays: Mapping[str, npt.NDArray[Any]]) -> Forecast:
    header = json.loads(str(arrays["header"]))
    if header["kind"] != _KIND:
        raise Damaged(f"it holds a {header['kind']}")
    origin = Origin(**{name: from_plain(value) for name, value in header["origin"].items()})
    weights = np.array(origin.weights, float)
    courses = []
    for place, course in enumerate(header["courses"]):
        errors, counts = arrays[f"{place}_errors"], arrays[f"{place}_counts"]
        shape = (len(course["units"]), len(origin.arms))
        if errors.shape[1:] != shape or counts.shape != (len(errors), shape[1]) or not len(errors):
            raise Damaged("its numbers are not one row a trial")
        courses.append(
            Course(
                policy=str(course["policy"]),
                budget=course["budget"],
                units=tuple(course["units"]),
                errors=errors,
                counts=counts,
                weights=weights,
                objective=origin.objective,
            )
        )
    if not courses:
        raise Damaged("it holds no courses")
    return Forecast(
        origin=origin,
        courses=tuple(courses),
        target=header["target"],
        targets=tuple(TargetBudget(**found) for found in header["targets"]),
        seed=header["seed"],
        estimator=header["estimator"],
        ridge=header["ridge"],
        version=header["version"],
        numerics=header["numerics"],
    )
