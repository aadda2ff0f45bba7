"""One file over HTTP, resumed where it broke off and tried again with growing pauses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from equipoise.errors import DownloadFailed, OutputNotWritable
from equipoise.extras import library
from equipoise.files import write_whole
from equipoise.version import __version__

Progress = Callable[[int, int], None]
_BLOCK = 1 << 16
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_MOST_TEXT = 4096
_REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5


@dataclass(frozen=True)
class Patience:
    """How long to go on: ``attempts`` in a row without a new byte, pauses in seconds."""

    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 30.0
    timeout: float = 30.0


def download(url: str, part: Path, *, most: int, patience: Patience, progress: Progress) -> bool:
    """Fill ``part``, going on behind what it holds; returns whether anything of it was old.

    A file of more than ``most`` bytes is refused, and nothing of it kept.
    """
    attempt = _Attempt(url, part, most, patience, progress)
    resumed = attempt.done > 0
    _persist(attempt.go_on, patience, lambda: attempt.idle, url)
    attempt.forget()
    return resumed


def read_text(url: str, *, patience: Patience) -> str | None:
    """A short text, or None if the server has none."""
    tries = 0

    def ask() -> str | None:
        nonlocal tries
        tries += 1
        with _open(url, {}, patience) as response:
            if response.status in (403, 404, 410):
                return None
            _check_status(response, url)
            return str(response.read(_MOST_TEXT, decode_content=False).decode("ascii", "replace"))

    answer: str | None = _persist(ask, patience, lambda: tries, url)
    return answer


class _TryAgain(Exception):
    """What a pause may mend."""


class _Attempt:
    """The file so far, and what identifies its version on the server."""

    def __init__(self, url: str, part: Path, most: int, patience: Patience, progress: Progress) -> None:
        self.url, self.part, self.most = url, part, most
        self.patience, self.progress = patience, progress
        self.idle = 0  # attempts in a row that brought nothing
        self._note = part.with_name(part.name + ".json")
        self._version = self._remembered()
        self.done = part.stat().st_size if self._version is not None and part.exists() else 0

    def go_on(self) -> None:
        """One request, and as much of its answer as arrives."""
        before = self.done
        try:
            self._request()
        finally:
            self.idle = 0 if self.done > before else self.idle + 1

    def forget(self) -> None:
        """The note is of use only while the file is not whole."""
        self._note.unlink(missing_ok=True)

    def _request(self) -> None:
        headers = {}
        if self.done:
            headers["Range"] = f"bytes={self.done}-"
            if self._version:
                headers["If-Range"] = self._version
        with _open(self.url, headers, self.patience) as response:
            if response.status == 416 and self.done:
                if _total(response) == self.done:
                    return  # the connection broke after the last byte
                self._start_over(response)
                raise _TryAgain("the file on the server is shorter now")
            if response.status == 206 and not _continues(response, self.done):
                self._start_over(response)
                raise _TryAgain("the server sent another part than was asked for")
            if response.status not in (200, 206):
                _check_status(response, self.url)
            if response.status == 200:
                self._start_over(response)
            self._receive(response)

    def _start_over(self, response: Any) -> None:
        """The server does not resume, or has another version of the file now."""
        self.done = 0
        self.part.write_bytes(b"")
        self._version = _version(response)
        write_whole(self._note, json.dumps({"url": self.url, "version": self._version}))

    def _receive(self, response: Any) -> None:
        length = response.headers.get("Content-Length", "")
        total = self.done + int(length) if length.isdigit() else 0
        self._refuse_more(total)
        with self.part.open("ab") as file:
            for block in response.stream(_BLOCK, decode_content=False):
                self._refuse_more(self.done + len(block))
                file.write(block)
                self.done += len(block)
                self.progress(self.done, max(total, self.done))

    def _refuse_more(self, size: int) -> None:
        if size <= self.most:
            return
        self.part.unlink(missing_ok=True)
        self.forget()
        raise DownloadFailed(
            f"{self.url} is larger than the {self.most / 1e6:,.0f} MB that the file may have",
            hint="the address may serve something else now; --from names another",
        )

    def _remembered(self) -> str | None:
        try:
            note = json.loads(self._note.read_text())
            return str(note["version"]) if note["url"] == self.url else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None


def _persist(act: Callable[[], Any], patience: Patience, idle: Callable[[], int], url: str) -> Any:
    tenacity, urllib3 = library("tenacity"), library("urllib3")
    passing = (_TryAgain, urllib3.exceptions.HTTPError)
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(passing),
        stop=lambda state: idle() >= patience.attempts,
        # Random, so that many who were cut at once do not come back at once.
        wait=tenacity.wait_exponential(multiplier=patience.first_pause, max=patience.longest_pause)
        + tenacity.wait_random(0.0, patience.first_pause),
        reraise=True,
    )
    try:
        return retrying(act)
    except passing as error:
        raise DownloadFailed(
            f"{url} could not be downloaded: {_reason(error)}",
            hint="check the connection and type the same line again; what has arrived is kept",
        ) from None
    except DownloadFailed:
        raise
    except OSError as error:
        raise OutputNotWritable(
            f"the download cannot be written: {error}", hint="EQUIPOISE_CACHE names another folder"
        ) from None


def _open(url: str, headers: dict[str, str], patience: Patience) -> Any:
    """The answer to a request, after at most five redirections, none of them from https to anything else."""
    for _ in range(_MOST_REDIRECTS + 1):
        response = _ask(url, headers, patience)
        location = response.headers.get("Location")
        if response.status not in _REDIRECTIONS or not location:
            return response
        response.close()
        there = _beside(url, location)
        if _address(url).scheme == "https" and _address(there).scheme != "https":
            raise DownloadFailed(
                f"{url} redirects to {there}, which anybody on the way could change",
                hint="--from names another address that starts with https://",
            )
        url = there
    raise DownloadFailed(f"{url} redirects in circles", hint="--from names another address")


def _beside(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:  # brackets that do not match
        return location


def _address(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        if address.scheme in ("http", "https") and address.hostname:
            return address
    except ValueError:
        pass
    raise DownloadFailed(f"{url!r} is not an address of the web", hint="it starts with https://")


def _ask(url: str, headers: dict[str, str], patience: Patience) -> Any:
    from urllib.request import getproxies, proxy_bypass  # slow to import

    urllib3 = library("urllib3")
    address = _address(url)
    proxy = None if proxy_bypass(address.hostname or "") else getproxies().get(address.scheme)
    pool = urllib3.ProxyManager(proxy) if proxy else urllib3.PoolManager()
    return pool.request(
        "GET",
        url,
        headers={"Accept-Encoding": "identity", "User-Agent": f"equipoise/{__version__}", **headers},
        preload_content=False,
        timeout=urllib3.Timeout(connect=patience.timeout, read=patience.timeout),
        redirect=False,
        retries=urllib3.Retry(total=None, connect=0, read=0, redirect=0, status=0, other=0),
    )


def _check_status(response: Any, url: str) -> None:
    answer = f"the server answers {response.status} {response.reason or ''}".rstrip()
    if response.status in _TRY_AGAIN:
        raise _TryAgain(answer)
    if response.status not in (200, 206):
        raise DownloadFailed(
            f"{url} could not be downloaded: {answer}",
            hint="the file may have moved; --from names another address, a path works without fetching",
        )


def _version(response: Any) -> str:
    """What If-Range takes: a strong ETag, or the date; nothing if the server gives neither."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")


def _continues(response: Any, done: int) -> bool:
    return re.match(rf"bytes {done}-", response.headers.get("Content-Range", "")) is not None


def _total(response: Any) -> int | None:
    match = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _reason(error: Exception) -> str:
    # urllib3 wraps what happened several times over.
    while isinstance(cause := getattr(error, "reason", None), Exception):
        error = cause
    return str(error) or type(error).__name__
