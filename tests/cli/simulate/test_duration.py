"""How long a simulation will take, said before it starts if it is long."""

import equipoise as eq
from equipoise.cli.simulate.duration import announce, in_words, trial_seconds


def world(dim, budget):
    return eq.GaussianScenario(noise=[1.0, 2.0], dim=dim, budget=budget)


def test_a_long_one_says_so(capsys):
    announce(world(2000, 5000), ["uniform", "trace-gain"], trials=1000, workers=2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("This will take about ")
    assert "1,000 trials of 2 policies with 2,000 features on 2 threads" in said.err


def test_a_short_one_says_nothing(capsys):
    announce(world(5, 100), ["uniform", "trace-gain"], trials=1000, workers=2)
    assert capsys.readouterr().err == ""


def test_what_it_grows_with():
    plain = trial_seconds(world(100, 1000), "trace-ucb")
    assert trial_seconds(world(200, 1000), "trace-ucb") > 3.0 * plain
    assert trial_seconds(world(100, 1000), "trace-gain") > plain
    assert trial_seconds(world(100, 1000).replace(estimator="ridge"), "trace-ucb") < plain


def test_words():
    assert [in_words(seconds) for seconds in (61, 130, 3600, 7000, 3e5)] == [
        "1 minute",
        "2 minutes",
        "60 minutes",
        "2 hours",
        "3 days",
    ]
