"""A policy that is not at hand: an experiment under it opens, folds and reports, and does not decide."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.jit.fingerprint import code_fingerprint
from equipoise.core.policies.base.plugins import source_of
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy, PolicyNotAtHand, UnknownPolicy

_OWN = "equipoise."
_FLAGS = ("forced_start", "looks", "pools")


def policy_source(policy: Policy) -> str | None:
    """A hash of the source of a policy of one's own; None for those of this package."""
    if isinstance(policy, AbsentPolicy):
        return policy.source
    kind = type(policy)
    if f"{kind.__module__}.".startswith(_OWN):
        return None
    source = source_of(kind)
    try:
        text = inspect.getsource(kind) if source is None else source.text
    except (OSError, TypeError):  # typed in a terminal
        text = code_fingerprint(kind)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def policy_traits(policy: Policy) -> dict[str, Any]:
    """What folding a log needs to know of a policy, should it not be at hand."""
    if isinstance(policy, AbsentPolicy):
        return dict(policy.traits)
    kind = type(policy)
    flags = {name: getattr(kind, name) for name in _FLAGS}
    rest = {"spread": policy.keeps_spread(), "chance": policy.lots()}
    return {**flags, "staged": kind.staged, "weighs": kind.weighs, **rest}


class AbsentPolicy(Policy):
    """Stands for a policy whose source is not at hand, or is another one than it was."""

    plain: Mapping[str, Any]
    """The policy as the log has it."""
    source: str | None
    traits: Mapping[str, Any]
    why: str

    def __reduce__(self) -> Any:
        return _absent, (self.plain, self.source, self.traits, self.why)

    @property
    def spec(self) -> str:
        """Its text form, as far as it can be told."""
        arguments = [f"{name}={value}" for name, value in self.plain.items() if name != "name"]
        return ":".join([str(self.plain["name"]), *arguments])

    def to_dict(self) -> dict[str, Any]:
        """The policy as the log has it."""
        return dict(self.plain)

    def refuse(self) -> PolicyNotAtHand:
        """Why it cannot decide."""
        return PolicyNotAtHand(
            f"the policy {self.plain['name']!r} cannot decide: {self.why}",
            hint="import it as it was, with equipoise.import_policies(…) or --import, or give the arm",
        )

    def refuse_to_simulate(self) -> PolicyNotAtHand:
        """Why nothing can be simulated, or gone through again, under it."""
        return PolicyNotAtHand(
            f"the policy {self.plain['name']!r} cannot be simulated: {self.why}",
            hint="import it as it was, with equipoise.import_policies(…) or --import; a forecast goes "
            "without it where others are named, e.g. policies=['uniform'] or --policy uniform",
        )

    def refuse_to_freeze(self) -> PolicyNotAtHand:
        """Why no unit can be redacted: who decides later needs what a design remembers of it."""
        return PolicyNotAtHand(
            f"the design {self.plain['name']!r} is not at hand to say what it remembers: {self.why}",
            hint="redact where it is imported, with equipoise.import_policies(…) or --import",
        )

    @property
    def caution(self) -> str:
        """What must be said of estimates: how it reacted to them is not known."""
        return (
            f"the policy {self.plain['name']!r} is not at hand, so intervals, bounds and expected errors are "
            "not corrected for adaptive allocation, and may promise too much: import it as it was, with "
            "equipoise.import_policies(…) or --import"
        )

    def check(self, problem: Problem) -> None:
        """Any problem will do."""

    def informed(self, noise: Sequence[float]) -> Policy:
        """Every simulation begins here, and none can be under a rule that is not known."""
        raise self.refuse_to_simulate()

    def settings(self, problem: Problem) -> Vector:
        """None."""
        return np.zeros(0)

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        """Nothing is known of it."""
        return 0.0


def recorded_policy(plain: Mapping[str, Any], source: str | None, traits: Mapping[str, Any]) -> Policy:
    """The policy that a log names, or one that stands for it where it is not at hand."""
    try:
        policy = Policy.from_dict(plain)
    except UnknownPolicy as error:
        return _absent(plain, source, traits, error.message)
    except InvalidPolicy as error:
        if source is None:
            raise
        return _absent(plain, source, traits, error.message)
    if policy_source(policy) != source:
        return _absent(plain, source, traits, "its source is not the one that the experiment began with")
    return policy


def _absent(
    plain: Mapping[str, Any], source: str | None, traits: Mapping[str, Any], why: str
) -> AbsentPolicy:
    if traits.get("staged"):
        raise PolicyNotAtHand(
            f"the policy {plain.get('name')!r} chooses features, and cannot be done without: {why}",
            hint="import it as it was with equipoise.import_policies(…) or --import",
        )
    chance, spread = float(traits.get("chance", 0.0)), bool(traits.get("spread"))
    kind = type(
        AbsentPolicy.__name__,
        (AbsentPolicy,),
        {
            **{name: bool(traits.get(name)) for name in _FLAGS},
            "__module__": __name__,
            "lots": lambda self: chance,
            "keeps_spread": lambda self: spread,
        },
    )
    policy = kind()
    object.__setattr__(policy, "plain", dict(plain))
    object.__setattr__(policy, "source", source)
    object.__setattr__(policy, "traits", dict(traits))
    object.__setattr__(policy, "why", why)
    found: AbsentPolicy = policy
    return found
