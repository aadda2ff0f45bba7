"""16 processes on one experiment: exact counts, one history, and decisions that the log alone reproduces.

``EQUIPOISE_UNITS`` sets how many units each process of the slow test asks for and tells of.
"""

import os

import pytest
from other_process import GENERIC, output_of
from torture.harness import Torture
from torture.worker import steps

import equipoise as eq

UNITS = int(os.environ.get("EQUIPOISE_UNITS", "1000"))
PROCESSES = 16


def worked(nursery, url, name, folder, units):
    """Let all work to their ends; gives where the archive of the log is."""
    torture = Torture(nursery, url, name, folder, workers=PROCESSES, units=units, seconds=1800)
    torture.start()
    torture.finish()
    calls, rows = torture.judge()
    assert torture.errors() == []
    done = [(act, unit) for job in torture.jobs for c in job.clients for act, unit, _ in steps(c, units)]
    assert len(calls) == len(done) == 2 * PROCESSES * units
    assert all(call.answer is not None for call in calls)
    assert len(rows) == 1 + len(set(done))
    return torture.folder / "log.jsonl.gz"


def verified(archive):
    """What verifying an archive comes to, as text; runs in other processes, too."""
    found = eq.verify_archive(archive)
    return f"{found.rows} rows, {found.decided} decisions, {found.head}"


def test_sixteen_processes(nursery, url, name, tmp_path):
    worked(nursery, url, name, tmp_path, 8)


@pytest.mark.slow
def test_sixteen_processes_for_long(nursery, url, name, tmp_path):
    """Verified also without the fast way to compile, and for a processor without newer instructions."""
    archive = worked(nursery, url, name, tmp_path, UNITS)
    here, call = verified(archive), f"verified({str(archive)!r})"
    plain = {"EQUIPOISE_COMPILE": "plain", "EQUIPOISE_KERNELS": str(tmp_path / "plain")}
    assert output_of(__file__, call, **plain) == here
    generic = {**GENERIC, "EQUIPOISE_KERNELS": str(tmp_path / "generic")}
    assert output_of(__file__, call, **generic) == here
