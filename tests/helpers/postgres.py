"""A real PostgreSQL server for the test session: in a folder of its own, reached by a socket in that folder.

All workers of a session share one server. Whoever comes first starts it, whoever leaves last stops it.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

PLACES = [Path("/usr/lib/postgresql"), Path("/usr/local/pgsql"), Path("/opt/homebrew/opt/postgresql")]
# The machine does not crash in tests, only programs do: what the system has taken is safe without a sync.
OPTIONS = "-c fsync=off -c full_page_writes=off -c max_connections=200 -c shared_buffers=32MB"


class Server:
    """A server that can be started and stopped."""

    def __init__(self, folder, options=OPTIONS):
        self.folder, self.options = Path(folder), options
        self.data = self.folder / "data"

    def make(self):
        """A new cluster."""
        self.folder.mkdir(mode=0o755, exist_ok=True)
        self.folder.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(self.folder, server_user())
        self._run(
            "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"
        )

    def start(self):
        self._run(
            "pg_ctl",
            *("--wait", f"--log={self.folder / 'server.log'}"),
            *("--options", f"-k {self.folder} -c listen_addresses='' {self.options}", "start"),
        )

    def stop(self, how="fast"):
        self._run("pg_ctl", "--wait", f"--mode={how}", "stop")

    def remove(self):
        """Stop it at once if it runs, and remove its folder."""
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="postgres"):
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def run_sql(self, sql, database="postgres"):
        """Statements, each on its own; gives the rows of the last."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def new_database(self):
        name = f"test_{secrets.token_hex(6)}"
        self.run_sql(f"CREATE DATABASE {name}")
        return name

    def _run(self, program, *arguments):
        # pg_ctl's child keeps what it inherits: a file, since a pipe would never end.
        with (self.folder / "commands.log").open("w+") as log:
            done = subprocess.run(
                [binary(program), f"--pgdata={self.data}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                **(
                    {"user": server_user(), "group": server_user(), "extra_groups": []}
                    if os.getuid() == 0
                    else {}
                ),
            )
            log.seek(0)
            assert done.returncode == 0, f"{program}: {log.read()}"


def binary(name):
    """Where a program of the server is; Debian keeps them off the path."""
    found = shutil.which(name)
    if found:
        return found
    candidates = sorted(path for place in PLACES for path in place.glob(f"**/bin/{name}"))
    return str(candidates[-1]) if candidates else None


def server_user():
    """The server refuses to run as root."""
    return "postgres"


def why_not():
    """Why there can be no server here, or None."""
    if not all(binary(name) for name in ("initdb", "pg_ctl", "postgres")):
        return "no PostgreSQL server is installed"
    if os.getuid() == 0:
        try:
            pwd.getpwnam(server_user())
        except KeyError:
            return "PostgreSQL does not run as root, and there is no user 'postgres'"
    return None


def skip_without_server():
    """Skip where there is no server; in CI there must be one."""
    reason = why_not()
    if reason and os.environ.get("EQUIPOISE_CI"):
        pytest.fail(f"{reason}, and CI must test it")
    if reason:
        pytest.skip(reason)


@contextmanager
def shared_server(session):
    """The server of a session, by its name; started by the first user and stopped by the last."""
    folder = Path(tempfile.gettempdir()) / f"equipoise-pg-{session}"
    with _only_one(folder):
        server, users = Server(folder), Path(f"{folder}.users")
        if not users.exists():
            server.make()
            server.start()
        with users.open("a") as file:
            file.write(f"{os.getpid()}\n")
    try:
        yield server
    finally:
        with _only_one(folder):
            living = {pid for pid in users.read_text().split() if pid != str(os.getpid()) and _lives(pid)}
            users.write_text("".join(f"{pid}\n" for pid in living))
            if not living:
                server.remove()
                users.unlink()
                Path(f"{folder}.lock").unlink()


@contextmanager
def _only_one(folder):
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lives(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="session")
def postgres_server():
    """The session's server."""
    skip_without_server()
    with shared_server(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres_server):
    """A database of this worker's own, with the tables of experiments."""
    from equipoise.live.stores.opening import migrate

    url = postgres_server.url(postgres_server.new_database())
    migrate(url)
    return url


@pytest.fixture
def empty_postgres(postgres_server):
    """A database of this test's own, with nothing in it."""
    name = postgres_server.new_database()
    yield postgres_server.url(name)
    postgres_server.run_sql(f"DROP DATABASE {name} WITH (FORCE)")
