"""A disk that does not bring to it what it has taken: every sync of a write-ahead log fails."""

from __future__ import annotations

import secrets
from contextlib import contextmanager

import apsw


class FailingDisk:
    """While it fails, whatever is committed is in the system's hands, and perhaps nowhere else."""

    def __init__(self):
        self.failures = 0
        """How many of the next syncs fail."""
        self.failed = 0
        self.synced = 0


@contextmanager
def failing_disk():
    """SQLite files that are opened inside are on such a disk."""
    disk, name, before = FailingDisk(), f"failing-{secrets.token_hex(4)}", apsw.vfs_names()[0]

    class File(apsw.VFSFile):
        def xSync(self, flags):  # noqa: N802 - SQLite's name
            if disk.failures:
                disk.failures -= 1
                disk.failed += 1
                raise apsw.IOError("the disk has failed")
            disk.synced += 1
            super().xSync(flags)

    class Disk(apsw.VFS):
        def __init__(self):
            super().__init__(name, base=before, makedefault=True)

        def xOpen(self, path, flags):  # noqa: N802 - SQLite's name
            return File(before, path, flags)

    opened = Disk()
    try:
        yield disk
    finally:
        apsw.set_default_vfs(before)
        opened.unregister()
