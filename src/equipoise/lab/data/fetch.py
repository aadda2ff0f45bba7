"""Fetching a source: terms first, then download, check, and move into the cache as a whole file."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ChecksumMismatch, TermsNotAccepted
from equipoise.files import make_folder, not_writable, write_whole
from equipoise.lab.data.download import Patience, Progress, download, read_text
from equipoise.lab.data.sources import DataFile, DataSource, cache_folder, find_source

_ELSEWHERE = "EQUIPOISE_CACHE names another folder"


@dataclass(frozen=True)
class FetchedFile:
    """A file of a source in the cache."""

    path: Path
    sha256: str
    checked: str
    """What its bytes were compared with."""
    new: bool
    """Whether it was downloaded just now."""


def fetch_data(
    name: str,
    *,
    accept_terms: bool = False,
    mirror: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    patience: Patience | None = None,
) -> list[FetchedFile]:
    """Download the files of a source into the cache, unless they are there.

    Parameters
    ----------
    name
        ``"jester"``, ``"movielens"`` or any name that ``equipoise data list`` shows.
    accept_terms
        Whether you accept the terms of use, ``data_terms(name)``. Needed once for each text.
    mirror
        Another address to take the files from: the folder that holds them. Checksums stay the same.
    progress
        Called with a file's name, the bytes that have arrived and their total.
    patience
        How often and how long to try.
    """
    source = find_source(name)
    _settle_terms(source, accept_terms)
    return [_fetch(file, mirror, progress, patience or Patience()) for file in source.files]


def data_terms(name: str) -> str:
    """The terms of use of a source."""
    return find_source(name).terms


def terms_accepted(name: str) -> bool:
    """Whether these very terms were accepted before."""
    return _mark(find_source(name)).is_file()


def _settle_terms(source: DataSource, accept: bool) -> None:
    mark = _mark(source)
    if mark.is_file():
        return
    if not accept:
        raise TermsNotAccepted(
            f"the terms of {source.name} have not been accepted",
            hint=f"'equipoise data fetch {source.name}' shows them and asks; --accept-terms accepts them",
        )
    make_folder(mark.parent, hint=_ELSEWHERE)
    write_whole(mark, source.terms + "\n", hint=_ELSEWHERE)


def _mark(source: DataSource) -> Path:
    # Other terms, another mark: they have to be accepted again.
    return cache_folder() / f"terms-{hashlib.sha256(source.terms.encode()).hexdigest()[:12]}.txt"


def _fetch(
    file: DataFile, mirror: str | None, progress: Callable[[str, int, int], None] | None, patience: Patience
) -> FetchedFile:
    path = cache_folder() / file.name
    url = file.url if mirror is None else f"{mirror.rstrip('/')}/{file.name}"
    known = _record(path)
    if path.is_file() and known is not None and _digest(path, "sha256") == known["sha256"]:
        return FetchedFile(path, known["sha256"], known["checked"], new=False)
    tell: Progress = (lambda done, total: progress(file.name, done, total)) if progress else lambda *_: None
    expected = _expected(file, url, known, patience)
    if path.is_file() and expected.digest is not None and _matches(path, expected):
        return _keep(path, path, url, expected, new=False)  # somebody put it there
    part = path.with_name(path.name + ".part")
    resumed = download(url, part, most=file.most_bytes, patience=patience, progress=tell)
    if not _matches(part, expected) and resumed:
        # What was there may have been of another version: once more, from the first byte.
        part.unlink(missing_ok=True)
        download(url, part, most=file.most_bytes, patience=patience, progress=tell)
    if not _matches(part, expected):
        part.unlink(missing_ok=True)
        raise ChecksumMismatch(
            f"the bytes from {url} are not those of {file.name}: {expected.wrong}",
            hint="try again later; what was in the cache is untouched",
        )
    return _keep(part, path, url, expected, new=True)


@dataclass(frozen=True)
class _Expected:
    kind: str
    digest: str | None
    checked: str
    wrong: str = "the checksum differs"


def _expected(file: DataFile, url: str, known: dict[str, str] | None, patience: Patience) -> _Expected:
    if file.sha256 is not None:
        return _Expected("sha256", file.sha256, "SHA-256 in this package")
    if file.md5_beside:
        # "<digest>  name" or "MD5 (name) = <digest>"
        match = re.search(r"\b[0-9a-fA-F]{32}\b", read_text(url + ".md5", patience=patience) or "")
        if match:
            return _Expected("md5", match[0].lower(), "MD5 published beside it")
    if known is not None:
        return _Expected("sha256", known["sha256"], "SHA-256 of the first download; none is published")
    return _Expected("sha256", None, "nothing: no checksum is published; later downloads must equal this one",
                     "it is not a zip archive")  # fmt: skip


def _matches(part: Path, expected: _Expected) -> bool:
    if expected.digest is None:
        return zipfile.is_zipfile(part)
    return _digest(part, expected.kind) == expected.digest


def _keep(part: Path, path: Path, url: str, expected: _Expected, *, new: bool) -> FetchedFile:
    sha256 = _digest(part, "sha256")
    record = {"url": url, "sha256": sha256, "checked": expected.checked}
    try:
        part.replace(path)
    except OSError as error:
        raise not_writable(path, error, _ELSEWHERE) from None
    write_whole(_record_path(path), json.dumps(record, indent=2), hint=_ELSEWHERE)
    return FetchedFile(path, sha256, expected.checked, new=new)


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256.json")


def _record(path: Path) -> dict[str, str] | None:
    """What is known of the file that was fetched last, even if it is gone."""
    try:
        record = json.loads(_record_path(path).read_text(encoding="utf-8"))
        return {key: str(record[key]) for key in ("url", "sha256", "checked")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
