"""``equipoise ask``: a unit to an arm, or many from a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.live.common.answers import receipt_option
from equipoise.cli.live.common.arguments import (
    argument,
    experiment_argument,
    reason_option,
    unit_argument,
    writing_options,
)
from equipoise.cli.live.common.bulk import Line, at_line, column_hint, file_option, keyed, read_lines
from equipoise.cli.live.common.contexts import example, has_names, names_of, typed_record, typed_vector
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.units.asked import say_assigned, say_assigned_together, say_checked
from equipoise.cli.live.units.entering import unit_column_option
from equipoise.cli.options import value_option
from equipoise.cli.values import parse_names
from equipoise.errors import EquipoiseError, InvalidArgument, InvalidContext

if TYPE_CHECKING:
    from equipoise.core.problem.features.contexts import Contexts
    from equipoise.live.experiment.experiment import LiveExperiment

_ARM = "arm"
"""The column of a file with arms that persons gave."""
_NO_ARM = "units that the rule is to assign go into a file of their own"


@click.command("ask", short_help="Assign a unit to an arm, or many from a file.")
@experiment_argument
@unit_argument(needed=False)
@argument("fields", "[FIELD=VALUE]…", "What is known of the unit, field by field.", nargs=-1)
@value_option("--context", typed_vector, "X,X,…", "The same as a vector, where fields have no names.")
@file_option
@unit_column_option
@click.option(
    "--arm-column", metavar="COLUMN",
    help="Column of --file with arms that persons gave; needs --reason.  [default: arm, where there is one]",
)  # fmt: skip
@value_option("--arms", parse_names("--arms"), "A,B,…", "Arms that may be chosen.  [default: all open ones]")
@click.option("--arm", metavar="ARM", help="An arm that a person gives, instead of the rule; needs --reason.")
@reason_option(needed=False)
@click.option("--scores", is_flag=True, help="Show scores and propensities, too: they help to guess arms.")
@click.option("--dry-run", is_flag=True, help="Only check; nothing is assigned and no arm is shown.")
@receipt_option
@writing_options
def command(
    name: str, unit: str | None, fields: tuple[str, ...], context: list[float] | None, source: str | None,
    unit_column: str, arm_column: str | None, arms: list[str] | None, arm: str | None, reason: str | None,
    scores: bool, dry_run: bool, with_receipt: bool, store: str, actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Assign UNIT of the experiment NAME to an arm, which is shown once it is stored.

    The same line again gives the same arm, whoever types it. With --file all of its units are assigned
    together, or none; units that have an arm already keep it. A file with a column of arms enters units that
    persons have assigned, such as history from before.

    \b
    Examples:
      equipoise ask trial-1 P-017 age=54 sex=f
      equipoise ask trial-1 P-017 --context 1,0.5,2
      equipoise ask trial-1 --file units.csv --dry-run
    """
    if (unit is None) == (source is None):
        raise InvalidArgument(
            "type either UNIT or --file", hint="e.g. equipoise ask trial-1 P-017 age=54, or --file units.csv"
        )
    if source is not None and (fields or context is not None or arm is not None):
        raise InvalidArgument(
            "FIELD=VALUE, --context and --arm are for one unit",
            hint="leave them out, or --file; arms that persons gave are a column of the file",
        )
    with opened(name, store, actor) as experiment:
        if source is not None:
            keys, contexts, given = _units(experiment, source, unit_column, arm_column)
            if given is not None and arms is not None:
                raise InvalidArgument("--arms and a column of arms do not go together", hint="leave one out")
            if dry_run:
                say_checked(experiment, keys, contexts, arms, given=given, reason=reason, as_json=as_json)
                return
            before = experiment.store.head(experiment.name).sequence
            units = experiment.ask_many(contexts, units=keys, arms=arms, given_arms=given, reason=reason)
            say_assigned_together(
                experiment, units, before, scores=scores, as_json=as_json, with_receipt=with_receipt
            )
            return
        assert unit is not None
        _check_key(experiment, unit)
        x = _context(experiment, fields, context)
        if dry_run:
            given = None if arm is None else [arm]
            say_checked(experiment, [unit], [x], arms, given=given, reason=reason, as_json=as_json)
            return
        assignment = experiment.ask(x, unit=unit, arm=arm, arms=arms, reason=reason)
        say_assigned(experiment, assignment, scores=scores, as_json=as_json, with_receipt=with_receipt)


def _check_key(experiment: LiveExperiment, unit: str) -> None:
    """Whoever forgets the key types a field in its place, and would assign a unit of that name."""
    features = experiment.problem.features
    field, equals, _ = unit.partition("=")
    if equals and has_names(features) and field in names_of(features):
        raise InvalidArgument(
            f"{unit!r} stands where the key of the unit belongs",
            hint=f"e.g. equipoise ask {experiment.name} P-017 {example(features)}",
        )


def _context(experiment: LiveExperiment, fields: Sequence[str], vector: list[float] | None) -> Any:
    features = experiment.problem.features
    if vector is not None:
        if fields:
            raise InvalidContext("FIELD=VALUE and --context do not go together", hint="leave one out")
        if hasattr(features, "fields"):
            raise InvalidContext("units have fields here, no vectors", hint=f"type e.g. {example(features)}")
        return vector
    if not fields:
        raise InvalidContext("nothing is said of the unit", hint=f"type e.g. {example(features)}")
    if not has_names(features):
        raise InvalidContext("the features have no names", hint=f"type e.g. {example(features)}")
    return typed_record(features, fields)


def _units(
    experiment: LiveExperiment, source: str, column: str, arm_column: str | None
) -> tuple[list[str], list[Any], list[str] | None]:
    """Keys, contexts and given arms of a file; every line is checked before anything is asked for."""
    problem = experiment.problem
    needed = (column,) if arm_column is None else (column, arm_column)
    lines = keyed(read_lines(source, needed=needed), column)
    if arm_column is None and _has_arms(problem.features, lines.values()):
        arm_column = _ARM
    contexts, given = [], []
    for line in lines.values():
        try:
            if arm_column is not None:
                given.append(line.arm(arm_column, problem, _NO_ARM))
            x = line.context(problem.features, leave_out=(column, arm_column or column))
            problem.features.encode(x)
        except EquipoiseError as error:
            error.hint = error.hint or column_hint(problem.features)
            raise at_line(line, error) from None
        contexts.append(x)
    return list(lines), contexts, None if arm_column is None else given


def _has_arms(features: Contexts, lines: Iterable[Line]) -> bool:
    """Whether a file has a column of arms, which is not one of the unit's own fields."""
    is_field = has_names(features) and _ARM in names_of(features)
    return not is_field and any(_ARM in line.values for line in lines)
