"""The board on which processes leave requests: one takes what is there once, and nobody trusts it."""

import os
import secrets
import signal
import stat
import time

import pytest
from storing.crowds import needs_boards
from storing.processes import forked

from equipoise.live.stores import board as board_module
from equipoise.live.stores import shared_memory
from equipoise.live.stores.board import LONGEST_ANSWER, LONGEST_REQUEST, SLOTS, TOKEN_BYTES, Board

TOKEN = bytes(range(TOKEN_BYTES))

pytestmark = needs_boards


@pytest.fixture
def key():
    return f"test {secrets.token_hex(8)}"


@pytest.fixture
def here(key):
    board = Board.offered(key)
    yield board
    board.close()


@pytest.fixture
def there(key, here):
    """The same board, as another process has it."""
    board = Board.offered(key)
    yield board
    board.close()


def test_what_is_posted_is_taken_once_and_answered(here, there):
    slot = here.slot("trial")
    assert there.posted("trial") == []
    slot.post(TOKEN, b"do it")
    assert there.posted("another") == []
    (posted,) = there.posted("trial")
    assert (posted.token, posted.data) == (TOKEN, b"do it")
    assert there.posted("trial") == here.posted("trial") == []
    assert slot.wait(TOKEN, 0.001) is None
    there.answer(posted, b"done")
    assert slot.wait(TOKEN, 60.0) == b"done"


def test_a_bell_that_has_rung_before_does_not_end_the_waiting(here, there):
    slot = here.slot("trial")
    for _ in range(3):
        slot.post(TOKEN, b"do it")
        there.answer(there.posted("trial")[0], b"done")
        assert slot.wait(TOKEN, 60.0) == b"done"  # seen without listening
        slot.clear()
    began = time.monotonic()
    assert slot.wait(TOKEN, 0.2) is None
    assert time.monotonic() - began > 0.15


def test_an_empty_and_the_longest_message(here, there):
    slot = here.slot("trial")
    for asked, answered in ((b"", b""), (b"q" * LONGEST_REQUEST, b"a" * LONGEST_ANSWER)):
        slot.post(TOKEN, asked)
        (posted,) = there.posted("trial")
        assert posted.data == asked
        there.answer(posted, answered)
        assert slot.wait(TOKEN, 60.0) == answered
        slot.clear()


def test_slots_do_not_touch_each_other(here, there):
    slots = [here.slot("trial") for _ in range(SLOTS)]
    assert len({slot.number for slot in slots}) == SLOTS
    assert here.slot("trial") is there.slot("trial") is None
    for k, slot in enumerate(slots):
        slot.post(bytes([k]) * TOKEN_BYTES, bytes([k]) * LONGEST_REQUEST)
    found = there.posted("trial")
    assert [posted.data for posted in found] == [bytes([k]) * LONGEST_REQUEST for k in range(SLOTS)]
    for posted in reversed(found):
        there.answer(posted, posted.data[:1] * LONGEST_ANSWER)
    for k, slot in enumerate(slots):
        assert slot.wait(bytes([k]) * TOKEN_BYTES, 60.0) == bytes([k]) * LONGEST_ANSWER
    slots[3].close()
    assert there.slot("trial").number == 3


def test_an_answer_to_something_else_is_not_believed(here, there):
    slot = here.slot("trial")
    slot.post(TOKEN, b"first")
    (first,) = there.posted("trial")
    slot.post(TOKEN[::-1], b"second")
    there.answer(first, b"too late")
    assert slot.wait(TOKEN[::-1], 0.001) is None
    (second,) = there.posted("trial")
    there.answer(second, b"right")
    assert slot.wait(TOKEN[::-1], 60.0) == b"right"
    assert slot.wait(TOKEN, 0.001) is None


@pytest.mark.parametrize("place", ["asked", "answered"])
def test_what_was_damaged_is_not_believed(here, there, place):
    slot = here.slot("trial")
    slot.post(TOKEN, b"do it")
    start = here._map.find(b"do it")
    if place == "asked":
        here._map[start] ^= 1
        assert there.posted("trial") == []
        return
    (posted,) = there.posted("trial")
    there.answer(posted, b"done")
    here._map[here._map.find(b"done")] ^= 1
    assert slot.wait(TOKEN, 0.001) is None


def test_nothing_is_left_of_what_was_read(here, there):
    slot = here.slot("trial")
    slot.post(TOKEN, b"P-017 is ill")
    (posted,) = there.posted("trial")
    there.answer(posted, b"P-017 gets placebo")
    assert slot.wait(TOKEN, 60.0)
    slot.clear()
    assert here._map.find(b"P-017") == -1
    slot.post(TOKEN, b"P-018 is ill")
    slot.close()
    assert here._map.find(b"P-018") == -1
    assert not any(here._map[:])


def test_what_is_withdrawn_is_not_taken(here, there):
    slot = here.slot("trial")
    slot.post(TOKEN, b"do it")
    assert slot.withdraw()
    assert there.posted("trial") == []
    slot.post(TOKEN, b"do it")
    assert len(there.posted("trial")) == 1
    assert not slot.withdraw()


def test_of_those_who_take_and_withdraw_one_succeeds(key, here):
    """Another process takes as fast as it can, this one withdraws: nothing is both, nothing neither."""
    ready, done = os.pipe()

    def take():
        board = Board.offered(key)
        os.write(done, b"!")
        taken = 0
        while True:
            for posted in board.posted("trial"):
                if posted.data == b"end":
                    os.write(done, b"%d\n" % taken)
                    return
                taken += 1

    _, wait = forked(take)
    os.read(ready, 1)
    slot, kept = here.slot("trial"), 0
    for _ in range(3000):
        slot.post(TOKEN, b"do it")
        if not slot.withdraw():
            kept += 1
            while here._map[slot.number]:  # it is about to be taken, or was
                time.sleep(0.0001)
    slot.post(TOKEN, b"end")
    assert int(os.read(ready, 100)) == kept
    assert wait() == 0


def test_while_one_is_at_it_the_other_leaves_it(here, there):
    slot = here.slot("trial")
    slot.post(TOKEN, b"do it")
    assert there._memory.lock(SLOTS + slot.number)
    assert not slot.withdraw()
    there._memory.unlock(SLOTS + slot.number)
    assert here._memory.lock(SLOTS + slot.number)
    assert there.posted("trial") == []
    here._memory.unlock(SLOTS + slot.number)
    assert len(there.posted("trial")) == 1


def test_closing_withdraws(key, here):
    board = Board.offered(key)
    slots = [board.slot("trial") for _ in range(2)]
    for slot in slots:
        slot.post(TOKEN, b"do it")
    assert len(here.posted("trial")) == 2
    slots[1].post(TOKEN, b"do it")
    board.close()
    assert [slot.withdraw() for slot in slots] == [False, True]
    assert here.posted("trial") == []
    assert board.slot("trial") is None


def test_an_answer_that_is_too_late_leaves_nothing(here, there, monkeypatch):
    slot = here.slot("trial")
    slot.post(TOKEN, b"P-017 is ill")
    (posted,) = there.posted("trial")
    digest = board_module._digest

    def slowly(token, data):
        slot.clear()  # who asked has found it in the log meanwhile
        return digest(token, data)

    monkeypatch.setattr(board_module, "_digest", slowly)
    there.answer(posted, b"P-017 gets placebo")
    assert here._map.find(b"P-017") == -1


def test_what_is_asked_by_the_dead_is_not_done(key, here):
    ready, done = os.pipe()

    def ask():
        board = Board.offered(key)
        board.slot("trial").post(TOKEN, b"do it")
        os.write(done, b"!")
        time.sleep(60)

    child, wait = forked(ask)
    os.read(ready, 1)
    assert here._map[0] == 1
    os.kill(child, signal.SIGKILL)
    wait()
    assert here.posted("another") == []
    assert here.posted("trial") == []
    assert not any(here._map[:])
    slot = here.slot("trial")
    assert slot.number == 0
    assert here.posted("trial") == []


def test_nothing_is_left_of_the_dead(key, here):
    def ask():
        Board.offered(key).slot("trial").post(TOKEN, b"P-017 is ill")
        here_again = Board.offered(key)
        assert len(here_again.posted("trial")) == 1  # taken, and then all die
        os.kill(os.getpid(), signal.SIGKILL)

    here.slot("another").post(TOKEN, b"P-018 is well")
    _, wait = forked(ask)
    assert wait() == -signal.SIGKILL
    assert here._map.find(b"P-017") > 0
    here.clear_unused()
    assert here._map.find(b"P-017") == -1
    (posted,) = here.posted("another")
    assert posted.data == b"P-018 is well"


def test_what_the_dead_have_posted_is_cleared_by_who_has_the_lock(key, here):
    _, wait = forked(lambda: Board.offered(key).slot("trial").post(TOKEN, b"P-017 is ill"))
    assert wait() == 0
    here.clear_unused()
    assert here._map[0] == 1  # a moment of life here would make it wanted
    assert here.posted("another") == []
    assert not any(here._map[:])


def test_a_slot_that_the_dead_had_asks_for_nothing(key, here):
    _, wait = forked(lambda: Board.offered(key).slot("trial").post(TOKEN, b"do it"))
    assert wait() == 0
    slot = here.slot("trial")
    assert slot.number == 0
    assert here.posted("trial") == []


def test_a_child_has_a_board_of_its_own(key, here):
    slot = here.slot("trial")
    slot.post(TOKEN, b"do it")

    def check():
        assert not here.is_open
        assert not slot.is_usable
        slot.close()
        here.close()
        board = Board.offered(key)
        assert board.slot("trial").number == 1
        assert len(board.posted("trial")) == 1
        board.close()

    _, wait = forked(check)
    assert wait() == 0
    assert here.is_open
    assert slot.is_usable
    assert here._memory.path.exists()
    assert here.posted("trial") == []  # the child has taken it


def test_a_child_that_lives_on_does_not_keep_the_slots(key, here):
    """Only its parent's death frees them, not its own."""
    slot = here.slot("trial")
    child, wait = forked(lambda: time.sleep(60))
    slot.post(TOKEN, b"do it")
    number = slot.number
    here.close()
    other = Board.offered(key)
    assert other.posted("trial") == []
    assert other.slot("trial").number == number
    os.kill(child, signal.SIGKILL)
    wait()
    other.close()


def test_the_last_one_takes_the_file_away(key):
    first, second = Board.offered(key), Board.offered(key)
    path = first._memory.path
    found = path.stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    first.close()
    first.close()
    assert path.exists()
    second.close()
    assert not path.exists()
    third = Board.offered(key)
    assert path.stat().st_size == found.st_size
    del third
    assert not path.exists()


def test_files_of_the_killed_are_swept_away(key, monkeypatch, tmp_path):
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)  # where nobody else sweeps

    def leave():
        Board.offered(key)
        os.kill(os.getpid(), signal.SIGKILL)

    _, wait = forked(leave)
    wait()
    probe = Board(key)
    path = probe._memory.path
    probe.leave_to_parent()  # closed as if it had been killed
    assert path.exists()
    other = Board.offered(key + " another")
    assert not path.exists()
    assert other._memory.path.exists()
    other.close()


def test_closed_or_taken_away_it_is_not_offered(key, monkeypatch, tmp_path):
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    board = Board.offered(key)
    path = board._memory.path
    board.close()
    for refuse in (
        lambda: path.symlink_to(tmp_path / "elsewhere"),
        path.mkdir,
        lambda: (path.write_text(""), path.chmod(0o644)),
        lambda: (path.touch(0o600), os.link(path, tmp_path / "another")),
    ):
        refuse()
        monkeypatch.setattr(shared_memory, "_sweep", lambda: None)
        assert Board.offered(key) is None
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path / "missing")
    assert Board.offered(key) is None
    monkeypatch.setattr(shared_memory, "fcntl", None)
    assert Board.offered(key) is None


def test_without_space_it_is_not_offered(key, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shared_memory.os, "posix_fallocate", full)
    assert Board.offered(key) is None


def test_files_that_come_and_go(key):
    """Openers and closers at the same time: all of them meet on one file."""
    kept = []

    def come_and_go():
        for _ in range(200):
            board = Board.offered(key)
            assert board is not None
            board.close()

    children = [forked(come_and_go) for _ in range(3)]
    for _ in range(50):
        kept.append(Board.offered(key))
        slot = kept[0].slot("trial")
        slot.post(TOKEN, b"x")
        assert len(kept[-1].posted("trial")) == 1
        slot.close()
        if len(kept) > 1:
            kept.pop(0).close()
    assert [wait() for _, wait in children] == [0, 0, 0]
    kept.pop().close()
