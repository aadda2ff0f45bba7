"""Estimates by logged propensities: right for the best linear fit, and refused where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from bent_world import run

import equipoise as eq
from equipoise.core.diagnosis.evidence import evidence_of
from equipoise.core.diagnosis.weighted import serve_all
from equipoise.errors import FitWarning, InvalidArgument, NoPropensities, UnknownArm


def test_with_equal_propensities_it_is_least_squares_on_the_units_that_could_go_anywhere():
    experiment = run(eq.TraceGain(chance=1.0), units=14, noise=(1.0, 1.0))  # too few to use squares
    rows = experiment._state.rows
    fits = experiment.weighted_estimates()
    usable = rows["possible"] == 2
    assert fits.units == np.count_nonzero(usable) < 14
    for i, fit in enumerate(fits):
        mine = usable & (rows["arm"] == i)
        x, y = experiment._record.contexts[mine], experiment._state.outcomes[mine]
        assert fit.observed == fit.effective == len(y)
        if len(y) > 3:
            np.testing.assert_allclose(fit.coef, np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-8)
        else:
            assert np.isnan(fit.coef).all()
            assert np.isinf(fit.intervals).all()


def test_intervals_cover_the_best_linear_fit_of_a_curve():
    """95 % intervals of 2 arms, 3 coefficients, 60 trials; fewer than 320 of 360 in 1 of 10,000.

    The usual intervals of the quiet arm's intercept fail here: contexts are sorted by length.
    """
    inside, effects = 0, 0
    for seed in range(60):
        fits = run(eq.TraceGain(chance=0.3), curve=0.6, noise=(0.05, 2.0), seed=seed).weighted_estimates()
        for fit in fits:
            inside += np.count_nonzero((fit.intervals[:, 0] <= 1.0) & (fit.intervals[:, 1] >= 1.0))
        effects += fits.contrast("arm 0", "arm 1").p_values[0] < 0.05
    assert 320 <= inside <= 356
    assert effects <= 10


def test_an_effect_is_found():
    experiment = run(eq.TraceGain(chance=0.5), effect=1.0)
    difference = experiment.weighted_estimates().contrast("arm 1", "arm 0")
    low, high = difference.intervals[0]
    assert low < 1.0 < high
    assert difference.p_values[0] < 1e-3


def test_units_of_measurement_do_not_matter():
    rng, fits = np.random.default_rng(5), []
    contexts = np.column_stack([np.ones(120), rng.normal(size=(120, 2))])
    outcomes = contexts.sum(axis=1) + contexts[:, 1] ** 2 + rng.normal(size=120)
    scales = np.ones(3), np.array([1.0, 2.0**20, 2.0**-10])
    for scale in scales:
        problem = eq.Problem(2, 3, budget=120, moment=np.diag(scale**2))
        experiment = eq.Experiment(problem, eq.TraceGain(chance=0.4))
        for x, y in zip(contexts * scale, outcomes, strict=True):
            experiment.tell(experiment.ask(x).id, float(8.0 * y))
        fits.append(experiment.weighted_estimates())
    for one, two in zip(*fits, strict=True):
        np.testing.assert_allclose(one.coef, two.coef * scales[1], rtol=1e-7)
        np.testing.assert_allclose(one.intervals, two.intervals * scales[1][:, None], rtol=1e-7)


def test_units_left_out_because_of_their_contexts_are_warned_of():
    """A walk that is far out leaves nothing to chance, most often for long contexts."""
    with pytest.warns(
        FitWarning, match="could not have gone to every arm, and their contexts are unlike"
    ) as seen:
        fits = run("balancing-walk:slack=0.2", units=600).weighted_estimates()
    assert seen[0].filename == __file__
    assert str(seen[0].message) == fits.complaint
    # The start of Trace-Gain leaves out units as well, whatever their contexts. A warning would be an error.
    assert run(eq.TraceGain(chance=0.3), units=200).weighted_estimates().complaint is None


@pytest.mark.parametrize(
    ("policy", "right"),
    [("balancing-walk:slack=0.2", False), ("trace-gain:chance=0.3", True), ("uniform", False)],
)
def test_they_are_recommended_only_where_they_are_for_all_units(policy, right):
    assert serve_all(evidence_of(run(policy, units=600)._record.stage)) is right


@pytest.mark.parametrize("policy", ["uniform", "trace-ucb", "trace-gain"])
def test_without_propensities_it_says_that_no_method_can_help(policy):
    with pytest.raises(NoPropensities, match=r"No method can tell.*TraceGain\(chance=0\.3\)"):
        run(policy, units=40).weighted_estimates()


def test_what_it_cannot_do_is_refused_and_what_it_has_is_shown():
    early = eq.Experiment(eq.Problem(["a", "b"], 2, budget=30), eq.TraceGain(chance=0.5))
    early.ask([1.0, 0.5])
    with pytest.raises(NoPropensities, match="no unit with an outcome"):
        early.weighted_estimates()
    fits = run(eq.TraceGain(chance=0.5), units=80).weighted_estimates(confidence=0.9)
    with pytest.raises(UnknownArm, match="the arms are"):
        fits["nobody"]
    with pytest.raises(InvalidArgument):
        run(eq.TraceGain(chance=0.5), units=80).weighted_estimates(confidence=2.0)
    assert fits["arm 1"] is fits[1]
    assert fits.records()[0]["confidence"] == 0.9
    assert "weigh as much as" in str(fits)
    assert "<table>" in fits._repr_html_()
    assert "90 % interval" in str(fits[0])
    assert "<table>" in fits[0]._repr_html_()
