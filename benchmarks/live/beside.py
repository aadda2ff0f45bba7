"""What live experiments are compared with: bare commits, and Optuna, each as it comes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clients

SPEED = Path(__file__).resolve().parents[1] / "speed"


def commits() -> Any:
    """The benchmark of bare commits, and its server."""
    if str(SPEED) not in sys.path:
        sys.path.append(str(SPEED))
    return importlib.import_module("commits")


def optuna_studies(url: str, names: list[str], *, create: bool = True) -> list[Any]:
    """Studies in a database: random search over one number."""
    optuna: Any = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url)
    sampler = optuna.samplers.RandomSampler(seed=1)
    open_study = optuna.create_study if create else optuna.load_study
    return [open_study(study_name=name, storage=storage, sampler=sampler) for name in names]


def optuna_pairs(study: Any, number: int) -> None:
    """Ask and tell."""
    for i in range(number):
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        study.tell(trial, float(i))


def optuna_working_on(url: str, names: list[str], each: int) -> Callable[[int], Callable[[], object]]:
    """As ``clients.working_on``, with studies: the first calls, which connect, are not timed here either."""

    def prepare(k: int) -> Callable[[], object]:
        studies = optuna_studies(url, names, create=False)
        optuna_pairs(studies[0], clients.WARMING)

        def act() -> None:
            for i in range(each):
                optuna_pairs(studies[(i * (2 * k + 1) + k) % len(studies)], 1)

        return act

    return prepare


def optuna_url(url: str) -> str:
    """A URL of a server as SQLAlchemy wants it, with our driver."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
