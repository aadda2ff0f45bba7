"""What an experiment has seen, as plain arrays: one line a unit, withdrawn and redacted ones left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import GONE, KNOWN, LOST, TOLD
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.stages.stage import Stage

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Contexts, arms and outcomes of all units, in the order of assignment."""

    names: tuple[str, ...]
    """The arms."""
    features: tuple[str, ...]
    """Names of the columns of ``contexts``."""
    contexts: Matrix
    columns: npt.NDArray[np.int64]
    """Features that the columns of ``contexts`` are, counted from 0."""
    outcomes: Vector
    arms: npt.NDArray[np.int64]
    counts: Flags
    """Units that are not lost."""
    known: Flags
    """Units whose outcome is known."""
    fitted: Flags
    """Those of them that serve estimates."""
    rows: npt.NDArray[Any]
    """The records of the units, see arms/state.py."""
    moment: Matrix | None
    """Σ if it was given."""
    ids: npt.NDArray[np.int64]
    """Numbers of the units, counted from 1."""

    def lengths(self) -> Vector:
        """r = xᵀΣ⁻¹x of every unit, with the given Σ or that of all contexts seen; d on average."""
        count, dim = self.contexts.shape
        if count == 0 or dim == 0:
            return np.zeros(count)
        moment = self.contexts.T @ self.contexts / count if self.moment is None else self.moment
        # In units of the features' own size, so that what counts as singular does not depend on units.
        sizes = self.sizes() if self.moment is None else np.sqrt(np.diag(moment))
        values, vectors = np.linalg.eigh(moment / np.outer(sizes, sizes))
        kept = values > 1e-12 * values[-1]
        along = (self.contexts / sizes) @ vectors[:, kept]
        lengths: Vector = np.sum(along**2 / values[kept], axis=1)
        return lengths

    def sizes(self) -> Vector:
        """Root mean square of every feature over all units; 1 for features that are 0."""
        sizes = np.sqrt(np.mean(self.contexts**2, axis=0)) if len(self.contexts) else 0.0
        return np.where(sizes > 0.0, sizes, np.ones(self.contexts.shape[1]))

    def scaled(self) -> Matrix:
        """Contexts with every feature in units of its own size."""
        scaled: Matrix = self.contexts / self.sizes()
        return scaled

    def of_arm(self, i: int) -> Flags:
        """Units of arm i whose outcomes serve estimates."""
        mine: Flags = (self.arms == i) & self.fitted
        return mine


def evidence_of(stage: Stage) -> Evidence:
    """What a stage knows, in its own columns; the stage must be one that nobody goes on with."""
    state = stage.state
    step = int(state.trial["step"][0])
    kept = ~np.isin(state.rows["status"][:step], GONE)
    rows = state.rows[:step][kept]
    return Evidence(
        names=stage.problem.arms,
        features=stage.problem.feature_names,
        contexts=np.array(state.contexts[:step][kept]),
        columns=stage.columns,
        outcomes=state.outcomes[:step][kept],
        arms=np.ascontiguousarray(rows["arm"]),
        counts=rows["status"] != LOST,
        known=np.isin(rows["status"], KNOWN),
        fitted=rows["status"] == TOLD,
        rows=rows,
        moment=stage.problem.moment,
        ids=np.flatnonzero(kept) + 1,
    )
