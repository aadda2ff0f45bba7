"""``equipoise plan``: the budget that a target error needs, or the error that a budget gives.

=============  ====================================
``plan``       the command
``simulated``  what is printed of simulations
=============  ====================================
"""

from equipoise.cli.plan.plan import command

__all__ = ["command"]
