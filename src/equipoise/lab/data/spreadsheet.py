"""Spreadsheets, read by a process of their own.

The library that reads them takes as much memory as a file says that it has cells, and ends the process where
there is not as much: a damaged file is not to end that of an experimenter.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from equipoise.errors import InvalidData
from equipoise.extras import library, need
from equipoise.lab.data import spreadsheet_reader
from equipoise.lab.data.spreadsheet_reader import REASON, TABLE


def read_spreadsheet(path: Path, content: bytes) -> Any:
    """The first sheet of a file as a table, all of whose rows are data."""
    need("fastexcel")
    polars = library("polars")
    read = subprocess.run(
        [sys.executable, "-P", spreadsheet_reader.__file__],
        input=content,
        stdout=subprocess.PIPE,
        # What the library says of columns without numbers, or of its own end, helps nobody.
        stderr=subprocess.DEVNULL,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},  # every thread would take some of the memory
    )
    kind, answer = read.stdout[:1], read.stdout[1:]
    if read.returncode == 0 and kind == TABLE:
        return polars.read_ipc(io.BytesIO(answer))
    reason = answer.decode() if kind == REASON else "its reader broke down, as over sizes that cannot be"
    raise InvalidData(f"{path} is not a spreadsheet: {reason}", hint="download it again")
