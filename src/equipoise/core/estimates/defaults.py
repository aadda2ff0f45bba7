"""What estimates are unless something else is asked for; apart, so that asking imports no estimator."""

from __future__ import annotations

DEFAULT = "pooled"
"""The estimator."""
CLASSICAL = "classical"
"""The kind of intervals."""
