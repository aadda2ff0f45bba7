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
        (
            ["--accrual", 4, "--delay", 2.5, "--lost", "0.1,0.2,0"],
            {"accrual": eq.Accrual(rate=4), "delay": eq.Delay(mean=2.5), "lost": (0.1, 0.2, 0.0)},
        ),
        (
            ["--arms", "a,b,c=d", "--close", "c=d=30", "--close", "a=40", "--features", "1,age,sex"],
            {
                "arms": ("a", "b", "c=d"),
                "features": ("1", "age", "sex"),
                "closures": (eq.Closure("c=d", after=30), eq.Closure("a", after=40)),
            },
        ),
        (["--stop", 0.5], {"stop": eq.StopRule(target=0.5)}),
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
        (["--close", "arm-1"], "--close arm-1 is not ARM=UNITS"),
        (["--close", "arm-9=5"], "no arm 'arm-9' that could be closed"),
        (["--close", "arm-1=soon"], "--close soon is not a whole number"),
        (["--lost", "0.1,0.2"], "2 lost for 3 arms"),
        (["--arms", "a,b"], "2 names for 3 arms"),
        (["--accrual", 0], "--accrual 0 is not a positive number"),
    ],
)
def test_other_worlds_that_make_no_sense(run, options, message):
    result = run(*BASE, *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_the_course_of_a_trial_is_printed(run):
    line = ("--policy", "uniform", "--trials", 3, "--arms", "mild,middle,wild", "--stop", 0.001)
    text = run(*BASE, "--accrual", 5, "--delay", 4, *line).stdout
    course = text.split("Mean course of a trial, times in weeks")[1]
    assert "last outcome" in course
    # A heading of two lines.
    upper, lower = course.splitlines()[1:3]
    assert f"{upper.strip()} {lower.split()[-1]}" == "stopped at the target"
    assert " 0 %" in course.split("uniform")[1]
    assert "wild" in text
    assert "Mean course" not in run(*BASE, "--policy", "uniform", "--trials", 2).stdout
