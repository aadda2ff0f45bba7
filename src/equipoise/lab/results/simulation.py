"""What a simulation found: policies compared on the same trials, saved and read again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.estimates.defaults import CLASSICAL
from equipoise.core.tables.tidy import TidyTable
from equipoise.core.theory.static import optimal_loss
from equipoise.errors import InvalidArgument
from equipoise.files import write_whole
from equipoise.lab.arena import Setting
from equipoise.lab.results.estimate import Estimate, finite, mean_estimate, plain_estimate, quantile_estimate
from equipoise.lab.results.policy import PolicyResult, result_weights
from equipoise.lab.results.words import LOSSES
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.ledger import Ledger
from equipoise.unpacking import Damaged, load_npz


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Policies compared on common random numbers."""

    scenario: Setting
    seed: int
    version: str
    policies: Mapping[str, PolicyResult]
    numerics: int = NUMERICS
    """The bits that the trials were run with, see :data:`equipoise.NUMERICS`."""

    def __getitem__(self, name: str) -> PolicyResult:
        try:
            return self.policies[name]
        except KeyError:
            raise InvalidArgument(
                f"{name!r} was not simulated", hint=f"simulated: {', '.join(self.policies)}"
            ) from None

    @property
    def trials(self) -> int:
        """Trials of every policy."""
        return next(iter(self.policies.values())).trials

    @property
    def intervals(self) -> str:
        """Whose coverage was judged: ``"classical"`` or ``"robust"``."""
        return str(getattr(self.scenario, "intervals", CLASSICAL))

    @property
    def unit(self) -> str:
        """What losses are measured in."""
        return "squared units of the outcome"

    @property
    def metadata(self) -> dict[str, Any]:
        """Everything that is needed to run it again."""
        return {
            "version": self.version,
            "numerics": self.numerics,
            "seed": self.seed,
            "trials": self.trials,
            "scenario": self.scenario.to_dict(),
            "policies": {name: policy.spec for name, policy in self.policies.items()},
            "units": self.unit,
        }

    def losses(self, *, quantiles: tuple[float, ...] = ()) -> TidyTable:
        """Tidy table: policy, loss, value, stderr."""
        rows = []
        for name, policy in self.policies.items():
            losses = self.losses_of(name)
            for level in quantiles:
                losses[f"quantile_max_{level:g}"] = policy.quantile_max(level)
            rows += [(name, loss, estimate.value, estimate.stderr) for loss, estimate in losses.items()]
        return TidyTable(["policy", "loss", "value", "stderr"], rows, self.metadata)

    def losses_of(self, name: str) -> dict[str, Estimate]:
        """All losses of one policy, by name."""
        policy = self[name]
        chosen = {"recovery": policy.recovery()} if policy.chooses_features else {}
        return {
            "expected_max": policy.expected_max(),
            "median_max": policy.median_max(),
            "mean": policy.mean(),
            "regret": self.regret(name),
            "coverage": policy.coverage(),
            **chosen,
        }

    def regret(self, name: str) -> Estimate:
        """L_n minus the loss L*_n of the optimal static allocation, eq. (9), among features that matter.

        Against the simulated oracle, paired, if it was simulated; else against the closed form, which
        holds for OLS and Gaussian contexts and knows no floors, caps, closures and losses. Always of the
        largest error, whatever the objective.
        """
        oracle = self._oracle()
        if oracle is not None:
            return self.difference(name, oracle)
        own = self[name].expected_max()
        scenario = self.scenario
        weighted = np.array(scenario.noise) * (
            1.0 if scenario.weights is None else np.array(scenario.weights)
        )
        costs = 1.0 if scenario.costs is None else scenario.costs
        optimum = optimal_loss(weighted, self.features, scenario.budget, costs)
        return Estimate(own.value - optimum if math.isfinite(optimum) else math.nan, own.stderr, own.trials)

    @property
    def features(self) -> int:
        """How many features matter."""
        truth = getattr(self.scenario, "truth", None)
        return self.scenario.dim if truth is None else int(truth.features)

    def _oracle(self) -> str | None:
        best = "oracle" if self.features == self.scenario.dim else "sparse-oracle"
        for policy in self.policies.values():
            if policy.spec.partition(":")[0] == best:
                return policy.name
        return None

    def difference(self, name: str, reference: str, loss: str = "expected_max") -> Estimate:
        """Paired difference of a loss between two policies, with its error.

        ``loss`` is ``"expected_max"``, ``"median_max"`` (median of the paired differences of the
        worst errors) or ``"mean"``.
        """
        one, other = self[name], self[reference]
        if loss == "expected_max":
            mine = one.errors[:, int(np.argmax(one.errors.mean(axis=0)))]
            theirs = other.errors[:, int(np.argmax(other.errors.mean(axis=0)))]
            return mean_estimate(mine - theirs)
        if loss == "mean":
            return mean_estimate(one.errors.mean(axis=1) - other.errors.mean(axis=1))
        if loss == "median_max":
            return quantile_estimate(one.worst - other.worst, 0.5)
        raise InvalidArgument(f"no loss {loss!r}", hint="use expected_max, median_max or mean")

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "version": self.version,
            "numerics": self.numerics,
            "scenario": self.scenario.to_dict(),
            "arms": list(self.scenario.arms),
            "features": list(self.scenario.problem().feature_names),
            "trials": self.trials,
            "seed": self.seed,
            "policies": {name: self._record_of(name) for name in self.policies},
        }

    def _record_of(self, name: str) -> dict[str, Any]:
        policy = self[name]
        return {
            "expected_max": plain_estimate(policy.expected_max()),
            "median_max": plain_estimate(policy.median_max()),
            "mean": plain_estimate(policy.mean()),
            "regret": plain_estimate(self.regret(name)),
            "difference": self._difference_record(name),
            "errors": [plain_estimate(estimate) for estimate in policy.arm_errors()],
            "pulls": [estimate.value for estimate in policy.pulls()],
            "units": plain_estimate(policy.units()),
            **self._course_of(policy),
            "coverage": plain_estimate(policy.coverage()),
            **({"recovery": plain_estimate(policy.recovery())} if policy.chooses_features else {}),
            "decisions_per_second": finite(policy.decisions_per_second),
        }

    def _difference_record(self, name: str) -> dict[str, Any]:
        """Paired differences to the first policy, and which that is."""
        first = next(iter(self.policies))
        return {"to": first, **{loss: plain_estimate(self.difference(name, first, loss)) for loss in LOSSES}}

    def _course_of(self, policy: PolicyResult) -> dict[str, Any]:
        """How long trials took, and how many a target ended, where there is a calendar or a target."""
        found = {"duration": policy.duration(), "stopped": policy.stopped()}
        return {name: plain_estimate(each) for name, each in found.items() if not math.isnan(each.value)}

    def save(self, path: str | Path) -> None:
        """Every trial's numbers and the metadata, as a NumPy archive."""
        arrays = {}
        for index, policy in enumerate(self.policies.values()):
            for field in Ledger._fields:
                arrays[f"{index}_{field}"] = getattr(policy.ledger, field)
        header = json.dumps(self._header())
        write_whole(path, lambda file: np.savez_compressed(file, header=np.array(header), **arrays))

    @classmethod
    def load(cls, path: str | Path) -> SimulationResult:
        """What :meth:`save` wrote."""
        return load_npz(path, lambda arrays: cls._read(path, arrays), "result")

    @classmethod
    def _read(cls, path: str | Path, arrays: Mapping[str, npt.NDArray[Any]]) -> SimulationResult:
        header = json.loads(str(arrays["header"]))
        cls._check_kind(path, header["scenario"])
        scenario = cls._read_scenario(header["scenario"])
        weights = result_weights(scenario)
        policies = {}
        for index, (name, spec) in enumerate(header["policies"].items()):
            try:
                ledger = Ledger(*(arrays[f"{index}_{field}"] for field in Ledger._fields))
            except KeyError:
                raise InvalidArgument(
                    f"{path} was written by equipoise {header['version']}, which knew other numbers",
                    hint="run it again",
                ) from None
            _check_ledger(ledger, header["trials"], len(weights))
            seconds, decisions = map(float, header["timing"][index])
            policies[str(name)] = PolicyResult(str(name), str(spec), ledger, weights, seconds, int(decisions))
        if not policies:
            raise Damaged("it holds no policies")
        version = str(header["version"])
        numerics = int(header["numerics"])
        return cls(scenario, int(header["seed"]), version, policies, numerics, **cls._read_rest(header))

    def _header(self) -> dict[str, Any]:
        """What a file holds besides the numbers of the trials."""
        timing = [(policy.seconds, policy.decisions) for policy in self.policies.values()]
        return {**self.metadata, "timing": timing}

    @classmethod
    def _check_kind(cls, path: str | Path, values: Mapping[str, Any]) -> None:
        if "targets" in values:
            raise InvalidArgument(
                f"{path} holds a replay, not a simulation", hint="read it with eq.ReplayResult.load"
            )

    @classmethod
    def _read_rest(cls, header: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    @classmethod
    def _read_scenario(cls, values: Mapping[str, Any]) -> Setting:
        return Scenario.from_dict(values)

    def __str__(self) -> str:
        return str(self.losses())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.losses()._repr_html_()


def _check_ledger(ledger: Ledger, trials: int, arms: int) -> None:
    for field, part in ledger._asdict().items():
        columns = {"support": (2,), "course": (4,)}.get(field, (arms,))
        if part.shape != (trials, *columns) or part.dtype.kind not in "fi" or not trials:
            raise Damaged(f"the numbers of {field} are not one row a trial")
