"""Children of a test."""

from __future__ import annotations

import os
import warnings


def forked(act):
    """What a child does; gives its number, and what waits for its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return child, lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
