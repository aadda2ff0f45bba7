"""Ctrl-C while helpers compile for a GPU, in a terminal of its own: all end, and nothing is said but that."""

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from emulation.hook import hooked
from emulation.programs import why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

PROGRAM = """
import equipoise as eq
from emulation.device import emulated_gpu
from equipoise.lab.gpu.ahead import compile_ahead, rounds
rounds._processors = lambda: 4
scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=300, estimator="ridge")
dims, policies = (24, 28, 30), ["uniform", "trace-ucb", "trace-gain"]
points = [(scenario.replace(dim=dim), policies) for dim in dims]
with emulated_gpu():
    try:
        {waits}
        print("finished")
    except KeyboardInterrupt:
        print("interrupted")
"""
WAITS = {
    "a run": 'compile_ahead(points, "cuda")',
    "a sweep": 'eq.sweep(scenario, dim=dims, policies=policies, trials=2, device="cuda")',
}
PATIENCE, SOON = 90.0, 5.0  # seconds; programs of so many features take longer than that


class Terminal:
    """A terminal in which a program runs, with all processes that it starts."""

    def __init__(self, folder, waits):
        self._folder = folder
        self._mine, theirs = pty.openpty()
        self.program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(waits=WAITS[waits])],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=hooked(folder),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)

    def wait_for_helpers(self, count):
        end = time.monotonic() + PATIENCE
        while len(list(self._folder.glob("*.at-work"))) < count:
            assert time.monotonic() < end
            assert self.program.poll() is None, self.text()
            time.sleep(0.05)

    def press_ctrl_c(self):
        os.write(self._mine, b"\x03")

    def text(self):
        """All that was printed; the program must have ended."""
        found = b""
        with contextlib.suppress(OSError):  # a terminal that nobody has any more
            while part := os.read(self._mine, 2**12):
                found += part
        return found.decode()

    def words(self):
        """The same without what terminals show of Ctrl-C, and without Numba's colours."""
        # Whoever compiles something sets them back when it ends.
        return self.text().replace("^C", "").replace("\x1b[0m", "").split()

    def others(self):
        """Processes of this terminal besides the program."""
        return [pid for pid in processes_of(self.program.pid) if pid != self.program.pid]

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.program.pid, signal.SIGKILL)
        self.program.wait()
        os.close(self._mine)


def processes_of(session):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            facts = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(facts[3]) == session:
                found.append(int(folder.name))
    return found


@pytest.fixture
def terminal(tmp_path, request):
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are looked up in /proc")
    terminal = Terminal(tmp_path, getattr(request, "param", "a run"))
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("terminal", "to"),
    [("a run", "the terminal"), ("a run", "the program alone"), ("a sweep", "the terminal")],
    indirect=["terminal"],
)
def test_ctrl_c_ends_helpers_at_once(terminal, to):
    terminal.wait_for_helpers(2)
    assert len(terminal.others()) >= 2
    if to == "the terminal":
        terminal.press_ctrl_c()
    else:
        terminal.program.send_signal(signal.SIGINT)
    assert terminal.program.wait(SOON) == 0
    assert terminal.others() == []
    assert terminal.words() == ["interrupted"]


def test_helpers_end_when_the_program_is_killed(terminal):
    terminal.wait_for_helpers(2)
    helpers = terminal.others()
    terminal.program.kill()
    terminal.program.wait()
    end = time.monotonic() + PATIENCE
    while terminal.others():
        assert time.monotonic() < end, helpers
        time.sleep(0.1)
    assert terminal.text() == ""
