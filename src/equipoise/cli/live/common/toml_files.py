"""TOML files that are typed as arguments."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from equipoise.errors import InvalidArgument


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """The table that a file holds; ``what`` says what it describes."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(
            f"cannot read {file}: {error.strerror or error}", hint=f"a TOML file that describes {what}"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(f"{file} is not TOML: {error}", hint=f"a TOML file describes {what}") from None
