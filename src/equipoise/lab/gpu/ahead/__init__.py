"""Programs that will be needed, compiled by several processes at once.

A program takes some seconds to compile, and a study may need dozens. Each helper is a Python of its own that
reads tasks, a line each, compiles what is not on disk yet, and answers with a line. What programs of many
sizes have in common, their draft, is made by one of them for all. They hand drafts and programs over on disk
alone: where nothing can be kept there, and for policies that are not the package's own, nothing is done here,
and programs are compiled when they are needed. So are those that a helper did not manage.

============  ================================================================
``tasks``     what helpers are told: a program of some policy in some arena
``stock``     tasks that nobody has begun with, and which comes next
``recipes``   how programs are compiled, and which are alike but for sizes
``helpers``   the processes, as seen from the one that wants programs
``rounds``    tasks done at the same time, and who waits for which
``__main__``  a helper: ``python -m equipoise.lab.gpu.ahead``
============  ================================================================
"""

from equipoise.lab.gpu.ahead.rounds import compile_ahead, compiled_meanwhile

__all__ = ["compile_ahead", "compiled_meanwhile"]
