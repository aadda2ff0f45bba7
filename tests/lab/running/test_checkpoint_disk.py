"""Trials are left to the disk, which is not waited for: what a power cut damages runs again."""

import os

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab.running.checkpoint import FEW_FILES, Part, open_checkpoint
from equipoise.lab.trial.ledger import new_ledger

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30)


def run(folder, trials=40):
    return eq.simulate(SCENARIO, ["uniform"], trials=trials, seed=3, workers=1, checkpoint=folder)["uniform"]


@pytest.mark.parametrize("kept_bytes", [0, 1, 500, -500, -20])
def test_what_a_power_cut_damages_runs_again(kept_bytes, tmp_path):
    expected = run(None)
    run(tmp_path)
    for file in tmp_path.glob("*.npz"):
        content = file.read_bytes()
        file.write_bytes(content[:kept_bytes].ljust(len(content), b"\0"))
    for one, other in zip(run(tmp_path).ledger, expected.ledger, strict=True):
        np.testing.assert_array_equal(one, other)


def test_only_what_takes_the_place_of_other_files_waits_for_the_disk(tmp_path, monkeypatch):
    store = open_checkpoint(tmp_path, SCENARIO, {"uniform": eq.parse_policy("uniform")}, 3)
    brought, bring = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (brought.append(file), bring(file)))
    for number in range(FEW_FILES + 1):
        store.write({0: Part(4 * number, new_ledger(4, 2), 0.0)})
        store.pack(0, Part(0, new_ledger(4 * FEW_FILES, 2), 0.0))
    assert brought == []
    assert len(list(tmp_path.glob("*.npz"))) == FEW_FILES + 1
    store.pack(0, Part(0, new_ledger(4 * FEW_FILES + 4, 2), 0.0))
    assert len(brought) == len(list(tmp_path.glob("*.npz"))) == 1
