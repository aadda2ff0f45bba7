"""What a shell offers after Tab: names of policies, panels, scenarios, estimators, and files.

click writes the shells' scripts, see docs/command-line.md. The library is imported only when Tab is pressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names(find: Callable[[], Iterable[str]]) -> Complete:
    """Names that start as what has been typed."""
    return lambda ctx, option, typed: [CompletionItem(name) for name in find() if name.startswith(typed)]


def policies(ctx: click.Context, option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Policies, those of ``--import`` included; after a colon, the arguments of one."""
    import equipoise as eq
    from equipoise.core.policies.base.policy import policy_fields

    known = eq.registered_policies()
    name, colon, rest = typed.partition(":")
    if not colon:
        return [CompletionItem(each) for each in known if each.startswith(typed)]
    if name not in known:
        return []
    *given, last = rest.split(":")
    start = ":".join([name, *given])
    fields = [field.name for field in policy_fields(known[name]) if field.name.startswith(last)]
    return [CompletionItem(f"{start}:{field}=") for field in fields]


def files(ctx: click.Context, argument: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files, which the shell itself looks up."""
    return [CompletionItem(typed, type="file")]


def _estimators() -> Iterable[str]:
    from equipoise.core.estimates.estimators import ESTIMATORS

    return ESTIMATORS


def _panels() -> Iterable[str]:
    from equipoise.studies.reproduce.choice import known_panels

    return known_panels()


def _suite() -> Iterable[str]:
    from equipoise.studies.leaderboard.suite import known_entries

    return known_entries()


def _sources() -> Iterable[str]:
    from equipoise.lab.data import SOURCES

    return SOURCES


def _kinds(field: str) -> Callable[[], Iterable[str]]:
    def find() -> Iterable[str]:
        from equipoise.lab.pieces import KINDS

        return KINDS[field]

    return find


estimators: Any = names(_estimators)
panels: Any = names(_panels)
suite: Any = names(_suite)
sources: Any = names(_sources)
contexts: Any = names(_kinds("contexts"))
outcomes: Any = names(_kinds("outcomes"))


_LATEST_ROWS = 500  # of a log, that units are looked for in: Tab must not wait


def _in_store(ctx: click.Context, find: Callable[[click.Context, Any], Iterable[str]]) -> list[str]:
    """What there is in the store that was typed so far, or that the environment names."""
    from equipoise.cli.live.common.opening import opened_store
    from equipoise.errors import EquipoiseError

    try:
        with opened_store(ctx.params.get("store") or _default_store(ctx)) as store:
            return list(find(ctx, store))
    except EquipoiseError:
        return []


def _default_store(ctx: click.Context) -> str:
    option = next(option for option in ctx.command.params if option.name == "store")
    return str(option.resolve_envvar_value(ctx) or option.get_default(ctx))


def _experiment_names(ctx: click.Context, store: Any) -> Iterable[str]:
    return [head.name for head in store.names()]


def _latest_units(ctx: click.Context, store: Any) -> Iterable[str]:
    import json

    name = ctx.params.get("name") or ""
    after = max(0, store.head(name).sequence - _LATEST_ROWS)
    keys: dict[str, None] = {}
    for row in store.read(name, after):
        event = {} if row.payload is None else json.loads(row.payload)
        for unit in [event, *event.get("units", [])]:
            if unit.get("unit") is not None:
                keys[str(unit["unit"])] = None
    return reversed(keys)


def experiments(ctx: click.Context, argument: click.Parameter, typed: str) -> list[CompletionItem]:
    """Names of the experiments in the store that was named so far; none where it cannot be opened."""
    return [CompletionItem(name) for name in _in_store(ctx, _experiment_names) if name.startswith(typed)]


def units(ctx: click.Context, argument: click.Parameter, typed: str) -> list[CompletionItem]:
    """Keys of the units that the last rows of the log name, the latest first."""
    return [CompletionItem(key) for key in _in_store(ctx, _latest_units) if key.startswith(typed)]
