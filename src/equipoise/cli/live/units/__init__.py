"""Units, one or many.

===========  =======================================================================
``ask``      ``equipoise ask``
``asked``    what asking prints
``tell``     ``equipoise tell``, ``equipoise correct``
``leaving``  ``equipoise lose``, ``equipoise withdraw``, ``equipoise received``
``redact``   ``equipoise redact``
``expire``   ``equipoise expire``
===========  =======================================================================
"""
