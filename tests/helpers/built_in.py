"""Policies of the package, without those that tests register."""

from __future__ import annotations

import equipoise as eq

BUILT_IN = {
    name: kind
    for name, kind in eq.registered_policies().items()
    if (kind.__module__ or "").startswith("equipoise.")
}
