"""What one client saw, line by line in a file that outlives the client.

The line of a call is written before it is made, the line of its answer before the next one: whoever is killed
leaves at most one call whose end nobody knows. What is written is the system's, so a kill does not take it.
"""

from __future__ import annotations

import json
import os
import time
from math import inf
from pathlib import Path

from torture.histories import Call


class Journal:
    """The file of one client, continued where it was left."""

    def __init__(self, path):
        self.path = Path(path)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        whole = self.path.read_bytes()
        os.truncate(self._file, whole.rfind(b"\n") + 1)  # a line that was cut is no line
        self.done = sum(line.startswith(b'["done"') for line in whole.splitlines())
        """Calls that were acknowledged."""

    def begin(self, act, unit, value):
        self._write("call", act, unit, value)

    def acknowledged(self, answer):
        self._write("done", answer)
        self.done += 1

    def failed(self, error, *, unknown):
        self._write("unknown" if unknown else "refused", f"{type(error).__name__}: {error}")

    def close(self):
        os.close(self._file)

    def _write(self, *entry):
        os.write(self._file, json.dumps([entry[0], time.monotonic(), *entry[1:]]).encode() + b"\n")


def calls_in(path):
    """The calls of a journal, which is named after its client."""
    client, calls, begun = Path(path).stem, [], None
    for line in Path(path).read_bytes().split(b"\n")[:-1]:
        kind, moment, *rest = json.loads(line)
        if kind == "call":
            if begun is not None:
                calls.append(_call(client, begun))
            begun = moment, *rest
        else:
            assert begun is not None
            calls.append(_call(client, begun, kind, moment, rest[0]))
            begun = None
    return calls if begun is None else [*calls, _call(client, begun)]


def errors_in(path):
    """What went wrong for a client, in words."""
    lines = [json.loads(line) for line in Path(path).read_bytes().split(b"\n")[:-1]]
    return [line[2] for line in lines if line[0] in ("unknown", "refused")]


def _call(client, begun, kind="unknown", end=inf, answer=None):
    begin, act, unit, value = begun
    return Call(
        client=client,
        act=act,
        unit=unit,
        value=value,
        begin=begin,
        end=inf if kind == "unknown" else end,
        answer=answer if kind == "done" else None,
        refused=kind == "refused",
    )
