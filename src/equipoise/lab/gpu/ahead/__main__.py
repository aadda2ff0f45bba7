"""A helper: what it reads says first for which GPU, and then a program in every line."""

from __future__ import annotations

import gc
import json
import sys

from equipoise.core.jit import storage
from equipoise.core.policies.base.policy import parse_policy
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu.ahead.helpers import ANSWERS
from equipoise.lab.gpu.ahead.tasks import done_name
from equipoise.lab.gpu.awaited import AwaitedDevice
from equipoise.lab.scenario import Scenario


def main() -> None:
    """Compile until there is nothing more to read."""
    device = AwaitedDevice(json.loads(sys.stdin.readline()))
    # While the GPU is being opened.
    from equipoise.lab.gpu.bench import compile_program

    # Compiling makes millions of objects that stay: looking for garbage among them takes long.
    gc.disable()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            scenario, policy = Scenario.from_dict(task["scenario"]), parse_policy(task["policy"])
            compile_program(device, scenario, policy, task["what"])
            storage.write(done_name(device, task), b"")
            print(ANSWERS[0], flush=True)
        except DeviceUnavailable:
            return  # nothing that it compiles can be kept: others, or nobody, do what is left
        except Exception:  # whoever needs the program will say what is wrong
            print(ANSWERS[1], flush=True)


if __name__ == "__main__":
    main()
