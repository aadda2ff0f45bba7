"""The reader of histories accepts what can have happened, and refuses what has one thing wrong with it.

Histories are made up here: clients that call one after the other, moments at which their calls took effect,
answers that were lost, repeats. The log is written here too, by the documented format.
"""

import json
from dataclasses import replace
from hashlib import blake2b
from math import inf

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torture.histories import Call, LogRow, findings

NAME = "trial"
ARMS = "abc"


def digest(*parts):
    return blake2b(b"".join(parts), digest_size=32).digest()


def chained(drafts):
    """Rows of (kind, actor, event), with hashes that hold."""
    rows, previous = [], bytes(32) + NAME.encode()
    for number, (kind, actor, event) in enumerate(drafts, 1):
        header = json.dumps(
            {"kind": kind, "actor": actor, "epoch": 1, "sequence": number, "time": 1000 + number}
        )
        payload, salt = json.dumps(event), bytes([number % 256]) * 16
        covered = digest(salt, payload.encode())
        previous = digest(previous, covered, header.encode())
        rows.append(LogRow(number, 1000 + number, header, salt.hex(), payload, covered.hex(), previous.hex()))
    return rows


def receipt(row):
    return f"{NAME}@1:{row.sequence}:{row.hash}"


@st.composite
def histories(draw):
    """(drafts of the log, calls without their receipts): what clients did, one moment after the other."""
    clients = [f"c{k}" for k in range(draw(st.integers(1, 4)))]
    drafts, begun, calls, units = [("created", "me", {"kind": "created"})], {}, [], {}
    for moment in range(draw(st.integers(1, 40))):
        client = draw(st.sampled_from(clients))
        if client not in begun:
            unit = draw(st.sampled_from(["u1", "u2", "u3", "u4", f"own-{client}-{moment}"]))
            known = [u for u, (_, state) in units.items() if state != "under way"]
            if known and draw(st.booleans()):
                unit = draw(st.sampled_from(known))
                begun[client] = [Call(client, "tell", unit, float(len(unit)), float(moment)), None]
            else:
                begun[client] = [Call(client, "ask", unit, [1.0, float(len(unit))], float(moment)), None]
            continue
        call, took = begun[client]
        step = draw(st.sampled_from(["effect", "end", "killed"]))
        if took is None and step != "killed":
            begun[client][1] = effect(drafts, units, call)
        elif took is not None and step == "end":
            del begun[client]
            calls.append((replace(call, end=float(moment)), took))
        elif step == "killed":
            del begun[client]
            calls.append((call, None))
    calls += [(call, None) for call, _ in begun.values()]
    return drafts, calls


def effect(drafts, units, call):
    """Carry a call out; gives the place of its row, and that of the end of the log."""
    if call.act == "ask" and call.unit not in units:
        arm = ARMS[len(units) % 3]
        event = {"kind": "asked", "id": len(units) + 1, "unit": call.unit, "x": call.value, "arm": arm}
        units[call.unit] = [event, "asked"]
        drafts.append(("asked", call.client, event))
    elif call.act == "tell" and units[call.unit][1] == "asked":
        units[call.unit][1] = "told"
        event = {"kind": "told", "id": units[call.unit][0]["id"], "unit": call.unit, "outcome": call.value}
        drafts.append(("told", call.client, event))
    kind = {"ask": "asked", "tell": "told"}[call.act]
    (place,) = [i for i, d in enumerate(drafts) if d[0] == kind and d[2]["unit"] == call.unit]
    return place, len(drafts) - 1


def answered(rows, calls):
    """The calls with the answers that clients got."""
    given = []
    for call, took in calls:
        if took is not None:
            place, last = took
            event = json.loads(rows[place].payload)
            answer = {"receipt": receipt(rows[place if call.act == "ask" else last])}
            if call.act == "ask":
                answer |= {"arm": event["arm"], "id": event["id"]}
            call = replace(call, answer=answer)
        given.append(call)
    return given


@settings(max_examples=60)
@given(histories())
def test_what_can_have_happened_is_accepted(history):
    drafts, calls = history
    rows = chained(drafts)
    assert findings(NAME, answered(rows, calls), rows) == []


def acknowledged(calls, act=None):
    return [c for c in calls if c.answer is not None and act in (None, c.act)]


def exchanged(calls, old, new):
    return [new if call is old else call for call in calls]


def lost(draw, drafts, calls, rows):
    """An acknowledged row is gone, and the chain was made anew; ids are those of the rows that are left."""
    place = draw(st.integers(1, len(drafts) - 1))
    kept = drafts[:place] + drafts[place + 1 :]
    kind = {"asked": "ask", "told": "tell"}[drafts[place][0]]
    assume(any(c.unit == drafts[place][2]["unit"] for c in acknowledged(calls, kind)))
    return calls, chained(kept)


def doubled(draw, drafts, calls, rows):
    place = draw(st.integers(1, len(drafts) - 1))
    return calls, chained([*drafts, drafts[place]])


def ids(draw, drafts, calls, rows):
    last = [i for i, d in enumerate(drafts) if d[0] == "asked"][-1]
    event = {**drafts[last][2], "id": drafts[last][2]["id"] + 1}
    return calls, chained([*drafts[:last], ("asked", drafts[last][1], event), *drafts[last + 1 :]])


def answer(draw, drafts, calls, rows):
    asks = acknowledged(calls, "ask")
    assume(asks)
    call = draw(st.sampled_from(asks))
    other = draw(st.sampled_from([{"arm": "z"}, {"id": 99}]))
    return exchanged(calls, call, replace(call, answer={**call.answer, **other})), rows


def told_otherwise(draw, drafts, calls, rows):
    tells = acknowledged(calls, "tell")
    assume(tells)
    call = draw(st.sampled_from(tells))
    return exchanged(calls, call, replace(call, value=call.value + 0.5)), rows


def receipt_of_another_row(draw, drafts, calls, rows):
    asks = acknowledged(calls, "ask")
    assume(asks)
    call = draw(st.sampled_from(asks))
    other = draw(st.sampled_from([row for row in rows if receipt(row) != call.answer["receipt"]]))
    return exchanged(calls, call, replace(call, answer={**call.answer, "receipt": receipt(other)})), rows


def receipt_of_no_row(draw, drafts, calls, rows):
    known = acknowledged(calls)
    assume(known)
    call = draw(st.sampled_from(known))
    other = draw(
        st.sampled_from([f"{NAME}@1:{len(rows) + 1}:{rows[-1].hash}", f"{NAME}@1:{len(rows)}:{'0' * 64}"])
    )
    return exchanged(calls, call, replace(call, answer={**call.answer, "receipt": other})), rows


def receipt_of_another_epoch(draw, drafts, calls, rows):
    known = acknowledged(calls)
    assume(known)
    call = draw(st.sampled_from(known))
    other = call.answer["receipt"].replace("@1:", draw(st.sampled_from(["@2:", "@2-5f0c91ab:"])))
    return exchanged(calls, call, replace(call, answer={**call.answer, "receipt": other})), rows


def nobody_called(draw, drafts, calls, rows):
    count = sum(d[0] == "asked" for d in drafts)
    event = {"kind": "asked", "id": count + 1, "unit": "ghost", "x": [0.0], "arm": "a"}
    return calls, chained([*drafts, ("asked", "c0", event)])


def somebody_else_called(draw, drafts, calls, rows):
    place = draw(st.integers(1, len(drafts) - 1))
    kind, _, event = drafts[place]
    return calls, chained([*drafts[:place], (kind, "stranger", event), *drafts[place + 1 :]])


def refused_and_stored(draw, drafts, calls, rows):
    place = draw(st.integers(1, len(drafts) - 1))
    kind, actor, event = drafts[place]
    act = {"asked": "ask", "told": "tell"}[kind]
    mine = [c for c in calls if (c.client, c.act, c.unit) == (actor, act, event["unit"])]
    refused = [replace(c, answer=None, refused=True, end=c.begin + 0.5) for c in mine]
    return [c for c in calls if c not in mine] + refused, rows


def flipped(draw, drafts, calls, rows):
    place = draw(st.integers(0, len(rows) - 1))
    field = draw(st.sampled_from(["payload", "header", "hash", "payload_hash", "salt"]))
    text = getattr(rows[place], field)
    spot = draw(st.integers(0, len(text) - 1))
    changed = text[:spot] + ("1" if text[spot] != "1" else "2") + text[spot + 1 :]
    try:
        json.loads(changed) if field in ("payload", "header") else None
    except ValueError:
        assume(False)
    rows = [*rows[:place], replace(rows[place], **{field: changed}), *rows[place + 1 :]]
    return calls, rows


def cut_out(draw, drafts, calls, rows):
    assume(len(rows) > 2)
    place = draw(st.integers(0, len(rows) - 2))
    return calls, rows[:place] + rows[place + 1 :]


def against_the_clock(draw, drafts, calls, rows):
    """A row was acknowledged before the one in front of it was even begun."""
    place = draw(st.integers(1, len(drafts) - 1))
    event = drafts[place][2]
    late = {"kind": "asked", "id": 1 + sum(d[0] == "asked" for d in drafts[:place]), "unit": "late"}
    late |= {"x": [0.0], "arm": "a"}
    shifted = [
        (kind, who, {**e, "id": e["id"] + (e["id"] >= late["id"])} if "id" in e else e)
        for kind, who, e in drafts
    ]
    act = {"asked": "ask", "told": "tell"}[drafts[place][0]]
    assume(any(c.unit == event["unit"] for c in acknowledged(calls, act)))
    rows = chained([*shifted[:place], ("asked", "c9", late), *shifted[place:]])
    again = []
    for call in calls:
        if call.answer is not None:
            kind = {"ask": "asked", "tell": "told"}[call.act]
            row = next(r for r in rows if _is(r, kind, call.unit))
            fields = json.loads(row.payload)
            new = {"receipt": receipt(row), "id": fields["id"]}
            call = replace(call, answer={**call.answer, **new})
        again.append(call)
    return [*again, Call("c9", "ask", "late", [0.0], 1000.0, inf)], rows


def _is(row, kind, unit):
    fields = json.loads(row.payload)
    return fields["kind"] == kind and fields.get("unit") == unit


PLANTED = {
    lost: "lost",
    doubled: "doubled",
    ids: "ids",
    answer: "answer",
    told_otherwise: "answer",
    receipt_of_another_row: "receipt",
    receipt_of_no_row: "receipt",
    receipt_of_another_epoch: "receipt",
    nobody_called: "invented",
    somebody_else_called: "invented",
    refused_and_stored: "invented",
    flipped: "chain",
    cut_out: "chain",
    against_the_clock: "order",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_one_thing_wrong_is_refused(plant, data):
    drafts, calls = data.draw(histories().filter(lambda history: len(history[0]) > 2))
    rows = chained(drafts)
    calls, rows = plant(data.draw, drafts, answered(rows, calls), rows)
    assert PLANTED[plant] in {rule for rule, _ in findings(NAME, calls, rows)}


def test_told_before_asked_is_refused():
    asked = {"kind": "asked", "id": 1, "unit": "u", "x": [1.0], "arm": "a"}
    told = {"kind": "told", "id": 1, "unit": "u", "outcome": 2.0}
    calls = [Call("c", "ask", "u", [1.0], 1.0), Call("c", "tell", "u", 2.0, 2.0)]
    right, wrong = [
        chained([("created", "c", {}), *d])
        for d in ([("asked", "c", asked), ("told", "c", told)], [("told", "c", told), ("asked", "c", asked)])
    ]
    assert findings(NAME, calls, right) == []
    assert {rule for rule, _ in findings(NAME, calls, wrong)} == {"order"}
