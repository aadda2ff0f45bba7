"""What to say where arms are out of balance and the straight line does not fit: both together mislead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.core.diagnosis.balance import ArmBalance, Balance
from equipoise.core.diagnosis.drift import FIT_LEVEL
from equipoise.core.diagnosis.evidence import Flags
from equipoise.core.diagnosis.lack_of_fit import LackOfFit
from equipoise.core.estimates.arm_estimate import ArmEstimate

# Differences below a tenth of a standard deviation are commonly called negligible (Austin 2009).
_NOTICED, _LEVEL = 0.1, 0.01


def complain(balance: Balance, fit: LackOfFit, drifted: Flags, *, weighted: bool) -> str | None:
    """A warning for people, or None.

    ``drifted`` tells which arms' models a curve has moved, see drift.py; ``weighted`` whether units have
    propensities to weight by, and such fits are for all of them.
    """
    if not fit.p_value < FIT_LEVEL:
        return None
    aside = [arm for arm, moved in zip(balance, drifted.tolist(), strict=True) if moved]
    if not aside:
        return None
    names = dict(zip(balance.features, balance.names, strict=True))
    remedy = (
        "read weighted_estimates(), which are right for the best linear fit whatever the truth"
        if weighted
        else "in the next experiment leave part of the assignment to chance, e.g. TraceGain(chance=0.3), and "
        "read weighted_estimates(), or use a policy that does not look at contexts"
    )
    return (
        f"outcomes are not linear in the features (p = {fit.p_value:.2g}), and arms got contexts unlike "
        f"those of all units: {_listed(aside, balance.names)}. "
        "Their models describe other people than the other arms' do, and intervals and differences between "
        "arms may be wrong by more than they say. Add what is missing, "
        f"{_missing(fit, names)} for instance; or {remedy}. balance() and lack_of_fit() show the figures"
    )


def complain_of_alike(arms: Sequence[ArmEstimate]) -> str | None:
    """What to say of arms whose outcomes were all alike, or None."""
    alike = [arm for arm in arms if arm.alike]
    if not alike:
        return None
    named = ", ".join(f"{arm.arm!r} ({arm.observed})" for arm in alike[:5])
    if len(alike) > 5:
        named += f" and {len(alike) - 5} more"
    return (
        f"all outcomes were alike in {named}: that says nothing about the noise, so there are no intervals "
        "and no expected errors. Go on until outcomes differ, with floors= for arms that are left alone; of "
        "yes/no answers an exact binomial interval of the share says what is known"
    )


def imbalance(balance: Balance) -> str | None:
    """Arms whose contexts are clearly and noticeably unlike those of all units, in a short line; or None."""
    aside = [
        arm
        for arm in balance
        if arm.p_value * len(balance) < _LEVEL
        and max(abs(arm.length_difference), abs(arm.largest_difference)) > _NOTICED
    ]
    if not aside:
        return None
    return f"contexts unlike those of all units went to {_listed(aside, balance.names)}"


def _missing(fit: LackOfFit, names: Mapping[int, str]) -> str:
    """The terms that lines lack most clearly."""
    if fit.clearest is None:
        return "squares"
    i, j = fit.clearest
    return f"the square of {names[i]}" if i == j else f"the product of {names[i]} and {names[j]}"


def _listed(arms: Sequence[ArmBalance], names: Sequence[str]) -> str:
    named = ", ".join(_described(arm, names) for arm in arms[:5])
    return f"{named} and {len(arms) - 5} more" if len(arms) > 5 else named


def _described(arm: ArmBalance, names: Sequence[str]) -> str:
    if abs(arm.length_difference) >= abs(arm.largest_difference):
        word = "short" if arm.length_difference < 0.0 else "long"
        return f"{arm.arm!r} {word} ones (mean r {arm.length:.3g}, of all {arm.length_of_all:.3g})"
    place = max(range(len(arm.differences)), key=lambda j: abs(arm.differences[j]))
    return f"{arm.arm!r} ({names[place]}: {arm.largest_difference:+.2f} standard deviations)"
