"""What pieces of a scenario are, and which there are.

A piece is a frozen dataclass of plain values with a ``kind``, which names it in files, and a ``fill`` that
draws all that a block of trials needs. A new one is one file beside this one, a ``@piece(FIELD)`` on its
class, and its name in the package's table of contents; trials run on whatever it has drawn.

Draws are functions of seed, trial and place alone, so that trial 17 is the same in any block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix

Block = npt.NDArray[np.float64]
"""[trials, …] numbers of a block of trials."""

C = TypeVar("C", bound=type[Any])

KINDS: dict[str, dict[str, type[Any]]] = {}
"""Pieces by the scenario's field that they are for, and by their kind."""


def piece(field: str) -> Callable[[C], C]:
    """Make a class known as a piece for a field of scenarios."""

    def register(kind: C) -> C:
        KINDS.setdefault(field, {})[kind.kind] = kind
        return kind

    return register


class Piece(ABC):
    """One piece."""

    kind: ClassVar[str]


class Contexts(Piece):
    """Where contexts come from."""

    steady: ClassVar[bool] = True
    """Whether units that come early and late are alike; else contexts depend on the number of units."""

    @abstractmethod
    def covariance_matrix(self, dim: int) -> Matrix:
        """E[xxᵀ] of ``dim`` features."""

    @property
    def mixes(self) -> bool:
        """Whether ``fill`` leaves uncorrelated features of variance 1, for the covariance to mix."""
        return True

    @property
    def skewness(self) -> float:
        """E[z³] of features before they are mixed, if independent; 0 where x and −x are alike."""
        return 0.0

    @abstractmethod
    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write features ``first``, … of [trials, units, features], of trials ``trial``, …."""


class Noise(Piece):
    """The shape of the noise."""

    at_hand: ClassVar[bool] = True
    """Whether ``fill`` draws it beforehand; else trials draw normal noise when they need it."""

    @abstractmethod
    def fill(self, shocks: Block, seed: int, trial: int) -> None:
        """Write [trials, arms, pulls] of mean 0 and variance 1."""


class Delays(Piece):
    """When outcomes arrive."""

    mean: float

    @abstractmethod
    def discount(self, rate: float, *, in_time: bool) -> float:
        """E[exp(−rate·delay)]: the share that is still there when outcomes arrive."""

    @abstractmethod
    def check_units(self) -> None:
        """Refuse what cannot be counted in units."""

    @abstractmethod
    def fill(self, delays: npt.NDArray[np.int64], seed: int, trial: int) -> None:
        """Write [trials, units]: units that are asked for before the outcome arrives."""

    @abstractmethod
    def fill_times(self, waits: Block, seed: int, trial: int) -> None:
        """Write [trials, units]: time that passes before the outcome arrives."""


class Accruals(Piece):
    """When units arrive."""

    time: str
    """What the unit of time is called."""

    @abstractmethod
    def fill(self, times: Block, seed: int, trial: int) -> None:
        """Write [trials, units]: times of arrival, in ascending order."""

    @abstractmethod
    def expected_time(self, units: float) -> float:
        """About the time at which so many units have arrived."""


class Leaving(Piece):
    """Who leaves before the outcome arrives."""

    rate: float | tuple[float, ...]

    @abstractmethod
    def check(self, arms: int) -> None:
        """Refuse a number of arms that it cannot be for."""

    @abstractmethod
    def fill(self, leaves: Block, seed: int, trial: int) -> None:
        """Write [trials, units, arms]: how long a unit of that arm would stay."""


class Stops(Piece):
    """When a trial ends before its budget does."""

    target: float
    by: str

    @abstractmethod
    def looks(self, arms: int, dim: int, units: int) -> range:
        """Numbers of units at which the estimates are looked at."""


class Outcomes(Piece):
    """Outcomes that are no real numbers: what is asked of them is the best linear fit."""

    code: ClassVar[int]
    """What compiled trials know the link by; see :mod:`equipoise.lab.pieces.outcomes.links`."""

    @abstractmethod
    def curves(self, noise: Sequence[float]) -> Matrix:
        """[arms, 4] level and effect of every arm's predictor, mean and slope of its best linear fit."""

    @abstractmethod
    def fill(self, shocks: Block, seed: int, trial: int) -> None:
        """Write [trials, arms, pulls] that are uniform on (0, 1)."""


class Truth(Piece):
    """Where the arms' coefficients come from."""

    @abstractmethod
    def check(self, arms: int, dim: int) -> None:
        """Refuse numbers of arms and features that it cannot be for."""

    @abstractmethod
    def fill(self, coefs: Block, seed: int, trial: int) -> None:
        """Write [trials, arms, features]."""
