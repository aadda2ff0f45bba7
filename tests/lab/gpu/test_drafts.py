"""Drafts that another process has made: they give the same programs, and are made once."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from emulation.drafts import keep_no_draft

import equipoise as eq
from equipoise.core.jit.deferred import packed, unpacked
from equipoise.core.jit.nvptx import to_ptx
from equipoise.lab.gpu import kept
from equipoise.lab.gpu.seat import Seat
from equipoise.lab.trial.world import Draws

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0, 3.0], dim=3, budget=60, estimator="ridge")


class Processor:
    """What programs need to know of a GPU."""

    processors, shared_bytes, name, target, description = 4, 232_448, "none", "sm_90", "none"


def seat(policy, scenario=SCENARIO):
    return Seat(scenario, eq.parse_policy(policy), 0, Draws(scenario, 0, block=1), Processor())


@pytest.mark.parametrize(
    ("policy", "what"), [("trace-gain", "trials"), ("trace-ucb", "opened"), ("uniform", "turns")]
)
def test_what_was_packed_makes_the_same_program(policy, what, monkeypatch):
    keep_no_draft(monkeypatch)
    mine = seat(policy)
    draft = mine.draft(what)
    other = unpacked(packed(draft))
    assert other != draft  # gaps have names of their own
    layout = mine.plans[what].layout
    assert to_ptx(other, layout, "sm_90") == to_ptx(draft, layout, "sm_90")


PROGRAM = """
import hashlib
from test_drafts import SCENARIO, kept, seat
made, new_draft = [], kept.new_draft
kept.new_draft = lambda *arguments: made.append(arguments) or new_draft(*arguments)
for dim in (3, 15):
    for policy in ("uniform", "trace-ucb"):
        mine = seat(policy, SCENARIO.replace(dim=dim, budget=100))
        for what in mine.plans:
            print(dim, policy, what, hashlib.sha256(mine.ptx(what).encode()).hexdigest())
print(len(made), "made")
"""


def test_a_process_finds_what_another_has_made(tmp_path):
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    settings = {"EQUIPOISE_KERNELS": str(tmp_path), "PYTHONPATH": os.pathsep.join(paths)}
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    command, environment = [sys.executable, "-c", PROGRAM], {**os.environ, **settings}
    one, other = (run(command, env=environment).stdout.splitlines() for _ in range(2))
    assert one[:-1] == other[:-1]
    assert len(one[:-1]) == 2 * 8
    # Programs of eight kinds serve both numbers of features, and trials of both policies are judged alike.
    assert (one[-1], other[-1]) == ("7 made", "0 made")


def test_a_draft_that_is_not_to_be_kept_is_made_by_every_process(monkeypatch):
    written = []
    keep_no_draft(monkeypatch)
    monkeypatch.setattr(kept.storage, "write", lambda name, content: written.append(name))
    monkeypatch.setattr(kept, "new_draft", lambda make, words: "")
    for stored in (False, True):
        kept.kept_draft((str(stored),), lambda: None, stored=stored)
    assert written == ["draft ('True',)"]
