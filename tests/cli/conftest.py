from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path, monkeypatch) -> Run:
    """Run ``equipoise`` with arguments, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    for setting in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(setting, raising=False)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def fail(run) -> Callable[..., tuple[str, str | None]]:
    """Run with arguments that must be refused; returns the message and the hint."""

    def invoke(*arguments: object, status: int = 2) -> tuple[str, str | None]:
        result = run(*arguments)
        assert result.exit_code == status, result.output
        assert result.stdout == ""
        assert isinstance(result.exception, SystemExit)  # no traceback
        message, *hints = result.stderr.splitlines()
        assert message.startswith("Error: ")
        assert len(hints) <= 1
        assert all(hint.startswith("Hint: ") for hint in hints)
        return message.removeprefix("Error: "), hints[0].removeprefix("Hint: ") if hints else None

    return invoke
