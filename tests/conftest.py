"""Settings of all tests."""

from __future__ import annotations

import os
import signal

from hypothesis import settings
from postgres import empty_postgres, postgres_server, postgres_url  # noqa: F401 - fixtures of all tests

# CI judges a change: the same examples every time. Elsewhere new ones are looked for.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("EQUIPOISE_CI") else "local")

# A shell that starts something in the background has it ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
