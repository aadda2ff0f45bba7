"""``equipoise new``: an experiment in a store."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import click

from equipoise.cli import completion
from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import argument, show_seed_option, writing_options
from equipoise.cli.live.common.contexts import example
from equipoise.cli.live.common.hints import taken_names
from equipoise.cli.live.common.opening import made_store
from equipoise.cli.live.common.rehearsing import check_option, say_rehearsed
from equipoise.cli.live.common.times import duration_of
from equipoise.cli.live.setup.problem import problem_options, typed_problem
from equipoise.cli.options import LARGEST_SEED, value_option
from equipoise.cli.terminal import say
from equipoise.cli.values import whole_number
from equipoise.words import counted, lasting

POLICY = "trace-gain"


@click.command("new", short_help="Set up an experiment in a store.")
@argument("name", "NAME", "What it is called: EXPERIMENT, or PROJECT/EXPERIMENT.")
@problem_options
@click.option(
    "--policy", default=POLICY, show_default=True, metavar="SPEC", help="See 'equipoise policies'.",
    shell_complete=completion.policies,
)  # fmt: skip
@value_option(
    "--seed", whole_number("--seed", "7", least=0, most=LARGEST_SEED), "S",
    "Decides lots and ties.  [default: drawn, and kept in the log]",
)  # fmt: skip
@click.option(
    "--mode", type=click.Choice(["live", "practice"]), default="live", show_default=True,
    help="Practice experiments can never become live ones.",
)  # fmt: skip
@value_option(
    "--deadline", duration_of("--deadline"), "TIME",
    "When an outcome is overdue, e.g. 30d, 12h; nothing happens by itself.",
)  # fmt: skip
@show_seed_option
@check_option
@receipt_option
@writing_options
def command(
    name: str, policy: str, seed: int | None, mode: str, deadline: timedelta | None, show_seed: bool,
    dry_run: bool, with_receipt: bool, store: str, actor: str | None, as_json: bool, **typed: Any,
) -> None:  # fmt: skip
    """Set up the experiment NAME. The store is made if it is not there.

    \b
    Examples:
      equipoise new trial-1 --arms placebo,low,high --dim 4 --budget 350
      equipoise new trial-1 --arms placebo,low,high --features fields.toml --budget 350 --deadline 30d
      equipoise new trial-1 --problem problem.toml --policy trace-gain:chance=0.2 --seed 7
    """
    from equipoise.live.experiment.opening import create_experiment

    problem = typed_problem(typed)
    taken = taken_names("type another name, or another place: --store sqlite:///other.db")
    with taken, made_store(store) as at, contextlib.ExitStack() as opened:
        target = at
        if dry_run:
            target = opened.enter_context(made_store("memory:"))  # which finds what is wrong with the rest
        experiment = opened.enter_context(create_experiment(
            store=target, name=name, problem=problem, policy=policy, seed=seed, mode=mode,
            actor=actor, deadline=deadline,
        ))  # fmt: skip
        drawn = dry_run and seed is None
        facts = {
            "store": at.url, "mode": mode, "policy": experiment.policy.label,
            **({"seed": None if drawn else experiment.seed} if show_seed else {}),
            "deadline_seconds": None if deadline is None else deadline.total_seconds(),
            "problem": problem.to_dict(),
        }  # fmt: skip
        seeded = f", seed {'drawn' if drawn else experiment.seed}" if show_seed else ""
        late = "" if deadline is None else f", outcomes overdue after {lasting(deadline)}"
        what = (
            f"{counted(len(problem.arms), 'arm')}, "
            f"{counted(problem.dim, 'feature')}, {counted(problem.units, 'unit')}, "
            f"{experiment.policy.label}{seeded}{late}"
        )
        practice = " It is a practice experiment." if mode == "practice" else ""
        if dry_run:
            at.try_creating(name, mode)
            sentence = f"{experiment.name} would be set up in {at.url}: {what}; nothing was.{practice}"
            say_rehearsed(experiment.name, sentence, facts, as_json=as_json)
            return
        sentence = f"{experiment.name} is set up in {at.url}: {what}.{practice}"
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)
        if not as_json:
            say(f"Next: equipoise ask {experiment.name} UNIT {example(problem.features)}")
