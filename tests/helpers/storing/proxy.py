"""A network that can be cut: between a client and a PostgreSQL server, both on sockets in folders."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

NAME = ".s.PGSQL.5432"


class CuttingProxy:
    """Hands everything on, until it is told to cut.

    ``cut_before``: the next thing the client says is lost, and so is the connection.
    ``cut_and_late``: the connection is lost with the next COMMIT, which arrives half a second later.
    ``cut_after``: the next thing the client says arrives, and is carried out; the answer is lost.
    ``refuse``: nobody answers from then on.
    """

    def __init__(self, server_folder):
        self._server = str(Path(server_folder) / NAME)
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.mode = "pass"
        self.refusing = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self.folder) / NAME))
        self._listener.listen()
        self._open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        for one in self._open:
            _close(one)
        self._folder.cleanup()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refusing:
                    _close(client)
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._open += [client, server]
                for act in (self._say, self._answer):
                    threading.Thread(target=act, args=(client, server), daemon=True).start()

    def _say(self, client, server):
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if self.mode == "cut_before":
                    self.mode = "pass"
                    break
                if self.mode == "cut_and_late" and b"COMMIT" in data:
                    self.mode = "pass"
                    client.shutdown(socket.SHUT_RDWR)
                    time.sleep(0.5)
                server.sendall(data)
        _close(server)
        _close(client)

    def _answer(self, client, server):
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if self.mode == "cut_after":
                    # The server says "ready" when it is done with all of it.
                    if data.endswith(b"Z\0\0\0\5I"):
                        self.mode = "pass"
                        break
                    continue
                client.sendall(data)
        _close(client)
        _close(server)


def _close(one):
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
