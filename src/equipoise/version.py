"""The version, in one place: reading it from the installed package takes longer than --version may."""

__version__ = "0.1.0"
