"""The studies of sparse arms by panel."""

from __future__ import annotations

from equipoise.lab.reproduce.panels import SPARSE
from equipoise.lab.reproduce.sparse import Study
from equipoise.lab.reproduce.sparse_budget import BudgetStudy
from equipoise.lab.reproduce.sparse_screen import ScreenStudy
from equipoise.lab.reproduce.sparse_support import SupportStudy

STUDIES: dict[str, Study] = dict(zip(SPARSE, (SupportStudy(), BudgetStudy(), ScreenStudy()), strict=True))
