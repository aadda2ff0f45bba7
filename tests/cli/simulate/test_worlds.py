"""Contexts, outcomes and curvature on the command line."""

import pytest

import equipoise as eq

BASE = ("simulate", "--noise", "0.1,1,3", "--dim", 3, "--budget", 50, "--seed", 11)
NOISE, DIM, BUDGET = [0.1, 1.0, 3.0], 3, 50


@pytest.mark.parametrize(
    ("options", "pieces"),
    [
        (["--contexts", "binary:share=0.2"], {"contexts": eq.BinaryContexts(share=0.2)}),
        (
            ["--contexts", "skewed", "--covariance", "ar1:0.5"],
            {"contexts": eq.SkewedContexts(covariance="ar1:0.5")},
        ),
        (["--contexts", "sites:sites=3:between=0.1"], {"contexts": eq.SiteContexts(sites=3, between=0.1)}),
        (["--intercept"], {"intercept": True}),
        (["--no-intercept"], {}),
        (["--curvature", "-0.5", "--curved", "all"], {"curvature": -0.5, "curved": "all"}),
        (
            ["--intercept", "--outcomes", "counts:effect=0.3"],
            {"intercept": True, "outcomes": eq.CountOutcomes(effect=0.3)},
        ),
    ],
)
def test_other_worlds(run, tmp_path, options, pieces):
    run(*BASE, "--policy", "uniform", *options, "--save-scenario", "world.toml", "--trials", 2)
    written = eq.Scenario.from_toml((tmp_path / "world.toml").read_text())
    assert written == eq.GaussianScenario(NOISE, DIM, BUDGET, **pieces)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--contexts", "binry"], "no contexts of kind 'binry'"),
        (["--contexts", "binary:share"], "'share' in --contexts binary:share is not one more key=value"),
        (["--contexts", "binary:share=2"], "share=2.0 is not between 0 and 1"),
        (["--contexts", "one-hot", "--covariance", "ar1:0.5"], "does not go with contexts of kind 'one-hot'"),
        (["--outcomes", "yes-no:size=1"], "no 'size'"),
        (["--curvature", "much"], "--curvature much is not a number"),
    ],
)
def test_other_worlds_that_make_no_sense(run, options, message):
    result = run(*BASE, *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
