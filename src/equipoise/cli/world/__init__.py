"""The scenario that is typed: of ``equipoise simulate`` and ``equipoise sweep``.

============  =======================================
``options``   the options that describe it
``scenario``  built from a file, from options, or both
============  =======================================
"""
