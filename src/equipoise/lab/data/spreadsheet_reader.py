"""The process that reads a spreadsheet: a file comes in, its table goes out, or why there is none.

It is run as a program, and imports nothing of the package, which would take longer than most files.
"""

import os
import sys
from contextlib import suppress
from typing import Any

READY, TABLE, REASON = b"equipoise: ready to read\n", b"T", b"R"
"""What it says first, and what an answer begins with."""
_MEMORY = 2**32
"""Bytes that it may take. The published files are read with that (tests/lab/data/test_jester.py)."""


def main() -> None:
    """Read one file."""
    # Whatever libraries print goes elsewhere.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        _import_libraries()
        _limit()
        out.write(READY)
        out.flush()
        found = first_sheet(sys.stdin.buffer.read())
        if isinstance(found, str):
            out.write(REASON + found.encode())
        else:
            out.write(TABLE)
            found.write_ipc(out)


def first_sheet(content: bytes) -> Any:
    """The first sheet of a file as a table, all of whose rows are data; or in words why there is none."""
    import fastexcel

    try:
        return fastexcel.read_excel(content).load_sheet(0, header_row=None).to_polars()
    except BaseException as error:
        # A panic in the library's own language is no Exception, and has no name to import.
        if not isinstance(error, fastexcel.FastExcelError) and type(error).__name__ != "PanicException":
            raise
        return str(error).partition("\n")[0]


def _import_libraries() -> None:
    import fastexcel  # noqa: F401
    import polars  # noqa: F401


def _limit() -> None:
    """Take no more than some memory, and leave no image of it behind."""
    # Not every system knows such limits, or lets them be set.
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if soft == resource.RLIM_INFINITY or soft > _MEMORY:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, hard))


if __name__ == "__main__":
    main()
