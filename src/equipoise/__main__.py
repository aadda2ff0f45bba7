"""``python -m equipoise`` is the ``equipoise`` command."""

import gc
import sys

# Importing makes some hundred thousand objects that stay. To look for garbage among them every 700, as Python
# does, and once more at the end, takes a good part of the time of a short command.
_OBJECTS = 100_000


def run() -> None:
    """Run the command and exit; Ctrl-C ends it quietly even while it is being imported."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    try:
        from equipoise.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # what is left goes with the process


if __name__ == "__main__":
    run()
