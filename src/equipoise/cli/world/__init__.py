"""The scenario that is typed: of ``equipoise simulate``, ``equipoise sweep`` and ``equipoise plan``.

============  =======================================
``options``   the options that describe it
``scenario``  built from a file, from options, or both
============  =======================================
"""
