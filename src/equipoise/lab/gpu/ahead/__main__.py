"""A helper: what it reads says first for which GPU, and then in every line a program, or a draft of one."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import suppress

from equipoise.core.jit import storage
from equipoise.core.policies.base.policy import parse_policy
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu.ahead.helpers import ANSWERS
from equipoise.lab.gpu.ahead.tasks import done_name
from equipoise.lab.gpu.awaited import AwaitedDevice
from equipoise.lab.scenario import Scenario

_NICE = 5
"""How far a helper steps back behind programs that do not."""


def main() -> None:
    """Compile until there is nothing more to read."""
    device = AwaitedDevice(json.loads(sys.stdin.readline()))
    # While the GPU is being opened.
    from equipoise.lab.gpu.ahead.recipes import recipe_of

    # Compiling makes millions of objects that stay: looking for garbage among them takes long.
    gc.disable()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            scenario, policy = Scenario.from_dict(task["scenario"]), parse_policy(task["policy"])
            recipe = recipe_of(device, scenario, policy, task["what"])
            if recipe is not None:
                (recipe.draft if task["is_draft"] else recipe.program)()
            if not task["is_draft"]:
                storage.write(done_name(device, task), b"")
            print(ANSWERS[0], flush=True)
        except DeviceUnavailable:
            return  # nothing that it compiles can be kept: others, or nobody, do what is left
        except Exception:  # whoever needs the program will say what is wrong
            print(ANSWERS[1], flush=True)


def _step_back() -> None:
    """Leave processors to whoever runs trials meanwhile."""
    with suppress(AttributeError, OSError):  # there is no such thing here, or it is not allowed
        os.nice(_NICE)


if __name__ == "__main__":
    _step_back()
    main()
