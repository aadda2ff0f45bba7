"""How long this machine's processor works for studies whose trials run on a GPU, on one that does nothing.

What is left when programs are there and a GPU takes no time: to plan, to look at policies, to hand over and
keep results, to draw figures. It is not what a driver takes for memory and copies. Two studies: a sweep of
200 scenarios, and ``reproduce`` of the panels of Figure 1 with its checkpoint, widths, figure and report.

Usage: python benchmarks/gpu/host.py [--output FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import equipoise as eq
from equipoise.__main__ import run
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.jit import storage
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu import bench, offers, seat
from equipoise.lab.gpu.ahead import rounds
from studies import POLICIES, swept


class _IdleGpu:
    """An H200 whose programs do nothing, and whose memory is nowhere."""

    name = target = description = "idle"
    capability, processors, shared_bytes = (9, 0), 132, 232_448

    def use(self) -> None:
        pass

    def free_bytes(self) -> int:
        return 2**37

    def allocate(self, size: int) -> _IdleBuffer:
        return _IdleBuffer(size)

    def upload(self, array: Any) -> _IdleBuffer:
        return _IdleBuffer(array.nbytes)

    def assemble(self, ptx: str) -> bytes:
        return b""

    def load(self, code: bytes) -> _IdleGpu:
        return self

    def launch(self, *arguments: Any) -> float:
        return 0.0


class _IdleBuffer:
    """Memory from which ones are read."""

    address = 256

    def __init__(self, size: int) -> None:
        self.size = size

    def write(self, array: Any) -> None:
        pass

    def read(self, array: Any) -> None:
        array[...] = 1

    def repeat(self, *arguments: Any) -> None:
        pass

    def free(self) -> None:
        pass


@contextlib.contextmanager
def idle_gpu() -> Any:
    """Let ``device="cuda"`` be one, for which nothing is compiled."""
    device = _IdleGpu()
    with contextlib.ExitStack() as stack:
        for module in (bench, offers, rounds):
            stack.enter_context(mock.patch.object(module, "open_device", return_value=device))
        stack.enter_context(mock.patch.object(seat.Seat, "ptx", return_value=""))
        for module in (bench, seat):
            stack.enter_context(mock.patch.object(module, "to_ptx", return_value=""))
            stack.enter_context(mock.patch.object(module, "kept_draft", return_value=""))
        stack.enter_context(mock.patch.object(storage, "read", return_value=None))
        stack.enter_context(mock.patch.object(storage, "write"))
        stack.enter_context(mock.patch.object(rounds, "_processors", return_value=1))
        yield device


def reproduced() -> None:
    """The command, without what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["equipoise", "reproduce", *"abcdef", "--device", "cuda", "--output", folder]
        said = io.StringIO()
        with (
            mock.patch("sys.argv", words),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            contextlib.suppress(SystemExit),
        ):
            run()
        if not (Path(folder) / "report.html").exists():
            raise SystemExit(said.getvalue())


def timed(what: str, function: Callable[[], object]) -> list[str]:
    begin, working = time.perf_counter(), time.process_time()
    function()
    return [what, f"{time.process_time() - working:.1f}", f"{time.perf_counter() - begin:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    with idle_gpu():
        swept(1)
        lines = [
            timed(f"sweep: 200 scenarios, {len(POLICIES)} policies, 30,000 trials", lambda: swept(30_000)),
            timed("`equipoise reproduce a b c d e f`", reproduced),
        ]
    text = markdown_table(["study", "s of the processor", "s in all"], lines)
    text += (
        f"\nWith a GPU that takes no time. equipoise {eq.__version__}, numerics {NUMERICS}, "
        f"Numba {metadata.version('numba')}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
        "Printed by `python benchmarks/gpu/host.py`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
