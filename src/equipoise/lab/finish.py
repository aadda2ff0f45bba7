"""What a trial of a policy that chooses features ends with: coefficients of all features."""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Matrix
from equipoise.core.stages.stage import Stage
from equipoise.lab.verdict import Judge, ridge_coefs, root_of


def judge_of_columns(judge: Judge, moment: Matrix, stage: Stage) -> Judge:
    """A judge of the features of a stage, with the settings of one of all."""
    columns = stage.columns
    dim = len(columns)
    white = judge.error_root.shape[0] == 0
    part = moment[np.ix_(columns, columns)]
    return judge._replace(
        error_root=np.zeros((0, 0)) if white else root_of(part),
        root=np.zeros((dim, dim)),
        system=np.zeros((dim, dim)),
        coef=np.zeros(dim),
        least_squares=np.zeros(dim),
        along=np.zeros(dim),
    )


def ridge_coefs_of_stage(stage: Stage, judge: Judge, dim: int) -> Matrix:
    """Ridge coefficients of every arm, 0 for features that the stage does not have."""
    coefs = np.zeros((len(stage.state.arms), dim))
    ridge_coefs(stage.state, judge, stage.columns, coefs)
    return coefs
