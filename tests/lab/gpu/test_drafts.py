"""Drafts that another process has made: they give the same programs, and are made once."""

import os
import pickle
import re
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import pytest
from emulation.drafts import keep_no_draft
from llvmlite import ir

import equipoise as eq
from equipoise.core.jit import deferred, ways
from equipoise.core.jit.deferred import packed, unpacked
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.jit.plain import Plain
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.errors import DeviceUnavailable
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
    ptx = to_ptx(other, layout, "sm_90")
    assert ptx == to_ptx(draft, layout, "sm_90")
    # Nothing of this process is in a program, though it is in drafts.
    addresses = re.findall(r"inttoptr \(i64 (\d+)", draft)
    assert addresses
    assert not any(address in ptx for address in addresses)


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


@pytest.fixture
def disk(monkeypatch):
    """What is kept, and what was looked for."""
    keep_no_draft(monkeypatch)
    found, asked = {}, []
    monkeypatch.setattr(kept.storage, "write", found.__setitem__)
    monkeypatch.setattr(kept.storage, "read", lambda name: asked.append(name) or found.get(name))
    return found, asked


def test_a_score_of_ones_own_is_neither_kept_nor_looked_for(disk):
    known = known_policies()

    @eq.register("own")
    def widest(arm, trial, settings):
        return float(arm.trace)

    try:
        mine = seat("own")
        mine.draft("trials")
        assert disk == ({}, [])
        mine.draft("judged")  # has nothing of it
        assert len(disk[0]) == len(disk[1]) == 1
    finally:
        restore_policies(known)


@pytest.mark.parametrize(
    "content", [b"", b"no draft", zlib.compress(b"nothing"), zlib.compress(pickle.dumps(3))]
)
def test_what_cannot_be_used_is_made_anew(content, disk, monkeypatch):
    monkeypatch.setattr(kept, "new_draft", lambda make, words: "a draft")
    disk[0]["draft ('it',)"] = content
    assert kept.kept_draft(("it",), lambda: None) == "a draft"
    assert unpacked(disk[0]["draft ('it',)"]) == "a draft"


def test_what_cannot_be_packed_is_not_kept(disk, monkeypatch):
    monkeypatch.setattr(kept, "new_draft", lambda make, words: "a draft")
    monkeypatch.setattr(kept, "packed", lambda draft: pickle.dumps(lambda: None))
    assert kept.kept_draft(("it",), lambda: None) == "a draft"
    assert disk[0] == {}


def test_the_plain_way_is_refused_whatever_is_on_disk(disk, monkeypatch):
    seat("uniform").draft("turns")
    kept.DRAFTS.clear()
    monkeypatch.setattr(ways, "chosen", Plain)
    with pytest.raises(DeviceUnavailable, match="plain"):
        seat("uniform").draft("turns")


def test_gaps_are_filled_by_number(monkeypatch):
    filled = []

    def generate(layout, context, builder, signature, arguments):
        filled.append(context)

    kind = ir.FunctionType(ir.VoidType(), [])
    gaps = {f"{deferred._PREFIX}{number}": number for number in (10, 9, 100)}
    monkeypatch.setattr(
        deferred,
        "_gaps",
        {name: deferred._Gap(generate, number, None, kind) for name, number in gaps.items()},
    )
    deferred.fill(" ".join(gaps), None)
    assert filled == [9, 10, 100]
