"""What tests look at inside an experiment."""

from __future__ import annotations

from equipoise.core.arms import least_squares as kernel

# Scratch is written before it is read, and so are rows of units that are yet to come.
_SCRATCH = ("z", "f", "g", "scratch", "lots", "plan")
_ROWS = ("contexts", "outcomes", "rows")


def settle(experiment):
    """Invert the designs that wait for it, as the next ``ask`` would."""
    if not kernel.is_settled(experiment._state):
        kernel.settle(experiment._state)


def fingerprint(experiment):
    """Everything that an experiment knows, byte by byte."""
    record = experiment._record
    step, stage = record.step, record.stage
    arrays = {
        name: (array[:step] if name in _ROWS else array).tobytes()
        for name, array in stage.state._asdict().items()
        if name not in _SCRATCH
    }
    arrays["all contexts"] = record.contexts[:step].tobytes()
    arrays["settings"] = stage.settings.tobytes()
    facts = (record.problem, record.policy, record.seed, stage.policy, stage.columns.tolist(), stage.chosen)
    ends = (stage.needed.tolist(), stage.needed_in_all, stage.reserve, stage.start, stage.screened)
    return arrays, facts, ends
