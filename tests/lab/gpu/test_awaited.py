"""Helpers work while the GPU that they compile for is being opened."""

import gc
import io
import json
import os
import subprocess
import sys
import threading

import pytest
from emulation.failing import failing_driver

import equipoise as eq
from equipoise.core.jit import storage
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu import awaited, driver, seat
from equipoise.lab.gpu.ahead import __main__ as helper
from equipoise.lab.gpu.ahead import recipes
from equipoise.lab.gpu.ahead.helpers import ANSWERS
from equipoise.lab.gpu.ahead.recipes import recipe_of
from equipoise.lab.gpu.ahead.tasks import done_name
from equipoise.lab.gpu.awaited import AwaitedDevice, facts_of

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")
PATIENCE = 30.0  # seconds


STEP = {
    **{"scenario": SCENARIO.to_dict(), "policy": "uniform", "what": "trials", "kind": "one"},
    "is_draft": False,
}


def helped(monkeypatch, facts, steps):
    """Let a helper read these."""
    lines = "".join(json.dumps(each) + "\n" for each in (facts, *steps))
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    try:
        helper.main()
    finally:
        gc.enable()


def told(device):
    return json.loads(json.dumps(facts_of(device)))


@pytest.fixture
def fake():
    with failing_driver() as stand_in:
        yield stand_in


def test_it_is_the_gpu_that_was_described(fake):
    device = driver.open_device()
    other = AwaitedDevice(told(device))
    for name in ("name", "target", "processors", "shared_bytes", "description"):
        assert getattr(other, name) == getattr(device, name)
    assert done_name(other, {"kind": "one"}) == done_name(device, {"kind": "one"})


def test_programs_are_written_before_it_is_open(fake, monkeypatch):
    device, opened, written, kept = driver.open_device(), threading.Event(), threading.Event(), {}
    monkeypatch.setattr(storage, "read", kept.get)
    monkeypatch.setattr(storage, "write", kept.__setitem__)

    def open_slowly():
        assert opened.wait(PATIENCE)
        return device

    def write(mine, what):
        written.set()
        return "a program"

    monkeypatch.setattr(awaited.driver, "open_device", open_slowly)
    monkeypatch.setattr(seat.Seat, "ptx", write)
    recipe = recipe_of(AwaitedDevice(told(device)), SCENARIO, eq.TraceUCB(), "trials")
    other = threading.Thread(target=recipe.program)
    other.start()
    assert written.wait(PATIENCE)
    assert [name for name in kept if name.startswith("GPU")] == []
    opened.set()
    other.join(PATIENCE)
    assert [code for name, code in kept.items() if name.startswith("GPU")] == [b"machine code"]


def test_what_keeps_it_from_opening_is_said_where_it_is_needed(fake, monkeypatch):
    facts = told(driver.open_device())

    def fail():
        raise DeviceUnavailable("it does not open")

    monkeypatch.setattr(awaited.driver, "open_device", fail)
    device = AwaitedDevice(facts)
    for call in (device.use, lambda: device.assemble("ptx"), lambda: device.load(b"code")):
        with pytest.raises(DeviceUnavailable, match="does not open"):
            call()


def test_a_helper_whose_gpu_does_not_open_compiles_nothing_more(fake, monkeypatch):
    facts, asked = told(driver.open_device()), []

    def nothing_of(device, scenario, policy, what):
        asked.append(what)
        return recipes.Recipe("a family", None, device.use)

    def fail():
        raise DeviceUnavailable("it does not open")

    monkeypatch.setattr(awaited.driver, "open_device", fail)
    monkeypatch.setattr(recipes, "recipe_of", nothing_of)
    helped(monkeypatch, facts, [STEP, STEP])
    assert asked == ["trials"]


def test_a_draft_is_no_program(fake, monkeypatch, capsys):
    done, written = [], []

    def recipe(device, scenario, policy, what):
        return recipes.Recipe("a family", lambda: done.append("draft"), lambda: done.append("program"))

    monkeypatch.setattr(recipes, "recipe_of", recipe)
    monkeypatch.setattr(helper.storage, "write", lambda name, content: written.append(name))
    facts = told(driver.open_device())
    helped(monkeypatch, facts, [{**STEP, "is_draft": True}])
    assert (done, written) == (["draft"], [])
    helped(monkeypatch, facts, [STEP])
    assert (done, len(written)) == (["draft", "program"], 1)
    assert capsys.readouterr().out == 2 * f"{ANSWERS[0]}\n"


def test_what_has_no_program_is_done(fake, monkeypatch, capsys):
    monkeypatch.setattr(recipes, "recipe_of", lambda *arguments: None)
    written = []
    monkeypatch.setattr(helper.storage, "write", lambda name, content: written.append(name))
    helped(monkeypatch, told(driver.open_device()), [STEP])
    assert len(written) == 1
    assert capsys.readouterr().out == f"{ANSWERS[0]}\n"


@pytest.mark.skipif(not hasattr(os, "nice"), reason="there is no such thing here")
def test_a_helper_leaves_processors_to_others():
    program = "import os, equipoise.lab.gpu.ahead.__main__ as it; it._step_back(); print(os.nice(0))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(found.stdout) == min(os.nice(0) + helper._NICE, 19)


def test_what_cannot_be_planned_has_no_family(fake, monkeypatch):
    recipe = recipes.recipe_of

    def fail_once(device, scenario, policy, what):
        if what == "trials":
            raise RuntimeError("it cannot be planned")
        return recipe(device, scenario, policy, what)

    monkeypatch.setattr(recipes, "recipe_of", fail_once)
    tasks = [{**STEP, "what": what} for what in ("trials", "judged", "elasticities", "draws")]
    families = [recipes.family_of(task, driver.open_device()) for task in tasks]
    # Where counts alone decide, there are no elasticities.
    assert [family is not None for family in families] == [False, True, False, True]
