"""Reports: one HTML file each, that needs no network and says how to get the same numbers again.

======================  ===============================================
``document``            what a report is made of, as plain data
``page``                the page of it
``figures``             drawings that take the page's colours and fonts
``numbers``             numbers as people read them
``experiment``          the report of an experiment
``experiment_models``   its models and contrasts
``experiment_figures``  its drawings
``live``                what else it says: how the experiment was run
``estimates``           the report of estimates alone
``plan``                the report of a plan
``simulation``          the report of a simulation
``simulation_figures``  its drawings
``course``              units, time and stops of simulated trials
``replay``              the report of a replay
``replay_figures``      its drawings
``studies``             reports of sweeps and of a reproduction
``files``               reports and results in files
======================  ===============================================
"""

from equipoise.files import check_writable
from equipoise.report.document import Code, Figure, Points, Report, Section, Table, Text
from equipoise.report.estimates import estimates_report
from equipoise.report.experiment import experiment_report
from equipoise.report.figures import figure_from, new_figure
from equipoise.report.files import write_replays, write_report, write_results, write_sweep
from equipoise.report.page.html import render
from equipoise.report.plan import plan_report
from equipoise.report.replay import replay_report
from equipoise.report.simulation import simulation_report
from equipoise.report.studies.reproduction import reproduction_report
from equipoise.report.studies.sweep import sweep_report

__all__ = [
    "Code",
    "Figure",
    "Points",
    "Report",
    "Section",
    "Table",
    "Text",
    "check_writable",
    "estimates_report",
    "experiment_report",
    "figure_from",
    "new_figure",
    "plan_report",
    "render",
    "replay_report",
    "reproduction_report",
    "simulation_report",
    "sweep_report",
    "write_replays",
    "write_report",
    "write_results",
    "write_sweep",
]
