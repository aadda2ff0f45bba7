"""The paper's figures at the paper's counts, and its claims checked one by one.

==========  ===============================================================
``choice``  what can be reproduced, by the names that are typed
``plan``    what a run will measure, and the work that it is
``run``     measures it, draws the pictures, writes the files
``record``  what was found, as an object, as JSON and as a table for a page
==========  ===============================================================
"""

from equipoise.studies.losses import Measured, Point
from equipoise.studies.paper.claims import CLAIMS, Claim
from equipoise.studies.paper.figure1 import PANELS, Panel
from equipoise.studies.paper.panel_result import PanelResult
from equipoise.studies.rate.measure import RateResult
from equipoise.studies.reproduce.record import Reproduction
from equipoise.studies.reproduce.run import reproduce
from equipoise.studies.sparse.study import SparseResult
from equipoise.studies.verdicts import Check, Finding, Verdict

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
