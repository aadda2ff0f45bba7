"""Where the arrays of a trial lie, by what they are for, and what programs know of them beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import ARM, ROW, State
from equipoise.lab.gpu.driver import Device
from equipoise.lab.gpu.layout import Groups, Places, Share, share_of
from equipoise.lab.gpu.teams.lanes import WARP, Team
from equipoise.lab.gpu.teams.looking import Coming
from equipoise.lab.gpu.teams.opening import Room
from equipoise.lab.gpu.teams.products import Told
from equipoise.lab.gpu.teams.tiles import Bands
from equipoise.lab.trial.world import World

_THREADS_A_BLOCK = 128
_COST_OF_DISTANCE = 0.75
"""How much slower a trial gets with each step of :func:`placements`, about."""

_GIVEN = (
    *("arms", "dim", "budget", "money", "exponent", "forced_start", "learns_moment", "looks"),
    *("pools", "seed", "number", "chance"),
)
"""What does not change while a trial runs."""

PLACES = {
    "state": Places(
        own=frozenset(
            (
                *("arms", "trial", "factors", "coefs", "gains", "seen_factor", "outcomes", "rows"),
                *("z", "f", "g", "scratch", "lots", "memory", "plan", "spreads"),
            )
        ),
        near=frozenset(("arms", "coefs", "z", "g")),
        kept=frozenset(("arms", "coefs")),
        held=frozenset(("trial",)),
        fixed={"trial": _GIVEN},
        same={"gains": "g"},
        drawn=frozenset(("contexts",)),
        long={"contexts": (0,), "outcomes": (0,), "rows": (0,)},
    ),
    "rule": Places(
        own=frozenset(("scores",)),
        near=frozenset(("scores",)),
        held=frozenset(("terms",)),
        constant=frozenset(("settings",)),
        long={"settings": (0,)},
    ),
    "world": Places(
        own=frozenset(("outcome", "normals", "at_hand", "clock", "pulls", "stream")),
        near=frozenset(("outcome", "normals", "at_hand", "pulls")),
        kept=frozenset(("pulls",)),
        held=frozenset(("setting", "clock")),
        fixed={"clock": ("place", "number", "pause")},
        long={
            **dict.fromkeys(("contexts", "delays", "fates"), (0, 1)),
            **dict.fromkeys(("coefs", "drifts", "closures"), (0,)),
            "shocks": (0, 2),
        },
    ),
    "judge": Places(
        own=frozenset(("elasticities", "root", "system", "coef", "least_squares", "along")),
        long={"quantiles": (0,)},
    ),
    "records": Places(
        own=frozenset(("arms", "trial", "probe", "elasticities")),
        near=frozenset(("probe", "elasticities")),
        kept=frozenset(("elasticities",)),
        held=frozenset(("trial",)),
        fixed={"trial": _GIVEN},
        constant=frozenset(("settings",)),
        long={"settings": (0,)},
    ),
    "ledger": Places(
        long=dict.fromkeys(("errors", "counts", "coverage", "plain_coverage", "course", "support"), (0,))
    ),
    "order": Places(own=frozenset(("ties",))),
    "coming": Places(own=frozenset(Coming._fields), near=frozenset(Coming._fields)),
    "bands": Places(own=frozenset(Bands._fields), near=frozenset(Bands._fields)),
    "told": Places(own=frozenset(Told._fields), near=frozenset(Told._fields)),
    "choice": Places(
        own=frozenset(("arms", "scores", "ties", "stream")),
        near=frozenset(("arms", "scores")),
        held=frozenset(("trial",)),
        constant=frozenset(("settings",)),
        long={"settings": (0,)},
    ),
    "turns": Places(own=frozenset(("dealt", "units", "starts")), long={"dealt": (0,), "units": (0,)}),
    "room": Places(own=frozenset(Room._fields), near=frozenset(Room._fields)),
    "work": Places(
        own=frozenset(
            (
                *(
                    "coefs",
                    "centers",
                    "ridges",
                    "noise_errors",
                    "biases",
                    "roots",
                    "bases",
                    "spectra",
                    "fits",
                ),
                *("weights", "noise", "mean_noise", "precision", "system", "pull", "middle", "solution"),
                *("rotated", "told", "residuals", "slacks"),
            )
        ),
        long={"rotated": (1,), "told": (0,), "residuals": (0,), "slacks": (0,)},
    ),
}
"""Where the arrays of a trial lie while it runs."""

_FARTHER: tuple[dict[str, tuple[str, ...]], ...] = (
    {"state": ("coefs",)},
    {"state": ("coefs",), "world": ("normals", "at_hand", "pulls")},
    {"state": ("coefs", "arms"), "world": ("normals", "at_hand", "pulls")},
    {
        "state": ("coefs", "arms"),
        "world": ("normals", "at_hand", "pulls"),
        "coming": Coming._fields,
    },
    {group: tuple(places.near) for group, places in PLACES.items()},
)
"""What gives way, by group, where arms or features are many: the more trials at once, the better."""


def placements(*, at_once: bool, one_context: bool, forgets_rows: bool) -> list[dict[str, Places]]:
    """Where arrays may lie: first what is fastest for each trial, last what lets most trials run at once."""
    found = [
        {group: places.without(moved.get(group, ())) for group, places in PLACES.items()}
        for moved in ({}, *_FARTHER)
    ]
    # What is noted is read once.
    found = [{**each, "room": each["room"].without(Room._fields)} for each in found]
    if not at_once:
        # A unit's gain serves when its outcome comes: every arm keeps one.
        found = [{**each, "state": replace(each["state"], same={})} for each in found]
    if one_context:
        same = {"gains": "g", "contexts": "z"}
        found = [{**each, "state": replace(each["state"], same=same)} for each in found]
    return [_with_one_row(each) for each in found] if forgets_rows else found


def _with_one_row(placed: dict[str, Places]) -> dict[str, Places]:
    """All units of a trial have the same row, which nobody reads: what is written there is not even made.

    So it is with outcomes, but that these are written: near, or where all trials write theirs.
    """
    state = placed["state"]
    state = replace(
        state,
        near=state.near | {"outcomes"} if state.near else state.near,
        held=state.held | {"rows"},
        fixed={**state.fixed, "rows": ROW.names or ()},
        same={**state.same, "rows": "rows", "outcomes": "outcomes"},
    )
    return {**placed, "state": state}


def with_far_settings(placed: Mapping[str, Places]) -> dict[str, Places]:
    """The same for rules with more numbers than there is room among constants."""
    return {**placed, "rule": replace(placed["rule"], constant=frozenset())}


def opening_placement(running: Mapping[str, Places]) -> dict[str, Places]:
    """The same while trials begin, by running ones."""
    far = {group: replace(places, near=frozenset(), held=frozenset()) for group, places in running.items()}
    return {**far, "room": PLACES["room"]}


def judging_placements() -> list[dict[str, Places]]:
    """The same when trials are over, and judged."""
    far = {group: replace(places, near=frozenset(), held=frozenset()) for group, places in PLACES.items()}
    near = replace(far["judge"], near=PLACES["judge"].own - {"elasticities"})  # which are read once
    return [{**far, "judge": near}, far]


class Arrangement(NamedTuple):
    """Where arrays lie, and how many trials run at once."""

    places: dict[str, Places]
    share: Share
    teams: int
    """Trials that a block of threads works on."""
    blocks: int
    """Blocks on a processor."""


def arranged(
    groups: Groups,
    choices: Sequence[dict[str, Places]],
    team: Team,
    device: Device,
    most_blocks: int,
    *,
    cost_of_distance: float = _COST_OF_DISTANCE,
) -> Arrangement:
    """The best of several ways."""
    found = []
    for rank, places in enumerate(choices):
        share = share_of(groups, places, team)
        fitting = device.shared_bytes // max(share.size, 1)
        teams = min(_THREADS_A_BLOCK // team.size, fitting)
        teams -= teams % (WARP // team.size)
        if teams:
            blocks = min(most_blocks, fitting // teams)
            worth = teams * blocks * cost_of_distance**rank
            found.append((worth, Arrangement(places, share, teams, blocks)))
    return max(found, key=lambda each: each[0])[1]


_FLAGS: dict[str, dict[str, tuple[str, ...]]] = {
    "state": {
        "trial": ("limited", "forced_start", "learns_moment", "looks", "pools", "chance", "exponent"),
    },
    "rule": {"terms": ("ends",)},
    "world": {
        "setting": (
            *("intercept", "late", "link", "heteroscedasticity", "curvature", "coef_drift", "noise_drift"),
        )
    },
}
"""What a trial either has or has not, by group, array and field."""
_COUNTS: dict[str, dict[str, tuple[str, ...]]] = {"state": {"trial": ("arms", "dim")}}
"""What programs are made for anyway, as lengths of arrays."""


_FEW_UNITS = 2**15  # their squares are numbers of half a word, too
_NUMBERS = [name for name in ARM.names or () if ARM[name] == np.float64]
_COUNTED = [name for name in ARM.names or () if ARM[name] != np.float64]
NARROW_ARM = np.dtype(
    [*((name, np.float64) for name in _NUMBERS), *((name, np.int32) for name in _COUNTED)], align=True
)
"""ARM with counts of half a word: two thirds of its size."""


def with_one_row(state: State) -> State:
    """The same state, where all units have the same row."""
    return state._replace(rows=state.rows[:1], outcomes=state.outcomes[:1])


def with_one_factor(state: State) -> State:
    """The same state: where outcomes come at once, a design needs no factor beside that of the data."""
    return state._replace(factors=np.ascontiguousarray(state.factors[:, :1]))


def has_small_numbers(state: State, world: World) -> bool:
    """Whether half a word is enough for whatever is counted of arms."""
    unlimited = not state.trial["limited"][0] and not world.closures.size
    return bool(unlimited and len(state.rows) < _FEW_UNITS)


def narrowed(arms: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same records; numbers that stand for no limit become the largest that there is."""
    narrow, largest = np.zeros(len(arms), NARROW_ARM), np.iinfo(np.int32).max
    for name in _NUMBERS:
        narrow[name] = arms[name]
    for name in _COUNTED:
        narrow[name] = np.minimum(arms[name], largest)
    return narrow


def known_of(groups: Groups) -> dict[str, dict[str, dict[str, Any]]]:
    """What programs are made for: what a trial has not is left out of them, and no program tests for it."""
    known: dict[str, dict[str, dict[str, Any]]] = {}
    for group, arrays in _FLAGS.items():
        for name, fields in arrays.items():
            record = getattr(groups[group], name)[0]
            found = {field: record[field].item() for field in fields if record[field] in (0, 1)}
            counts = _COUNTS.get(group, {}).get(name, ())
            known.setdefault(group, {})[name] = found | {field: record[field].item() for field in counts}
    return known


def is_plain(state: Any, world: Any) -> bool:
    """Whether nothing keeps arms from units, and outcomes are normal ones around lines."""
    trial, setting = state.trial[0], world.setting[0]
    names = "heteroscedasticity", "curvature", "coef_drift", "noise_drift", "link"
    return (
        not trial["limited"]
        and not any(setting[name] for name in names)
        and not any(len(drawn) for drawn in (world.closures, world.shocks, world.curves))
    )
