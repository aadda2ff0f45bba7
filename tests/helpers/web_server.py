"""A real HTTP server on the loopback interface that serves a folder, and misbehaves when told to."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Web:
    """What the server does, and what it was asked."""

    folder: Path
    url: str = ""
    ranges: bool = True  # whether it resumes
    versions: bool = True  # whether it sends an ETag
    lengths: bool = True  # whether it says how long a file is
    cuts: list[int] = field(default_factory=list)  # bytes after which the next answers break off
    failures: list[int] = field(default_factory=list)  # statuses of the next answers
    redirections: dict[str, str] = field(default_factory=dict)  # name: where it has moved
    shifted: int = 0  # answers with another part than was asked for
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range

    def asked(self, name: str) -> list[str | None]:
        """The Range of every request for a file."""
        return [span for path, span in self.requests if path.endswith("/" + name)]


class Handler(BaseHTTPRequestHandler):
    """Answers as the server's ``web`` says."""

    protocol_version = "HTTP/1.0"
    server: Server

    def do_GET(self) -> None:
        web = self.server.web
        web.requests.append((self.path, self.headers["Range"]))
        if web.failures:
            self.send_error(web.failures.pop(0))
            return
        moved = web.redirections.get(self.path.rpartition("/")[2])
        if moved:
            self.send_response(302)
            self.send_header("Location", moved)
            self.end_headers()
            return
        file = web.folder / self.path.rpartition("/")[2]
        if not file.is_file():
            self.send_error(404)
            return
        self._answer(file.read_bytes())

    def _answer(self, content: bytes) -> None:
        web = self.server.web
        tag = f'"{hash(content):x}"'
        first = 0
        span = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        same = self.headers["If-Range"] in (None, tag)
        if web.ranges and span and same:
            first = int(span[1])
            if first >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.end_headers()
                return
            self.send_response(206)
            said = first + 1 if web.shifted else first
            web.shifted = max(0, web.shifted - 1)
            self.send_header("Content-Range", f"bytes {said}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if web.versions:
            self.send_header("ETag", tag)
        body = content[first:]
        if web.lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: web.cuts.pop(0)] if web.cuts else body)

    def log_message(self, *_: object) -> None: ...


class Server(ThreadingHTTPServer):
    """Any free port of the loopback interface."""

    def __init__(self, web: Web) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.web = web

    def handle_error(self, *_: object) -> None: ...  # clients that leave early are meant


@contextmanager
def serve(folder: Path, certificate: Path | None = None) -> Iterator[Web]:
    """Serve the folder; by https if there is a certificate with its key."""
    web = Web(folder)
    server = Server(web)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    web.url = f"{scheme}://127.0.0.1:{server.server_port}/files"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
