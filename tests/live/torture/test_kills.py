"""kill -9 at random moments, under load: every acknowledged call is there, none doubled, all bits as ever.

``EQUIPOISE_KILLS`` sets how many kills the slow tests make on each store.
"""

import os
import signal
import time

import pytest
from torture.harness import Torture

KILLS = int(os.environ.get("EQUIPOISE_KILLS", "270"))


def killed(nursery, url, name, folder, kills, *, workers, threads, apart):
    """Kill workers under load, and judge; gives the calls and the rows."""
    torture = Torture(nursery, url, name, folder, workers=workers, threads=threads, seconds=60 + 3 * kills)
    torture.start()
    torture.kill_some(kills, apart)
    torture.stop()
    calls, rows = torture.judge()
    assert torture.errors() == []
    assert sum(call.answer is not None for call in calls) > kills, "nothing was done between the kills"
    return calls, rows


def test_a_few_kills(nursery, url, name, tmp_path):
    killed(nursery, url, name, tmp_path, 8, workers=3, threads=1, apart=15)


@pytest.mark.slow
def test_hundreds_of_kills(nursery, url, name, tmp_path):
    """Together over both stores more than 500."""
    calls, _ = killed(nursery, url, name, tmp_path, KILLS, workers=4, threads=2, apart=60)
    # Most kills hit somebody in the middle of a call.
    assert sum(call.answer is None for call in calls) > KILLS / 2


def test_who_works_for_others_is_killed(nursery, url, name, tmp_path):
    """Threads wait for one of them that commits for all: nobody was told of what is not stored."""
    calls, _ = killed(nursery, url, name, tmp_path, 4, workers=1, threads=8, apart=30)
    assert sum(call.answer is None for call in calls) >= 8


@pytest.mark.slow
def test_who_works_for_others_is_killed_often(nursery, url, name, tmp_path):
    killed(nursery, url, name, tmp_path, KILLS // 5, workers=2, threads=16, apart=150)


def backends(server):
    """Processes of the server that work for clients; those who did nothing yet are left out."""
    found = server.run_sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'equipoise' AND state IS NOT NULL"
    )
    return [pid for (pid,) in found]


def restart(server):
    server.stop("immediate")
    server.start()


def end_sessions(server):
    """Every connection is ended, as an administrator does it."""
    server.run_sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'equipoise'"
    )


def kill_backend(server):
    """One process of the server dies; it ends all others, and recovers."""
    for pid in backends(server)[:1]:
        os.kill(pid, signal.SIGKILL)
    _wait_for(server)


def _wait_for(server):
    import psycopg

    for _ in range(200):
        try:
            return server.run_sql("SELECT 1")
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise AssertionError("the server did not come back")


def faults(nursery, server, url, name, folder, acts, apart, kills=0):
    """The server is hit while clients work; they wait and repeat, and nothing is lost."""
    torture = Torture(nursery, url, name, folder, workers=3, threads=2, seconds=120 + 5 * len(acts))
    torture.start()
    for act in acts:
        torture.let_work(apart)
        act(server)
        torture.kill_some(kills, apart)
    torture.let_work(apart)
    torture.stop()
    calls, _ = torture.judge()
    assert sum(call.answer is not None for call in calls) > 5 * len(acts)
    return torture


def test_a_server_that_dies(nursery, own_server, own_url, name, tmp_path):
    torture = faults(
        nursery, own_server, own_url, name, tmp_path, [end_sessions, kill_backend, restart], apart=60
    )
    assert all("Store" in error or "CommitUnknown" in error for error in torture.errors())


@pytest.mark.slow
def test_a_server_that_dies_often(nursery, own_server, own_url, name, tmp_path):
    acts = [restart, kill_backend, end_sessions] * 10
    faults(nursery, own_server, own_url, name, tmp_path, acts, apart=60, kills=1)
