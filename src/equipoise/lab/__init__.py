"""Simulated trials, compiled: the same functions that :class:`equipoise.Experiment` calls."""

from equipoise.lab.trials import TrialBatch, run_trials

__all__ = ["TrialBatch", "run_trials"]
