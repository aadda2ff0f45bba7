"""``equipoise demo``: a simulated trial, allocated unit by unit and compared with equal shares.

==========  ================================
``demo``    the command
``trial``   the world and the policies in it
``tables``  what is printed
``plot``    the picture
==========  ================================
"""

from equipoise.cli.demo.demo import command

__all__ = ["command"]
