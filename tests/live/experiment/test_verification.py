"""Verification finds what was changed in a log, names the first row, and makes every decision anew."""

import json

import apsw
import numpy as np
import pytest

import equipoise as eq
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.errors import ChainBroken, EquipoiseError, PolicyNotAtHand, ReceiptUnknown, ReplayMismatch
from equipoise.live.experiment.verification import verify_rows
from equipoise.live.log.encoding import decode, encode
from equipoise.live.log.rows import make_rows
from equipoise.live.stores.chain import first_link, hash_payload, link


@pytest.fixture
def live(memory, problem):
    live = eq.create_experiment(store=memory, name="trial", problem=problem, seed=3, actor="ann")
    rng = np.random.default_rng(0)
    for i in range(12):
        live.ask(rng.normal(size=2), unit=f"u{i}")
        live.tell(f"u{i}", float(rng.normal()))
    return live


@pytest.fixture
def rows(live):
    return list(live.store.read("trial"))


def verify(rows, end=None, receipt=None, decisions=True):
    last = rows[-1]
    return verify_rows("trial", iter(rows), end or (last.sequence, last.hash), receipt, decisions)


def test_a_sound_log(live, rows):
    found = live.verify(live.receipt)
    assert (found.rows, found.units, found.decided, found.redacted, found.restored) == (25, 12, 12, 0, ())
    assert found.head == live.receipt == found.receipt
    assert found.began <= found.ended
    assert "12 decisions made anew" in str(found)
    assert live.verify(decisions=False).decided is None
    assert verify(rows).head == found.head


@pytest.mark.parametrize("place", [0, 6, 24])
@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("payload", "payload was changed"),
        ("salt", "payload was changed"),
        ("payload_hash", "header or its hash"),
        ("header", "header or its hash"),
        ("hash", "header or its hash"),
        ("time", "number or time"),
    ],
)
def test_a_flipped_byte(rows, place, field, words):
    row = rows[place]
    value = getattr(row, field)
    changed = value + 1 if field == "time" else bytes([value[0] ^ 1]) + value[1:]
    rows[place] = row._replace(**{field: changed})
    with pytest.raises(ChainBroken, match=f"at row {place + 1}: .*{words}") as caught:
        verify(rows)
    assert caught.value.sequence == place + 1


def test_rows_that_are_missing_exchanged_or_cut_off(rows):
    end = rows[-1].sequence, rows[-1].hash
    with pytest.raises(ChainBroken, match="at row 7: it is missing: row 8 comes next"):
        verify(rows[:6] + rows[7:], end)
    with pytest.raises(ChainBroken, match="at row 21: it is missing: the log ends here, and should have 25"):
        verify(rows[:20], end)
    with pytest.raises(ChainBroken, match="at row 25: the end should be"):
        verify(rows, (25, bytes(32)))
    swapped = [*rows[:4], rows[5]._replace(sequence=5), rows[4]._replace(sequence=6), *rows[6:]]
    with pytest.raises(ChainBroken, match="at row 5"):
        verify(swapped, end)
    with pytest.raises(ChainBroken, match=r"at row 21: the end should be"):
        verify(rows, (20, rows[19].hash))


def test_a_payload_that_nobody_redacted(rows):
    rows[5] = rows[5]._replace(payload=None, salt=b"")
    with pytest.raises(ChainBroken, match="at row 6: its payload is gone, and no redaction names it"):
        verify(rows, decisions=False)


def rewritten(rows, place, change):
    """The log with another event in one row, and a chain that holds all the same."""
    made, previous = [], first_link("trial")
    for number, row in enumerate(rows):
        event, header = decode(row.payload), decode(row.header)
        if number == place:
            change(event)
        made += make_rows(
            [event],
            header["actor"],
            header["reason"],
            previous=previous,
            sequence=number,
            time=rows[-1].time,
            epoch=1,
            mode="live",
        )
        previous = made[-1].hash
    return made


def test_a_log_that_was_written_anew_is_found_by_its_decisions(live, rows):
    def elsewhere(event):
        event["arm"] = "a" if event["arm"] != "a" else "b"

    changed = rewritten(rows, 19, elsewhere)
    assert verify(changed, decisions=False).rows == 25
    with pytest.raises(ReplayMismatch, match="unit 10"):
        verify(changed)

    def otherwise(event):
        event["scores"][0] = 17.0

    with pytest.raises(ReplayMismatch, match="scores"):
        verify(rewritten(rows, 19, otherwise))
    with pytest.raises(ReceiptUnknown, match="another hash"):
        verify(rewritten(rows, 24, lambda event: event.update(outcome=9.0)), receipt=live.receipt)


def by_other_numerics(rows, first, last):
    """The same log, with rows from ``first`` to ``last`` by a library that computes other bits."""
    previous, told = rows[first - 2].hash, rows[: first - 1]
    for row in rows[first - 1 :]:
        other = {"version": "9.9.9", "numerics": eq.NUMERICS + 1} if row.sequence <= last else {}
        header = encode({**decode(row.header), **other})
        previous = link(previous, row.payload_hash, header)
        told.append(row._replace(header=header, hash=previous))
    return told


def test_decisions_by_other_numerics_are_not_compared_and_that_is_said(rows):
    changed = rewritten(rows, 19, lambda event: event["scores"].__setitem__(0, 17.0))
    found = verify(by_other_numerics(changed, 11, 25))
    assert (found.units, found.decided, found.incomparable) == (12, 5, 7)
    assert (found.versions, found.numerics) == ((eq.__version__, "9.9.9"), (eq.NUMERICS, eq.NUMERICS + 1))
    assert f"7 decisions not compared: made with numerics {eq.NUMERICS + 1}" in str(found)
    with pytest.raises(ReplayMismatch, match="unit 10"):  # rows of this library's numerics are, wherever
        verify(by_other_numerics(changed, 11, 15))
    assert verify(by_other_numerics(rows, 11, 15)).decided == 10
    assert verify(rows).incomparable == 0


def test_without_the_policy_the_chain_is_verified_all_the_same(memory, problem):
    known = known_policies()
    try:

        @eq.register("test-gone")
        def gone(arm, trial, settings):
            return -arm.count

        live = eq.create_experiment(store=memory, name="gone", problem=problem, policy="test-gone")
        live.ask([1.0, 2.0])
    finally:
        restore_policies(known)
    with pytest.raises(PolicyNotAtHand, match="the chain is sound, and decisions cannot") as caught:
        live.verify()
    assert "decisions=False" in caught.value.hint
    assert live.verify(decisions=False).rows == 2
    memory._logs["gone"].rows[1] = memory._logs["gone"].rows[1]._replace(header=b"{}")
    with pytest.raises(ChainBroken, match="at row 2"):
        live.verify()


def test_a_broken_chain_says_more_than_a_decision(rows):
    changed = rewritten(rows, 3, lambda event: event["scores"].__setitem__(0, 17.0))
    changed[20] = changed[20]._replace(header=changed[20].header + b" ")
    with pytest.raises(ChainBroken, match="at row 21"):
        verify(changed)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mode": "practice"}, "of mode 'practice' in a log of 'live'"),
        ({"epoch": 2}, "of epoch 2, and should be of 1"),
        ({"kind": "told"}, "different kinds"),
        ({"sequence": 9}, "number or time"),
        ({"more": 1}, "other fields"),
    ],
)
def test_headers_must_make_sense_even_where_hashes_do(rows, change, words):
    row = rows[3]
    header = encode({**decode(row.header), **change})
    changed = row._replace(header=header, hash=link(rows[2].hash, row.payload_hash, header))
    with pytest.raises(ChainBroken, match=f"at row 4: .*{words}"):
        verify([*rows[:3], changed])


def test_times_do_not_go_back_even_where_hashes_hold(rows):
    previous, changed = rows[10].hash, rows[:11]
    for row in rows[11:]:
        time = rows[0].time - 1 if row.sequence == 12 else row.time
        header = encode({**decode(row.header), "time": time})
        previous = link(previous, row.payload_hash, header)
        changed.append(row._replace(time=time, header=header, hash=previous))
    with pytest.raises(ChainBroken, match="at row 12: it is older than the row before"):
        verify(changed)


def test_what_is_no_json(rows):
    payload = b"{not json"
    covered = hash_payload(rows[3].salt, payload)
    changed = rows[3]._replace(
        payload=payload, payload_hash=covered, hash=link(rows[2].hash, covered, rows[3].header)
    )
    with pytest.raises(ChainBroken, match="at row 4: it cannot be read"):
        verify([*rows[:3], changed])


def test_receipts_of_others(live):
    other = eq.Receipt("another", 1, 3, bytes(32))
    with pytest.raises(ReceiptUnknown, match="is of 'another'"):
        live.verify(other)
    with pytest.raises(ReceiptUnknown, match="is of row 99"):
        live.verify(eq.Receipt("trial", 1, 99, bytes(32)))


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "UPDATE equipoise_events SET payload = X'7B7D' WHERE sequence = 4",
            "at row 4: its payload was changed",
        ),
        ("DELETE FROM equipoise_events WHERE sequence = 4", "at row 4: .*missing"),
        ("DELETE FROM equipoise_events WHERE sequence > 4", "at row 5: .*missing"),
    ],
)
def test_a_file_that_somebody_has_edited(file_url, problem, sql, words):
    with eq.create_experiment(store=file_url, name="trial", problem=problem) as live:
        for i in range(3):
            live.tell(live.ask([1.0, float(i)]).id, 1.0)
    connection = apsw.Connection(file_url.removeprefix("sqlite:///"))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # they would refuse
    connection.execute(sql).fetchall()
    connection.close()
    with pytest.raises(ChainBroken, match=words):
        eq.verify_experiment(store=file_url, name="trial")
    with pytest.raises(EquipoiseError, match=r"row [45]"):
        eq.load_experiment(store=file_url, name="trial")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SET epoch = 3", "the epoch is 3 by the head, and 1 by the rows"),
        ("SET mode = 'practice'", "the mode is practice by the head, and live by the rows"),
        ("SET created = created - 1", "the time of the first row is"),
        ("SET updated = 9000000000000000000", "the time of the last row is 9000000000000000000 by the head"),
    ],
)
def test_a_head_that_somebody_has_edited(file_url, problem, sql, words):
    with eq.create_experiment(store=file_url, name="trial", problem=problem) as live:
        live.tell(live.ask([1.0, 2.0]).id, 1.0)
    connection = apsw.Connection(file_url.removeprefix("sqlite:///"))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # they would refuse
    connection.execute(f"UPDATE equipoise_experiments {sql}").fetchall()
    connection.close()
    with pytest.raises(ChainBroken, match=words):
        eq.verify_experiment(store=file_url, name="trial")


def test_another_outcome_in_the_file_is_never_folded_in(file_url, problem):
    """What stands there could have been told; who opens it notices by the hash alone."""
    with eq.create_experiment(store=file_url, name="trial", problem=problem) as live:
        live.ask([1.0, 2.0], unit="u")
        live.tell("u", 1.25)
        connection = apsw.Connection(file_url.removeprefix("sqlite:///"))
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # they would refuse
        (payload,) = (connection.execute("SELECT payload FROM equipoise_events WHERE sequence = 3").get,)
        changed = payload.replace(b"1.25", b"9.25")
        assert changed != payload
        connection.execute(
            "UPDATE equipoise_events SET payload = ? WHERE sequence = 3", (changed,)
        ).fetchall()
        connection.close()
        for act in (eq.load_experiment, eq.verify_experiment):
            with pytest.raises(ChainBroken, match="at row 3: its payload was changed"):
                act(store=file_url, name="trial")


def test_the_log_can_be_checked_without_this_library(live, tmp_path):
    """Twenty lines and a hash function are enough for an archive."""
    from hashlib import blake2b

    live.archive(tmp_path / "trial.jsonl")
    first, *lines, last = map(json.loads, (tmp_path / "trial.jsonl").read_text().splitlines())
    previous = bytes(32) + first["name"].encode()
    for line in lines:
        salted = bytes.fromhex(line["salt"]) + line["payload"].encode()
        assert blake2b(salted, digest_size=32).hexdigest() == line["payload_hash"]
        covered = previous + bytes.fromhex(line["payload_hash"]) + line["header"].encode()
        previous = blake2b(covered, digest_size=32).digest()
        assert previous.hex() == line["hash"]
    assert previous.hex() == first["hash"]
    assert last == {"end": len(lines)}
