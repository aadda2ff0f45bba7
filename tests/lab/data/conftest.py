from __future__ import annotations

import os
from pathlib import Path

import pytest
from web_server import serve


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A cache of its own, and no proxy between here and the loopback interface."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def web(tmp_path):
    folder = tmp_path / "published"
    folder.mkdir()
    with serve(folder) as server:
        yield server


@pytest.fixture(scope="session")
def real_data():
    """A function from a file's name to the real file; the test is skipped where there is none."""

    def find(name: str) -> Path:
        folder = os.environ.get("EQUIPOISE_DATA")
        if not folder:
            pytest.skip("EQUIPOISE_DATA does not name a folder with the real files")
        path = Path(folder) / name
        if not path.is_file() and os.environ.get("EQUIPOISE_CI"):
            pytest.fail(f"EQUIPOISE_DATA is set, and {name} is not there")
        if not path.is_file():
            pytest.skip(f"EQUIPOISE_DATA has no {name}")
        return path

    return find
