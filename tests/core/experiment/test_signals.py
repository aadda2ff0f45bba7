"""Real signals whose handlers raise."""

from __future__ import annotations

import random
import signal
import time

import numpy as np

import equipoise as eq

DIM = 3
CONTEXTS = np.random.default_rng(9).normal(size=(400, DIM))


def test_an_error_of_a_signal_handler_reaches_the_caller_and_nothing_is_done_twice():
    """An ordinary error, unlike Ctrl-C, might be taken for the kernel's own."""

    def give_up(*_):
        raise TimeoutError

    experiment = eq.Experiment(eq.Problem(2, DIM, budget=3_000, moment=np.eye(DIM)), "trace-ucb", seed=1)
    experiment.tell(experiment.ask(CONTEXTS[0]).id, 1.0)
    draw, reached = random.Random(3), 0
    before = signal.signal(signal.SIGALRM, give_up)
    try:
        for k in range(600):
            asked = experiment.asked
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(2e-6, 4e-5))
                experiment.ask(CONTEXTS[k % 400])
                time.sleep(2e-3)  # by then the signal has come, whichever thread takes it
            except TimeoutError:
                reached += 1
            assert experiment.asked - asked in (0, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert reached == 600
