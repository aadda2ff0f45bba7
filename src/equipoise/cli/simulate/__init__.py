"""``equipoise simulate``: policies on a synthetic scenario.

============  ===========================================
``simulate``  the command
``scenario``  its scenario: a file, options, or both
``duration``  how long it will take, said if that is long
``output``    what is printed
============  ===========================================
"""

from equipoise.cli.simulate.simulate import command

__all__ = ["command"]
