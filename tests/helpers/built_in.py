"""Policies of the package, without those that tests register."""

from __future__ import annotations

import equipoise as eq

BUILT_IN = {
    name: kind
    for name, kind in eq.registered_policies().items()
    if (kind.__module__ or "").startswith("equipoise.") and not name.startswith("doctest-")
}
# Policies that use every feature; the others have tests of their own.
ONE_STAGE = {name: kind for name, kind in BUILT_IN.items() if not kind.staged}
# One of every kind: designs that are left out here differ in their weights alone, which have tests.
OF_EACH_KIND = {
    name: kind
    for name, kind in BUILT_IN.items()
    if name not in ("complete", "efron", "wei-urn", "minimisation", "da-optimal")
}
ONE_STAGE_OF_EACH_KIND = {name: kind for name, kind in OF_EACH_KIND.items() if not kind.staged}
