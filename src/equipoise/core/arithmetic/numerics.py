"""Which bits this version computes, as a number."""

from __future__ import annotations

NUMERICS = 4
"""Names the bits of every decision; raised when they change."""
