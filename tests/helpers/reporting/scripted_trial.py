"""A trial with everything that can happen to one, and the log that it would leave."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import numpy as np

import equipoise as eq
from equipoise.report.live.history import Entry, history_of_log

BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
DEADLINE = timedelta(days=20)
FEATURES = eq.Features(
    "1 + age + sex",
    age=eq.Number(18, 90, center=50, scale=10, unit="years"),
    sex=eq.Category("f", "m"),
)
NOISE = {"placebo": 0.5, "low": 1.0, "high": 2.0, "new": 1.0}


class Log:
    """Entries of a log, written by hand: an experiment's events with times, actors and reasons."""

    def __init__(self, experiment):
        self.experiment, self.entries, self.now = experiment, [], BEGIN
        created = {**experiment.created_event(), "live": {"deadline": DEADLINE.total_seconds()}}
        self._write(created, "dr-who", "protocol 1.2 was approved")

    def do(self, call, actor="site-1", reason=None):
        """Carry out a call, and write what it led to."""
        with self.experiment.recording() as events:
            result = call(self.experiment)
        for event in events:
            self._write(event, actor, reason)
        return result

    def _write(self, event, actor, reason):
        number = len(self.entries) + 1
        self.entries.append(
            Entry(
                sequence=number,
                kind=event["kind"],
                event=event,
                time=self.now,
                actor=actor,
                reason=reason,
                version=eq.__version__,
                numerics=eq.NUMERICS,
                mode="live",
                hash=hashlib.blake2b(str(number).encode(), digest_size=32).digest(),
            )
        )

    def history(self, **facts):
        facts = {"name": "default/trial-1", "store": "sqlite:///trial.db", "now": self.now, **facts}
        return history_of_log(self.entries, **facts)


def person(rng):
    return {"age": round(float(rng.uniform(18, 90)), 1), "sex": "f" if rng.random() < 0.55 else "m"}


def outcome(rng, x, arm, drift=0.0):
    mean = 0.3 * (x["age"] - 50) / 10 + 0.2 * (x["sex"] == "m") + 0.5 * (arm == "high") + drift
    return round(float(mean + np.sqrt(NOISE[arm]) * rng.normal()), 3)


def scripted(units=120, policy="trace-gain:chance=0.3", seed=3, *, drift=0.0, upsets=True):
    """The experiment and its log; with ``upsets`` everything that persons can do happens once."""
    rng = np.random.default_rng([seed, 5])
    problem = eq.Problem(["placebo", "low", "high"], features=FEATURES, budget=units)
    log = Log(eq.Experiment(problem, policy, seed=seed))
    people, waiting = {}, []
    for number in range(1, units + 1):
        log.now += timedelta(hours=float(rng.exponential(30.0)))
        key, x = f"P-{number:03d}", person(rng)
        people[key] = x
        if upsets and number == 30:
            log.do(lambda e: e.ask(x, unit=key, arm="high"), reason="allergic to the others <b>")  # noqa: B023
        else:
            log.do(lambda e: e.ask(x, unit=key))  # noqa: B023
        waiting.append((log.now + timedelta(days=float(rng.gamma(2.0, 4.0))), key))
        if upsets:
            _upset(log, number)
        due = [each for each in waiting if each[0] <= log.now and key != each[1]]
        for each in due:
            waiting.remove(each)
            key, unit = each[1], log.experiment[each[1]]
            if unit.status == "pending" and not (upsets and _lost(log, key)):
                value = outcome(rng, people[key], unit.arm, drift * number / units)
                log.do(lambda e: e.tell(key, value))  # noqa: B023
                if upsets:
                    _changed(log, key, unit)
    return log


def _lost(log, key):
    if key == "P-012":
        log.do(lambda e: e.lose(key), "site-2", "moved away")
    return key == "P-012"


def _changed(log, key, unit):
    if key == "P-020":
        log.do(lambda e: e.correct(key, 1.25), "site-2", "typing error")
    if key == "P-025":
        other = "low" if unit.arm != "low" else "high"
        log.do(lambda e: e.received(key, other), "site-1", "wrong bottle")


def _upset(log, number):
    if number == 40:
        log.do(lambda e: e.withdraw("P-033"), "site-1", "consent withdrawn")
    if number == 50:
        log.do(lambda e: e.pause(), "dr-who", "supply of high")
        log.now += timedelta(days=9)
        log.do(lambda e: e.resume(), "dr-who", "supply is back")
    if number == 60:
        log.do(lambda e: e.close_arm("low"), "dr-who", "recall of a batch")
    if number == 70:
        log.do(lambda e: e.add_arm("new", cap=40), "dr-who", "amendment 2")
        log.do(lambda e: e.reopen_arm("low"), "dr-who", "new batches are in")
        log.do(lambda e: e.change_budget(e.problem.budget + 10), "dr-who", "amendment 2")
    if number == 80:
        log.do(lambda e: e.note("the scale was calibrated", unit="P-080"), "site-2")
