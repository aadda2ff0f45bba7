"""``equipoise simulate``: policies on a synthetic scenario.

============  ====================================``simulate``  the command
``duration``  how long it will take, said if that is long
``output``    what is printed
============  ===================================="""

from equipoise.cli.simulate.simulate import command

__all__ = ["command"]
