"""``--cluster`` and ``--device``: where trials run, the same for every command that simulates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from concurrent.futures import Executor

cluster_option = click.option("--cluster", metavar="tcp://…", help="Scheduler of a Dask cluster to run on.")
device_option = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "auto"]),
    default="cpu",
    show_default=True,
    help="cuda: an NVIDIA GPU, with the same numbers; auto: if there is one, for what it can run.",
)


def check_cluster(cluster: str | None, workers: int | None) -> None:
    """Refuse a cluster together with a number of threads."""
    if cluster is not None and workers is not None:
        raise InvalidArgument("--workers is for threads, which --cluster does without", hint="leave one out")


@contextmanager
def executor_on(cluster: str | None) -> Iterator[Executor | None]:
    """An executor on the cluster; None, which stands for threads, without one."""
    if cluster is None:
        yield None
        return
    from equipoise.lab.running.cluster import cluster_executor

    with cluster_executor(cluster) as executor:
        yield executor
