"""Best linear fits by logged propensities: right whatever the truth, where lots have been drawn.

The target is the best linear fit of arm i for the population that units came from: β* = E[xxᵀ]⁻¹E[x·y(i)]. A
unit that got its arm with probability e stands for 1/e units like it. Weighted so, an arm's units look like
all units, and least squares among them aims at β*, even where outcomes are not linear and arms got other
contexts than their neighbours. The arm's squares of the features, as far as they explain its outcomes, serve
as augmentation: what they predict is averaged over all units, and only what they leave is weighted. They
take away variance, and a wrong guess costs no bias (doubly robust estimation, Robins, Rotnitzky and Zhao
1994). Normalising by the weighted Gram keeps large weights from swinging the estimate (Hájek 1971).

Units in the order of assignment are a martingale, since each probability was known before the draw. So sums
are asymptotically normal, and the sandwich of the units' contributions estimates their covariance. With
``chance`` the probabilities never fall below a fixed share, and weights that even them out over time (Hadad
et al. 2021, Zhan et al. 2021) have nothing to do. Few units decide the intervals: those with large weights,
and those far out, where contexts are skewed and the curve is steep. So residuals are corrected for their
leverage, by HC2 in the weighted fit and by HC3 in the average (MacKinnon and White 1985), and Student's t has
as many degrees of freedom as the weights, and the curve, leave (Bell and McCaffrey 2002).

Only units at which every arm was possible count: at the start, when arms that have their d + 1 units wait for
the others, nothing is left to chance. A rule that leaves out units because of their contexts, as a walk does
when it is far out, leaves a population that is no longer that of all units, which is warned of.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.evidence import Evidence, Flags
from equipoise.core.diagnosis.terms import SPANNED, beside
from equipoise.core.estimates.alike import are_alike
from equipoise.core.estimates.by_arm import ByArm
from equipoise.core.estimates.inference.combinations import Combined
from equipoise.core.estimates.inference.quantities import Inference
from equipoise.core.estimates.inference.simultaneous import Spread
from equipoise.core.estimates.intervals import check_confidence, t_quantile
from equipoise.core.tables.digits import between, by_error
from equipoise.core.text_tables import Shown
from equipoise.errors import FitWarning, NoPropensities
from equipoise.version import __version__
from equipoise.words import counted

# Units a parameter that an arm needs before its squares are used for augmentation.
_ENOUGH = 3
# Standard errors by which contexts left out may differ from the others: chance passes it once in 16,000.
_UNLIKE = 4.0


@dataclass(frozen=True, eq=False)
class WeightedEstimate(Shown):
    """The best linear fit of one arm, by propensities."""

    arm: str
    coef: Vector
    """Estimate of β*; not a number where the units do not determine it."""
    covariance: Matrix = field(repr=False)
    """Sandwich estimate of its covariance."""
    dof: Vector = field(repr=False)
    """Degrees of freedom of every coefficient's variance."""
    observed: int
    """Outcomes of the arm that the estimate uses."""
    effective: float
    """Units of equal weight that would say as much: (Σw)²/Σw²."""
    confidence: float
    influence: Matrix = field(repr=False)
    """[units, d] what every unit contributes to the coefficients."""
    features: tuple[str, ...] = field(default=(), repr=False)
    """Names of the features."""

    @property
    def intervals(self) -> Matrix:
        """(low, high) of every coefficient of β*; infinite where outcomes do not tell its error."""
        return _intervals(self.coef, np.diag(self.covariance), self.dof, self.confidence)

    def record(self) -> dict[str, Any]:
        """Plain values, lists instead of arrays."""
        return {
            "arm": self.arm,
            "observed": self.observed,
            "effective": self.effective,
            "confidence": self.confidence,
            "features": list(self.features),
            "coef": self.coef.tolist(),
            "intervals": self.intervals.tolist(),
        }

    def __str__(self) -> str:
        title = f"{self.arm}: {counted(self.observed, 'outcome')}, weighing as much as {self.effective:.0f}"
        return f"{title}\n{super().__str__()}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        errors = np.sqrt(np.diag(self.covariance))
        rows = [
            [name, by_error(value, error), by_error(error, error), between(ends, error)]
            for name, value, error, ends in zip(
                self.features, self.coef, errors, self.intervals.tolist(), strict=True
            )
        ]
        return ["feature", "coefficient", "s.e.", f"{100 * self.confidence:g} % interval"], rows


class WeightedEstimates(ByArm[WeightedEstimate]):
    """The arms' best linear fits."""

    def __init__(self, arms: Sequence[WeightedEstimate], units: int, complaint: str | None = None) -> None:
        super().__init__(arms)
        self.complaint = complaint
        """That the units left out are unlike the others, if they are; or None."""
        self.units = units
        """Units at which every arm was possible: the population that the fits are for."""

    def contrast(self, arm: str, other: str) -> Inference:
        """Coefficients of ``arm`` less those of ``other``."""
        one, two = self[arm], self[other]
        gap = one.influence - two.influence
        variance = np.sum(gap**2, axis=0)
        shares = np.diag(one.covariance), np.diag(two.covariance)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Welch (1947): the arms' variances have their own degrees of freedom.
            dof = (shares[0] + shares[1]) ** 2 / (shares[0] ** 2 / one.dof + shares[1] ** 2 / two.dof)
        some = np.isfinite(dof) & np.isfinite(variance)
        spread = Spread(variance[None], np.where(some, dof, 0.0)[None], np.ones((1, len(dof))))
        return Inference(
            {"arm": [arm] * len(dof), "against": [other] * len(dof), "feature": one.features},
            Combined(one.coef - two.coef, spread),
            value="difference",
            confidence=one.confidence,
            metadata={"version": __version__, "numerics": NUMERICS, "intervals": "by propensities"},
            for_readers={"contrast": [f"{arm} − {other}"] * len(dof), "feature": one.features},
            notes=[
                f"Best linear fits by propensities, at {counted(self.units, 'unit')} for which every arm was "
                "possible."
            ],
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                arm.arm,
                str(arm.observed),
                f"{arm.effective:.1f}",
                " ".join(f"{value:.4g}" for value in arm.coef),
            ]
            for arm in self
        ]
        return ["arm", "outcomes", "weigh as much as", "coefficients"], rows


def weighted_fits(evidence: Evidence, confidence: float) -> WeightedEstimates:
    """Fit every arm to the units at which all arms were possible."""
    check_confidence(confidence)
    usable = usable_units(evidence)
    aside = np.count_nonzero(evidence.known & ~usable)
    complaint = None
    if _unlike(evidence, usable):
        complaint = (
            f"{aside} units could not have gone to every arm, and their contexts are unlike the others': "
            f"weighted fits are for units like the {np.count_nonzero(usable)} others, not for all"
        )
        warnings.warn(complaint, FitWarning, stacklevel=5)
    size, contexts, outcomes = evidence.sizes(), evidence.scaled()[usable], evidence.outcomes[usable]
    arms, weights = evidence.arms[usable], 1.0 / evidence.rows["propensity"][usable]
    fits = [
        replace(
            _fit(name, contexts, outcomes, np.where(arms == i, weights, 0.0), size, confidence),
            features=evidence.features,
        )
        for i, name in enumerate(evidence.names)
    ]
    return WeightedEstimates(fits, len(contexts), complaint)


def usable_units(evidence: Evidence) -> Flags:
    """Units with an outcome at which every arm was possible; NoPropensities if there are none."""
    propensity, possible = evidence.rows["propensity"], evidence.rows["possible"]
    if not len(propensity):
        raise NoPropensities("no unit has been assigned yet", hint="ask and tell first")
    if not np.any(propensity < 1.0):
        raise NoPropensities(
            "every unit went with certainty where the rule sent it: there are no propensities to weight by. "
            "No method can tell from such data what units would have done in arms that they could not get, "
            "unless the linear model is right",
            hint="allocate with lots, e.g. TraceGain(chance=0.3), or read estimates() and lack_of_fit()",
        )
    # A rule that does not say how many arms were possible is taken to mean all of them.
    all_possible = np.isin(possible, (0, len(evidence.names)))
    usable: Flags = evidence.known & (propensity > 0.0) & all_possible
    if not usable.any():
        raise NoPropensities(
            "no unit with an outcome could have gone to every arm",
            hint="ask and tell on: at the start, and while arms are closed or at their caps, some cannot",
        )
    return usable


def serve_all(evidence: Evidence) -> bool:
    """Whether there are propensities to weight by, and weighted fits are for units like all of them."""
    try:
        usable = usable_units(evidence)
    except NoPropensities:
        return False
    return not _unlike(evidence, usable)


def _unlike(evidence: Evidence, usable: Flags) -> bool:
    """Whether the units left out have other means of the features, or of their length, than those used."""
    aside = evidence.known & ~usable
    if np.count_nonzero(aside) < 2 or np.count_nonzero(usable) < 2:
        return False
    traits = np.column_stack([evidence.scaled(), evidence.lengths()])
    gap = np.mean(traits[aside], axis=0) - np.mean(traits[usable], axis=0)
    variance = np.var(traits[usable], axis=0) * (1.0 / np.sum(aside) + 1.0 / np.sum(usable))
    return bool(np.any(gap**2 > _UNLIKE**2 * variance + 1e-9))


def _fit(
    name: str, contexts: Matrix, outcomes: Vector, weights: Vector, size: Vector, confidence: float
) -> WeightedEstimate:
    """One arm; ``weights`` are 0 for units of other arms, ``size`` is what contexts were divided by."""
    count, dim = contexts.shape
    mine = weights > 0.0
    own, weight = contexts[mine], weights[mine]
    total = float(np.sum(weight))
    effective = total**2 / float(np.sum(weight**2)) if len(own) else 0.0
    gram, whole = (own * weight[:, None]).T @ own / count, contexts.T @ contexts / count
    if len(own) <= dim or np.linalg.matrix_rank(gram, hermitian=True) < dim:
        lost = np.full(dim, np.nan)
        unknown = np.full((dim, dim), np.inf)
        return WeightedEstimate(
            name, lost, unknown, np.zeros(dim), len(own), effective, confidence, contexts * np.nan
        )
    guessed = _curve(contexts, outcomes, mine)
    inverse, moment = np.linalg.inv(gram), np.linalg.inv(whole)
    line = inverse @ ((own * weight[:, None]).T @ (outcomes - guessed)[mine]) / count
    coef = line + moment @ (contexts.T @ guessed) / count
    residuals = (outcomes - guessed)[mine] - own @ line
    if are_alike(outcomes[mine], float(residuals @ residuals)):
        # The noise is unknown, not 0.
        unknown = np.full((dim, dim), np.inf)
        return WeightedEstimate(
            name, coef / size, unknown, np.zeros(dim), len(own), effective, confidence, contexts * np.nan
        )
    # Of the average over all units: what the line leaves of the curve.
    along = contexts @ moment
    left = (guessed + contexts @ (line - coef)) / (1.0 - _leverage(along, contexts))
    influence = along * left[:, None]
    squares = influence**2
    # Of the weighted fit.
    reach = own @ inverse * weight[:, None]
    pulls = reach / np.sqrt(1.0 - _leverage(reach, own, count))[:, None]
    influence[mine] += pulls * residuals[:, None]
    influence /= count * size
    squares[mine] += pulls**2 * np.mean(residuals**2)
    dof = np.minimum(_effective(pulls**2), _effective(squares))
    return WeightedEstimate(
        arm=name,
        coef=coef / size,
        covariance=influence.T @ influence,
        dof=dof,
        observed=len(own),
        effective=effective,
        confidence=confidence,
        influence=influence,
    )


def _leverage(reach: Matrix, contexts: Matrix, count: int | None = None) -> Vector:
    """How much of its own residual a unit takes away, of ``count`` units: 1 where it is alone."""
    own = np.sum(reach * contexts, axis=1) / (len(contexts) if count is None else count)
    leverage: Vector = np.minimum(own, 1.0 - 1e-6)
    return leverage


def _effective(squares: Matrix) -> Vector:
    """Units that a sum of squares rests on, for every coefficient: Satterthwaite's degrees of freedom."""
    total = np.sum(squares, axis=0)
    fourth = np.sum(squares**2, axis=0)
    return np.where(fourth > 0.0, total**2 / np.where(fourth > 0.0, fourth, 1.0), len(squares))


def _curve(contexts: Matrix, outcomes: Vector, mine: Flags) -> Vector:
    """What squares of the features add to the arm's line, for all units; 0 where they explain nothing.

    Coefficients are shrunk by what F says of them, so that squares that do not matter add no noise.
    """
    nothing = np.zeros(len(contexts))
    squares = contexts**2
    base, _ = np.linalg.qr(contexts[mine])
    rest = beside(base, squares[mine])
    varies = np.any(rest != 0.0, axis=0)
    count, rank = rest.shape[0], int(np.count_nonzero(varies))
    if rank == 0 or count < _ENOUGH * (contexts.shape[1] + rank):
        return nothing
    coef, _, independent, _ = np.linalg.lstsq(rest[:, varies], outcomes[mine], rcond=SPANNED)
    rank = int(independent)
    explained = rest[:, varies] @ coef
    residuals = outcomes[mine] - base @ (base.T @ outcomes[mine])
    left = float(residuals @ residuals - explained @ explained)
    fit = float(explained @ explained) / max(rank, 1)
    noise = left / (count - base.shape[1] - rank)
    if not fit > noise > 0.0:
        return nothing
    curve: Vector = (1.0 - noise / fit) * (squares[:, varies] @ coef)
    return curve


def _intervals(coef: Vector, variance: Vector, dof: Vector, confidence: float) -> Matrix:
    with np.errstate(invalid="ignore"):
        half = np.where(dof > 0.0, t_quantile(confidence, dof) * np.sqrt(variance), math.inf)
    low, high = np.where(np.isfinite(half), coef - half, -math.inf), coef + half
    return np.column_stack([low, np.where(np.isfinite(half), high, math.inf)])
