"""What a policy is, how it is registered, and how it is written on a command line."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Self, SupportsIndex, TypeVar, overload

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.plain import (
    NotPlain,
    changed_fields,
    check_table,
    from_plain,
    frozen,
    suggest,
    to_plain,
)
from equipoise.core.policies.base.arguments import format_argument, meant_policy, parse_argument
from equipoise.core.policies.base.definition import check_definition
from equipoise.core.policies.base.scores import recompile_if_changed
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.problem.costs import check_limits
from equipoise.core.problem.problem import Problem
from equipoise.errors import BudgetTooSmall, InvalidPolicy, NameTaken, UnknownPolicy, UnregisteredPolicy

_REGISTRY: dict[str, type[Policy]] = {}

PolicyOf = TypeVar("PolicyOf", bound="Policy")


class Policy:
    """A rule that says which arm gets the next unit: the one with the highest score.

    A policy is a frozen dataclass with keyword-only fields and a static ``score``, which reads the
    fields as ``settings[0]``, ``settings[1]``, … or what else ``settings`` makes of them. A policy that
    has its own ``__post_init__`` calls ``super().__post_init__()`` first. ``score(arm, trial, settings)``
    is plain Python on numbers; it is compiled, so it may call ``math`` and NumPy scalar functions but no
    other Python objects. The fields of ``arm`` and ``trial`` are listed in :mod:`equipoise.core.arms.state`.

    >>> from dataclasses import dataclass
    >>> @register("doctest-least-pulled")
    ... @dataclass(frozen=True, kw_only=True)
    ... class LeastPulled(Policy):
    ...     '''Pull the arm with the fewest units per weight.'''
    ...
    ...     @staticmethod
    ...     def score(arm, trial, settings):
    ...         return -arm.count / arm.weight
    >>> parse_policy("doctest-least-pulled")
    LeastPulled()
    """

    name: ClassVar[str]
    """Registry name, set by :func:`register`. It is the registered class's own: subclasses have none."""

    forced_start: ClassVar[bool] = True
    """Whether arms whose S is not invertible yet go first."""

    looks: ClassVar[bool] = False
    """Whether the score reads ``arm.leverage``, how little the arm knows at the context at hand."""

    pools: ClassVar[bool] = False
    """Whether the score reads ``trial.pooled_variance`` and ``trial.pooled_dof``."""

    staged: ClassVar[bool] = False
    """Whether it chooses features first, see :mod:`equipoise.core.policies.base.staged`."""

    counts_alone: ClassVar[bool] = False
    """Whether the class's own score reads nothing that a trial changes but ``arm.count``.

    Of use on a GPU alone, and believed of the package's own policies alone (lab/gpu/turns).
    """

    weighs: ClassVar[bool] = False
    """Whether it draws arms by weights, see :mod:`equipoise.core.policies.base.design`."""

    categorises: ClassVar[bool] = False
    """Whether it reads single columns of the contexts as categories, so that mixing columns changes it."""

    contrasts: ClassVar[Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    """For every field, two sets of arguments that must allocate differently; read by the checks."""

    # What decides where units go; checks and text forms do not, and see what else is registered.
    __fingerprint__: ClassVar[tuple[str, ...]] = (
        *("forced_start", "looks", "pools", "staged", "settings", "score", "lots"),
        *("keeps_spread", "reordered", "informed", "rescaled", "weighs", "recut"),
    )

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            type.__setattr__(cls, "name", _NoName())

    def __post_init__(self) -> None:
        # NumPy's numbers and lists would come back from the text form as something else.
        for field in policy_fields(type(self)):
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))

    def check(self, problem: Problem) -> None:
        """Refuse a problem that the policy cannot run on; experiments and the lab call it first."""
        if not type(self).staged:
            check_limits(problem.arms, problem.floors, problem.caps, least=problem.dim + 1)
        if type(self).forced_start and not problem.pays_for_start:
            needed = problem.least_budget
            formula = "m(d+1) = " if needed == len(problem.arms) * (problem.dim + 1) else ""
            raise BudgetTooSmall(
                f"{self.label} needs a budget of at least {formula}{needed:.10g}, "
                f"not {problem.budget:.10g}: it starts with d + 1 units an arm",
                hint="below that only uniform, oracle, designs and policies that choose features can run",
            )
        if not type(self).staged:
            self.check_score(problem)

    def check_score(self, problem: Problem) -> None:
        """Refuse settings and a share of units left to chance that there cannot be."""
        chance = self.lots()
        if not 0.0 <= chance <= (1.0 if type(self).looks else 0.0):
            raise InvalidPolicy(
                f"{self.label} leaves {chance!r} of the units to chance",
                hint="a policy that looks (looks = True) may leave a share from 0 to 1",
            )
        score_settings(self, problem)
        recompile_if_changed(type(self).score)

    def settings(self, problem: Problem) -> Vector:
        """Numbers the score reads, for one problem: the fields in their order unless a policy has its own.

        A field that is no number has a place as well, and not a number in it. No score can read more
        numbers than there are: one that would is refused.
        """
        values = [getattr(self, field.name) for field in policy_fields(type(self))]
        return np.array([float(v) if isinstance(v, int | float) else np.nan for v in values])

    @staticmethod
    def score(arm: Any, trial: Any, settings: Vector) -> float:
        """How urgently the arm needs the next unit."""
        raise NotImplementedError

    def lots(self) -> float:
        """Share of units whose arm is drawn by lot; above 0 only for policies that look."""
        return 0.0

    def keeps_spread(self) -> bool:
        """Whether ``arm.spread`` is kept, which else is 1: what noise that depends on x does to the error."""
        return False

    def reordered(self, order: Sequence[int]) -> Policy:
        """The same policy for a problem whose arms are listed in another order."""
        return self

    def informed(self, noise: Sequence[float]) -> Policy:
        """The same policy told the true noise variances; only policies that know them care."""
        return self

    def rescaled(self, factor: float) -> Policy:
        """The same policy for outcomes multiplied by ``factor``; unit-free policies are their own."""
        return self

    def recut(self, factors: Sequence[float]) -> Policy:
        """The same policy for contexts whose columns are multiplied by positive ``factors``."""
        return self

    @property
    def spec(self) -> str:
        """The policy as it is written on a command line.

        >>> parse_policy("trace-ucb:width=0.5").spec
        'trace-ucb:width=0.5'
        """
        arguments = [f"{name}={format_argument(value)}" for name, value in changed_fields(self._named())]
        return ":".join([type(self).name, *arguments])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and logs: the name and the arguments that are not at their defaults.

        >>> parse_policy("trace-ucb:width=0.5").to_dict()
        {'name': 'trace-ucb', 'width': 0.5}
        """
        values: dict[str, Any] = {"name": self._named().name}
        for name, value in changed_fields(self):
            try:
                values[name] = to_plain(value)
            except NotPlain as error:
                raise InvalidPolicy(f"{name} of {self!r} cannot be written: {error}") from None
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The policy that plain values describe, as :meth:`to_dict` writes them.

        >>> Policy.from_dict({"name": "trace-ucb", "width": 0.5})
        TraceUCB(width=0.5, bound=None, delta=None, spread='constant')
        """
        name = values.get("name") if isinstance(values, Mapping) else None
        if not isinstance(name, str):
            raise InvalidPolicy(
                f"a policy is a table with a name, not {values!r}",
                hint="e.g. {'name': 'trace-ucb', 'width': 1}",
            )
        kind = _find(name)
        if not issubclass(kind, cls):
            raise InvalidPolicy(
                f"{name!r} is a {kind.__qualname__}, not a {cls.__qualname__}",
                hint="equipoise.Policy.from_dict builds any policy",
            )
        known = ["name", *(field.name for field in policy_fields(kind))]
        given = check_table(values, what=f"policy {name!r}", known=known, error=InvalidPolicy)
        del given["name"]
        try:
            return _build(kind, {key: from_plain(value) for key, value in given.items()})
        except NotPlain as error:
            raise InvalidPolicy(f"policy {name!r}: {error}") from None

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # Another process cannot import a file by its path.
        source = _plugins().source_of(type(self))
        if source is None:
            return super().__reduce_ex__(protocol)
        return _plugins().restore, (source, type(self).__qualname__, dict(vars(self)))

    def _named(self) -> Self:
        """This policy, if its class is the one that is known under its name."""
        kind = type(self)
        if _REGISTRY.get(kind.name) is not kind:
            raise UnregisteredPolicy(
                f"the name {kind.name!r} belongs to another class than this {kind.__qualname__}",
                hint="it was registered again: build the policy anew",
            )
        return self

    @property
    def label(self) -> str:
        """What messages call the policy: its text form, or how it was built where it has none."""
        try:
            return self.spec
        except InvalidPolicy:
            # An address in memory says nothing to anybody.
            return type(self).__qualname__ if type(self).__repr__ is object.__repr__ else repr(self)


@overload
def register(name: str) -> Callable[[Any], Any]: ...
@overload
def register(name: str, definition: Any) -> Any: ...
def register(name: str, definition: Any = None) -> Any:
    """Make a policy known by name, everywhere: in ``Experiment``, in the lab and on the command line.

    Decorates a :class:`Policy` subclass, or a bare score function for a policy without arguments. A score
    that takes other arguments, reads what there is not or gives no number is refused, with its line.
    """
    if definition is None:
        return lambda later: register(name, later)
    if not name or any(sign in name for sign in ":=, \t\n"):
        raise InvalidPolicy(
            f"{name!r} cannot be a policy name", hint="use letters, digits and hyphens, e.g. 'my-policy'"
        )
    policy = definition if inspect.isclass(definition) else _from_function(definition)
    if not issubclass(policy, Policy):
        raise InvalidPolicy(
            f"{policy.__name__} is not a policy",
            hint="derive it from equipoise.Policy, or decorate a function",
        )
    if "__dataclass_fields__" not in vars(policy):
        # Python allows no frozen class below one that is not.
        above = getattr(policy, "__dataclass_params__", None)
        policy = dataclasses.dataclass(frozen=above is None or above.frozen, kw_only=True)(policy)
    known = _registry().get(name)
    # The same definition executed again (a notebook cell) replaces itself.
    if known is not None and (known.__module__, known.__qualname__) != (
        policy.__module__,
        policy.__qualname__,
    ):
        taken = NameTaken(
            f"the name {name!r} is taken by {known.__module__}.{known.__qualname__}", hint="choose another"
        )
        taken.policy = name
        raise taken
    assert issubclass(policy, Policy)
    if any(field.name == "name" for field in policy_fields(policy)):
        raise InvalidPolicy(
            f"an argument of {policy.__name__} is called 'name', as the policy itself is",
            hint="call it otherwise",
        )
    check_definition(policy)
    policy.name = name
    _REGISTRY[name] = policy
    return policy


def registered_policies() -> dict[str, type[Policy]]:
    """All policies by name, in alphabetical order, those of other packages included."""
    _plugins().load_plugins()
    return known_policies()


def known_policies() -> dict[str, type[Policy]]:
    """Policies that have been registered so far, in alphabetical order."""
    return dict(sorted(_registry().items()))


def restore_policies(known: Mapping[str, type[Policy]]) -> None:
    """Forget every policy but these."""
    _REGISTRY.clear()
    _REGISTRY.update(known)


def _registry() -> dict[str, type[Policy]]:
    # The package's own policies register themselves when they are imported, wherever this is asked first.
    import_module("equipoise.core.policies")
    return _REGISTRY


def _plugins() -> Any:
    return import_module("equipoise.core.policies.base.plugins")


def parse_policy(text: str | Policy) -> Policy:
    """Build a policy from ``NAME[:key=value[:key=value…]]``; a policy comes back as it is.

    >>> parse_policy("trace-ucb:width=theory:bound=3:delta=0.05")
    TraceUCB(width='theory', bound=3, delta=0.05, spread='constant')
    """
    if isinstance(text, Policy):
        return text
    if not isinstance(text, str):
        raise InvalidPolicy(
            f"{text!r} is not a policy", hint="pass e.g. eq.TraceUCB() or the text 'trace-ucb'"
        )
    name, *pairs = text.split(":")
    kind = _find(name)
    arguments: dict[str, Any] = {}
    names = [field.name for field in policy_fields(kind)]
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not value:
            raise InvalidPolicy(f"{pair!r} in {text!r} is not key=value", hint="e.g. trace-ucb:width=0.5")
        if key not in names:
            raise InvalidPolicy(f"policy {name!r} has no argument {key!r}", hint=suggest(key, names))
        if key in arguments:
            raise InvalidPolicy(f"{key!r} is given twice in {text!r}")
        arguments[key] = parse_argument(value)
    return _build(kind, arguments)


def _find(name: str) -> type[Policy]:
    """The policy class of that name."""
    if name not in _registry():
        _plugins().load_plugins()
        _plugins().check_claims(name)
    if name not in _REGISTRY:
        raise UnknownPolicy(f"no policy {name!r}", hint=meant_policy(name, _REGISTRY))
    return _REGISTRY[name]


def _build(kind: type[PolicyOf], arguments: dict[str, Any]) -> PolicyOf:
    needed = [field.name for field in policy_fields(kind) if _has_no_default(field)]
    missing = [name for name in needed if name not in arguments]
    if missing:
        raise InvalidPolicy(f"policy {kind.name!r} needs {', '.join(missing)}")
    return kind(**arguments)


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


class _NoName:
    """What a class that is not registered has as its name."""

    def __get__(self, policy: Policy | None, kind: type[Policy]) -> str:
        raise UnregisteredPolicy(
            f"{kind.__qualname__} is not registered, so it has no name",
            hint=f"put @equipoise.register('my-policy') above class {kind.__name__}",
        )


def _from_function(function: Callable[..., float]) -> type[Policy]:
    # Named after the function that it replaces, so that pickle finds it there.
    return type(
        function.__name__,
        (Policy,),
        {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "score": staticmethod(function),
        },
    )


def policy_fields(policy: type[Policy]) -> tuple[dataclasses.Field[Any], ...]:
    """Arguments of a policy class."""
    return dataclasses.fields(policy) if dataclasses.is_dataclass(policy) else ()
