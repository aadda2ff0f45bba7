"""Targets in different units: what makes their errors comparable.

The worst of several errors means something only if they are in one unit. Where targets are standardised,
every target is divided by its standard deviation in the whole table, for the policy as well as for the
judgement: policies balance errors in the unit in which outcomes come to them, and are unit-free only under
one factor common to all arms. A squared error of a standardised target is a share of its variance: 1 is what
guessing the mean leaves, 0 a perfect prediction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.errors import InvalidArgument
from equipoise.lab.replay.table import ReplayTable

SCALES = ("auto", "targets", "none")
# Standard deviations that differ by more than this factor are taken for different units: squared errors of
# one target then weigh four times those of another, or more.
NOTABLE = 2.0


def check_scale(scale: str) -> None:
    """Refuse what is not known."""
    if scale not in SCALES:
        raise InvalidArgument(f"scale={scale!r}", hint=f"use {', '.join(map(repr, SCALES))}")


def spread_ratio(spreads: Sequence[float]) -> float:
    """The largest standard deviation over the smallest, constant targets aside; at least 1."""
    varying = [spread for spread in spreads if spread > 0.0]
    return max(varying) / min(varying) if varying else 1.0


def resolved(scale: str, spreads: Sequence[float]) -> str:
    """``"targets"`` or ``"none"``: ``"auto"`` standardises where spreads differ notably."""
    if scale != "auto":
        return scale
    return "targets" if spread_ratio(spreads) > NOTABLE else "none"


def standardised(table: ReplayTable, spreads: Vector) -> ReplayTable:
    """The table with every target divided by its standard deviation, constant ones as they are."""
    return dataclasses.replace(table, targets=table.targets / np.where(spreads > 0.0, spreads, 1.0))


def decision_words(targets: Sequence[str], spreads: Sequence[float]) -> str:
    """Why targets were standardised without being asked, and what to type otherwise."""
    return (
        f"{ratio_words(targets, spreads)}: taken for different units, so errors are shares of each target's "
        "variance, for policies and losses alike. Say scale='targets' (--scale targets) if that is right, or "
        "scale='none' (--scale none) if targets are in one unit and an error of 1 matters as much in each."
    )


def ratio_words(targets: Sequence[str], spreads: Sequence[float]) -> str:
    """Which spreads differ by how much."""
    varying = [(spread, name) for spread, name in zip(spreads, targets, strict=True) if spread > 0.0]
    (low, small), (high, large) = min(varying), max(varying)
    ratio = spread_ratio(spreads)
    return f"the targets' standard deviations differ {ratio:.3g}-fold ({small} {low:.3g}, {large} {high:.3g})"
