"""The process that reads a spreadsheet: a file comes in, its table goes out, or why there is none.

It is run as a program, and imports nothing of the package, which would take longer than most files.
"""

import sys
from contextlib import suppress

TABLE, REASON = b"T", b"R"
"""What goes out begins with one of them."""
_MEMORY = 2**32
"""Bytes that it may take: many times what the largest sheet of the old format needs."""


def main() -> None:
    """Read one file."""
    import fastexcel

    _limit_memory()
    out = sys.stdout.buffer
    try:
        table = fastexcel.read_excel(sys.stdin.buffer.read()).load_sheet(0, header_row=None).to_polars()
    except BaseException as error:
        # A panic in the library's own language is no Exception, and has no name to import.
        if not isinstance(error, fastexcel.FastExcelError) and type(error).__name__ != "PanicException":
            raise
        out.write(REASON + str(error).partition("\n")[0].encode())
        return
    out.write(TABLE)
    table.write_ipc(out)


def _limit_memory() -> None:
    # Not every system knows such limits, or lets them be set.
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    main()
