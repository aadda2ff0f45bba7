"""The noise variances of the paper's seven arms: equal, and as unequal as in its experiments."""

from __future__ import annotations

EQUAL = (1.0,) * 7
UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)
