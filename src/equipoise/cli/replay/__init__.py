"""``equipoise replay``: what adaptive allocation would have saved on a table that is complete.

==========  ===============
``replay``  the command
``output``  what is printed
==========  ===============
"""

from equipoise.cli.replay.replay import command

__all__ = ["command"]
