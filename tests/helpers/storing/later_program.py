"""A later version of this program: a copy in a folder of its own, with one more migration of its stores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import equipoise

STORES = ("sqlite", "postgresql")


class LaterProgram:
    """Runs code of the later version, in processes of its own."""

    def __init__(self, folder, migrations):
        """``migrations`` has the SQL of the second layout, by store."""
        self._folder = Path(folder)
        source = Path(equipoise.__file__).parent
        shutil.copytree(source, self._folder / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
        for kind in STORES:
            place = self._folder / "equipoise/live/stores" / kind / "migrations"
            (place / "0002_second.sql").write_text(migrations[kind])

    def start(self, code):
        """A process that has begun to run it."""
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(self._folder), *sys.path])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start_migrating(self, url):
        return self.start(
            f"from equipoise.live.stores.opening import migrate; print(migrate({url!r}))",
        )

    def run(self, code):
        """What it prints, once it has ended well."""
        return ended(self.start(code))

    def migrate(self, url):
        return ended(self.start_migrating(url))


def ended(process):
    """What a process has printed, or what it has complained of."""
    said, wrong = process.communicate(timeout=120)
    assert process.returncode == 0, wrong
    return said.strip()
