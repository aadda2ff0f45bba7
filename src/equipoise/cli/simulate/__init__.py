"""``equipoise simulate``: policies on a synthetic scenario.

============  ===============
``simulate``  the command
``output``    what is printed
============  ===============
"""

from equipoise.cli.simulate.simulate import command

__all__ = ["command"]
