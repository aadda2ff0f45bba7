"""What a GPU draws has the bits of what the processor draws; on an emulated GPU, see test_emulated.py."""

import numpy as np
import pytest
from emulation.device import emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.core.draws.streams import BLOCK
from equipoise.lab.gpu import bench
from equipoise.lab.gpu.teams.lanes import WARP
from equipoise.lab.gpu.teams.lines import MOST_BLOCKS, Cut
from equipoise.lab.trial.world import Draws

FIRST, SEED = 11, 7
DRAWN = "contexts", "coefs"


def drawn(scenario, trials, **options):
    """Contexts and truths of some trials, from the processor and from an emulated GPU."""
    here = Draws(scenario, SEED, block=trials)
    here.draw(FIRST, trials)
    there = {name: np.zeros_like(getattr(here.world, name)) for name in DRAWN}
    with emulated_gpu(**options) as device:
        world = bench._DeviceWorld(scenario, SEED, trials, device, there=True)
        world.allocate()
        world.draw(FIRST, trials)
        for name, array in there.items():
            world.buffers[name].read(array)
    return {name: getattr(here.world, name) for name in DRAWN}, there


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("own_ways", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 10, 16, 30, 33])
def test_the_same_bits(monkeypatch, dim, intercept, own_ways):
    # Two warps, so that each has several shares of the lines, and the last one is none that is full.
    monkeypatch.setattr(bench, "_THREADS_THAT_DRAW", 2 * WARP)
    monkeypatch.setattr(bench, "_BLOCKS_THAT_DRAW", 1)
    scenario = eq.GaussianScenario(noise=(0.3, 0.7, 2.0), dim=dim, budget=101, intercept=intercept)
    here, there = drawn(scenario, 5, lot=dim, own_ways=own_ways)
    for name in DRAWN:
        np.testing.assert_array_equal(here[name].view(np.int64), there[name].view(np.int64))


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_one_trial_of_few_units():
    here, there = drawn(eq.GaussianScenario(noise=(0.3, 0.7), dim=3, budget=9), 1)
    for name in DRAWN:
        np.testing.assert_array_equal(here[name], there[name])


@pytest.mark.parametrize("ones", [0, 1])
def test_pieces_cover_lines(ones):
    for dim in range(1, 300):
        cut = Cut(dim, ones)
        assert 1 <= cut.blocks <= MOST_BLOCKS
        assert 0 <= cut.last <= cut.blocks * BLOCK
        assert cut.place(0) == 0
        assert cut.place(cut.pieces) == dim
        ends = [cut.place(k + 1) - cut.place(k) for k in range(cut.pieces)]
        assert sum(ends) == dim
        assert cut.words * 8 <= cut.bytes <= WARP * (MOST_BLOCKS * BLOCK + 1) * 10
