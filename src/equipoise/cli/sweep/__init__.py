"""``equipoise sweep``: policies along any field of a scenario or of a policy.

==========  ==================
``sweep``   the command
``axes``    ``--over``, parsed
``output``  what is printed
==========  ==================
"""

from equipoise.cli.sweep.sweep import command

__all__ = ["command"]
