"""The report of estimates alone: errors and models of the arms, as they were when they were asked for."""

from __future__ import annotations

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.estimates.estimates import Estimates
from equipoise.report.document import Code, Report, Section
from equipoise.report.experiment import arm_blocks, error_sentence
from equipoise.report.experiment_models import contrast_blocks, model_blocks
from equipoise.report.numbers import plain_numbers
from equipoise.version import __version__
from equipoise.words import counted


def estimates_report(estimates: Estimates, *, title: str = "Estimates", again: str | None = None) -> Report:
    """Tables and a figure of ``estimates``; a report of the experiment also tests what they rest on."""
    problem = estimates.problem
    said = [estimates.complaint, *(() if estimates.support is None else estimates.support.complaints)]
    return Report(
        title=title,
        subtitle=f"{counted(len(problem.arms), 'arm')} · "
        f"{counted(problem.dim, 'feature')} · "
        f"{counted(sum(arm.count for arm in estimates), 'unit')}",
        warnings=[f"{each[:1].upper()}{each[1:]}." for each in said if each],
        headline=error_sentence(estimates),
        sections=[
            Section("Units and errors", arm_blocks(estimates)),
            Section("Models", model_blocks(estimates)),
            Section("Contrasts", contrast_blocks(estimates)),
        ],
        settings={
            "equipoise": f"{__version__}, numerics {NUMERICS}",
            "objective": str(problem.objective),
            "Σ": "learned from the contexts seen" if problem.moment is None else "given",
            "estimator": ", ".join(dict.fromkeys(arm.estimator for arm in estimates)),
            "intervals": f"{100 * estimates[0].confidence:g} %",
        },
        again=[] if again is None else [Code(again)],
        metadata=plain_numbers(
            {
                "version": __version__,
                "numerics": NUMERICS,
                "problem": problem.to_dict(),
                "estimates": estimates.records(),
            }
        ),
    )
