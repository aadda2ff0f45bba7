"""The paper's figures at the paper's counts, and its claims checked one by one."""

from equipoise.lab.reproduce.claims import CLAIMS, Claim
from equipoise.lab.reproduce.panels import PANELS, Panel
from equipoise.lab.reproduce.rate import RateResult
from equipoise.lab.reproduce.record import Reproduction
from equipoise.lab.reproduce.results import Measured, PanelResult, Point
from equipoise.lab.reproduce.run import reproduce
from equipoise.lab.reproduce.sparse import SparseResult
from equipoise.lab.reproduce.verdicts import Check, Finding, Verdict

__all__ = [
    "CLAIMS",
    "PANELS",
    "Check",
    "Claim",
    "Finding",
    "Measured",
    "Panel",
    "PanelResult",
    "Point",
    "RateResult",
    "Reproduction",
    "SparseResult",
    "Verdict",
    "reproduce",
]
