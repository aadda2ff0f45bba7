"""Programs that other processes compile while trials run are used, and give the same numbers."""

import subprocess
import sys

import pytest
from emulation.hook import hooked
from emulation.programs import why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

PROGRAM = """
import numpy as np
import equipoise as eq
from emulation.device import emulated_gpu
from equipoise.lab.gpu import bench, seat
from equipoise.lab.gpu.ahead import rounds

scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")
run = {"dim": [2, 3], "policies": ["uniform", "trace-gain"], "trials": 4, "seed": 5}
here = eq.sweep(scenario, **run)

made, finish = [], bench.to_ptx
def noted(*arguments, **options):
    made.append(arguments)
    return finish(*arguments, **options)
bench.to_ptx = seat.to_ptx = noted

rounds._processors = lambda: 4
with emulated_gpu():
    there = eq.sweep(scenario, device="cuda", **run)
for (_, one), (_, other) in zip(here, there, strict=True):
    for policy in run["policies"]:
        np.testing.assert_array_equal(one[policy].errors, other[policy].errors)
print(len(made), "made here")
"""


def test_programs_of_helpers_are_used(tmp_path):
    command = [sys.executable, "-c", PROGRAM]
    found = subprocess.run(command, env=hooked(tmp_path), capture_output=True, text=True, timeout=300)
    assert found.stdout == "0 made here\n", found.stderr
    assert len(list(tmp_path.glob("*.at-work"))) == 4
