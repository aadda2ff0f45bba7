"""The studies of sparse arms by name."""

from __future__ import annotations

from equipoise.studies.sparse.budget import BudgetStudy
from equipoise.studies.sparse.screen import ScreenStudy
from equipoise.studies.sparse.study import Study
from equipoise.studies.sparse.support import SupportStudy

STUDIES: dict[str, Study] = {
    "support": SupportStudy(),
    "sparse-budget": BudgetStudy(),
    "sparse-screen": ScreenStudy(),
}
