"""The leaderboard and the bar as Markdown, every number with its standard error."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.text_tables import markdown_table
from equipoise.lab.results.words import loss_words
from equipoise.studies.leaderboard.bar import ORACLE, POLICY, PUBLISHED, Limit, all_met, check_bar
from equipoise.studies.leaderboard.record import Leaderboard
from equipoise.studies.leaderboard.suite import PAPER

_KINDS = ("expected_max", "median_max")


def leaderboard_tables(board: Leaderboard) -> str:
    """The ranking, then every ratio."""
    standings = board.ranking()
    ranking = []
    for place, s in enumerate(standings, start=1):
        means = map(with_error, (s.overall, s.expected, s.median))
        wins = "–" if s.policy in board.told else f"{s.wins} of {s.contests}"
        below = "–" if s.policy == board.reference else f"{s.below_reference} of {s.contests}"
        ranking.append([str(place), f"`{s.policy}`", *means, wins, below])
    header = ["", "policy", "geometric mean", *map(loss_words, _KINDS), "best", "below the oracle"]
    parts = [markdown_table(header, ranking)]
    rivals = [s.policy for s in standings if s.policy != board.reference]
    for kind, loss in enumerate(_KINDS):
        rows = []
        for row in board.rows:
            oracle = row.losses[row.entry.losses[kind]].estimate(board.reference)
            ratios = [with_error(row.ratio(policy, board.reference, kind)) for policy in rivals]
            rows.append([row.entry.title, with_error(oracle, digits=4), *ratios])
        columns = ["scenario", f"loss of `{board.reference}`", *(f"`{policy}`" for policy in rivals)]
        title = f"**{loss_words(loss).capitalize()}**, as a multiple of the oracle's"
        parts.append(f"{title}\n\n{markdown_table(columns, rows)}")
    return "\n".join([*parts, f"{board.settings}. ± is one standard error.\n"])


def bar_table(board: Leaderboard) -> str:
    """The paper's settings against oracle and Trace-UCB, then the others against Trace-UCB."""
    checked = check_bar(board)
    parts = []
    for in_paper in (True, False):
        rows = [row for row in board.rows if (row.entry.group == PAPER) == in_paper]
        references = (ORACLE, PUBLISHED) if in_paper else (PUBLISHED,)
        lines = []
        for row in rows:
            limits = checked[row.entry.name]
            cells = [
                _limit_cell(limits, loss, reference) for reference in references for loss in row.entry.losses
            ]
            lines.append([row.entry.title, *cells, "yes" if all(limit.met for limit in limits) else "**no**"])
        if rows:
            header = [f"{loss_words(loss)} / `{name}`" for name in references for loss in _KINDS]
            parts.append(markdown_table(["scenario", *header, "met"], lines))
    missed = sum(not limit.met for limits in checked.values() for limit in limits)
    verdict = "All limits are met." if missed == 0 else f"Limits missed: {missed}."
    if all_met(board) is None:
        verdict = "There were too few trials to say whether the limits are met."
    settings = (
        f"{board.settings}. Losses of `{POLICY}` over the reference's, ± one standard error. {verdict}\n"
    )
    return "\n".join([*parts, settings])


def with_error(estimate: tuple[float, float], digits: int = 3) -> str:
    """A value and its standard error."""
    value, stderr = estimate
    return f"{value:.{digits}f} ± {stderr:.{digits}f}"


def _limit_cell(limits: Sequence[Limit], loss: str, reference: str) -> str:
    limit = next(limit for limit in limits if (limit.loss, limit.reference) == (loss, reference))
    return f"{with_error((limit.ratio, limit.stderr))} (≤ {limit.most:.2f})"
