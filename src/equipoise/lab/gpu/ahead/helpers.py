"""Processes that compile, as seen from the one that wants programs: a line for each step, and one back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from threading import Lock
from typing import Any

from equipoise.another_python import another_python
from equipoise.lab.gpu.ahead.stock import Step
from equipoise.lab.gpu.awaited import facts_of
from equipoise.lab.gpu.driver import Device

ANSWERS = ("equipoise: done", "equipoise: not done")
"""What a helper says when it has looked at a step."""

Helper = subprocess.Popen[str]


class Helpers:
    """Processes that compile for a GPU and end together."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock, self._started, self._ended = Lock(), list[Helper](), False

    def start(self) -> Helper:
        """One more, unless they have been ended."""
        command, environment = another_python("-m", "equipoise.lab.gpu.ahead")
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        with self._lock:
            if self._ended:
                raise ChildProcessError("no more helpers are wanted")
            # A Ctrl-C of the terminal reaches them, too: what they say of it is for nobody.
            one = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=nowhere, env=environment, text=True
            )
            self._started.append(one)
        _say(one, facts_of(self._device))
        return one

    def end(self) -> None:
        """End them at once."""
        with self._lock:
            self._ended = True
            for one in self._started:
                one.kill()


def does(helper: Helper, step: Step) -> bool:
    """Have a step done; whether the helper lives."""
    assert helper.stdout is not None
    _say(helper, {**step.task, "is_draft": step.is_draft})
    # Libraries may print something, too.
    return any(line.startswith(ANSWERS) for line in iter(helper.stdout.readline, ""))


def _say(helper: Helper, what: Mapping[str, Any]) -> None:
    assert helper.stdin is not None
    helper.stdin.write(json.dumps(what) + "\n")
    helper.stdin.flush()
