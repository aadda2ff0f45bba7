"""Spreadsheets, read by a process of their own.

The library that reads them takes as much memory as a file says that it has cells, and ends the process where
it gets less. A damaged file is not to end that of an experimenter, nor to fill the memory: it is read by
another process, which may take so much and no more. Where there can be no other process, this one reads it.
"""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Any

from equipoise.another_python import another_python
from equipoise.errors import InvalidData
from equipoise.extras import library, need
from equipoise.lab.data import spreadsheet_reader
from equipoise.lab.data.spreadsheet_reader import READY, REASON, TABLE, first_sheet


def read_spreadsheet(path: Path, content: bytes) -> Any:
    """The first sheet of a file as a table, all of whose rows are data."""
    need("fastexcel")
    polars = library("polars")
    answer = _answer(content)
    if answer is None:
        found = first_sheet(content)
    elif answer.startswith(TABLE):
        found = polars.read_ipc(io.BytesIO(answer.removeprefix(TABLE)))
    elif answer.startswith(REASON):
        found = answer.removeprefix(REASON).decode()
    else:
        found = "its reader broke down or ran out of memory"
    if isinstance(found, str):
        raise InvalidData(f"{path} is not a spreadsheet: {found}", hint="download it again")
    return found


def _answer(content: bytes) -> bytes | None:
    """What another process says, nothing if it ends over a file; None if there is none that could read it."""
    try:
        command, environment = another_python(spreadsheet_reader.__file__)
        # Every thread of the library would take some of the memory.
        environment["POLARS_MAX_THREADS"] = "1"
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        read = subprocess.run(command, input=content, stdout=pipe, stderr=nowhere, env=environment)
    except OSError:
        return None
    _, is_ready, answer = read.stdout.partition(READY)
    if not is_ready:
        return None
    return answer if read.returncode == 0 else b""
