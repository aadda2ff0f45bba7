"""Dask clusters: a checked connection, as an executor that :func:`equipoise.simulate` takes."""

from __future__ import annotations

import asyncio
import pickle
import platform
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from equipoise.errors import ClusterUnreachable
from equipoise.extras import library

# Same versions, same numbers: these decide what the compiled trials compute.
_PACKAGES = ("equipoise", "numba", "numpy", "scipy")
_LARGE = 1_000_000  # bytes


@contextmanager
def cluster_executor(address: str, *, timeout: float = 5.0) -> Iterator[Executor]:
    """An executor on the workers of the Dask cluster at ``address``.

    Chunks whose worker dies run again on another one, with the same numbers. On leaving, whatever
    still runs is cancelled; the cluster itself stays up.

    Parameters
    ----------
    address
        Address of the scheduler, e.g. ``tcp://10.0.0.5:8786``.
    timeout
        Seconds within which the scheduler must answer and a first worker must be there.
    """
    client_type = library("distributed").Client
    _check_scheduler(address, timeout)
    try:
        client = client_type(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise _unreachable(address, str(error)) from None
    with client:
        _check_workers(client, address, timeout)
        # Not pure: two runs that ask for the same chunk must not cancel each other's.
        executor = client.get_executor(pure=False)
        executor.share = partial(_share, client)
        try:
            yield executor
        except CancelledError:
            raise ClusterUnreachable(
                f"the cluster at {address} went away",
                hint="start it again; with a checkpoint the run goes on where it stopped",
            ) from None
        finally:
            executor.shutdown(wait=False)


def _share(client: Any, value: Any) -> Any:
    """Send something large to every worker once; small things travel with every chunk."""
    arrays: list[pickle.PickleBuffer] = []  # left where they are, to measure without a copy
    size = len(pickle.dumps(value, protocol=5, buffer_callback=arrays.append))
    if size + sum(array.raw().nbytes for array in arrays) < _LARGE:
        return value
    return client.scatter(value, broadcast=True, hash=False)


def _check_scheduler(address: str, timeout: float) -> None:
    """Dask's own client waits for ever on a port that accepts connections and says nothing."""
    if "://" not in address:
        raise _unreachable(address, "that is not the address of a scheduler")
    # In a thread, as notebooks have an event loop of their own in this one.
    with ThreadPoolExecutor(1) as thread:
        try:
            kind = thread.submit(asyncio.run, _kind_of_server(address, timeout)).result()
        except OSError:
            raise _unreachable(address, f"nothing answered within {timeout:g} s") from None
        except Exception as error:  # a wrong address, or an answer in another protocol
            raise _unreachable(address, str(error) or "what answered does not speak Dask") from None
    if kind != "Scheduler":
        raise _unreachable(address, f"that is a {kind.lower()}, not a scheduler")


async def _kind_of_server(address: str, timeout: float) -> str:
    import distributed

    dask: Any = distributed
    arguments = dask.Security().get_connection_args("client")
    async with dask.rpc(address, timeout=timeout, connection_args=arguments) as server:
        identity = await asyncio.wait_for(server.identity(), timeout)
    return str(identity["type"])


def _check_workers(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise ClusterUnreachable(
            f"the cluster at {address} has no workers", hint=f"start some: dask worker {address}"
        ) from None
    here = _version_reader()()
    for worker, there in client.run(_version_reader()).items():
        for name, expected in here.items():
            if there[name] is None:
                raise ClusterUnreachable(
                    f"worker {worker} has no {name}",
                    hint="install there what is installed here, then restart the workers: pip install "
                    f"equipoise=={here['equipoise']}",
                )
            if there[name] != expected:
                raise ClusterUnreachable(
                    f"worker {worker} has {name} {there[name]}, this machine has {expected}: results could "
                    "differ",
                    hint="install the same version on both, then restart the workers",
                )


def _version_reader() -> Any:
    """A function that travels whole, as workers without equipoise could not look it up."""
    packages, read, absent, python = _PACKAGES, version, PackageNotFoundError, platform.python_version_tuple

    def versions() -> dict[str, str | None]:
        found: dict[str, str | None] = {"Python": ".".join(python()[:2])}
        for name in packages:
            try:
                found[name] = read(name)
            except absent:
                found[name] = None
        return found

    return versions


def _unreachable(address: str, reason: str) -> ClusterUnreachable:
    return ClusterUnreachable(
        f"no Dask scheduler at {address!r}: {reason}",
        hint="start one with `dask scheduler` and pass the address that it prints, e.g. tcp://127.0.0.1:8786",
    )
