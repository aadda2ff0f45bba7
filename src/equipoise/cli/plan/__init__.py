"""``equipoise plan``: the budget that a target error needs.

=============  ====================================
``plan``       the command
``simulated``  what is printed of simulated budgets
=============  ====================================
"""

from equipoise.cli.plan.plan import command

__all__ = ["command"]
