"""The scenario that is typed: of ``equipoise simulate`` and ``equipoise plan``.

============  =======================================
``scenario``  built from a file, from options, or both
============  =======================================
"""
