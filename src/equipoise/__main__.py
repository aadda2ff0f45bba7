"""``python -m equipoise`` is the ``equipoise`` command."""

import sys


def run() -> None:
    """Run the command and exit; Ctrl-C ends it quietly even while it is being imported."""
    try:
        from equipoise.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
