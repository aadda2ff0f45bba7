"""What can be reproduced, by the names that are typed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from equipoise.errors import InvalidArgument
from equipoise.studies.paper.figure1 import PANELS
from equipoise.studies.paper.figure2 import TABLES
from equipoise.studies.sparse.studies import STUDIES

RATE = "rate"
ALL_SPARSE = "sparse"


def known_panels() -> list[str]:
    """Everything that can be typed."""
    return [*_usual_panels(), ALL_SPARSE, *STUDIES]


def _usual_panels() -> list[str]:
    return [*PANELS, *TABLES, RATE]


def chosen_panels(names: Sequence[str]) -> list[str]:
    """Names as they were typed, checked, in the paper's order; if there are none, all but sparse arms."""
    usual, known = _usual_panels(), known_panels()
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidArgument(f"no panel {name!r}", hint=f"{meant}panels: {', '.join(known)}")
    if not names:
        return usual
    every = ALL_SPARSE in names
    return [name for name in [*usual, *STUDIES] if name in names or (every and name in STUDIES)]
