"""--dry-run of everything that changes something: what the command would say and end with, and no change."""

from __future__ import annotations

import json

import apsw
import pytest
from click.testing import CliRunner
from storing.databases import Postgres

import equipoise as eq
from equipoise.cli import main

WHY = ("--reason", "the audit of March")
NEW = ("--arms", "a,b", "--dim", "1", "--budget", "9")
OTHER = ("--store", "sqlite:///other.db")

GOES_THROUGH = {
    "new": (("new", "second", *NEW), "second would be set up in "),
    "new, another file": (
        ("new", "trial", *NEW, *OTHER),
        "trial would be set up in sqlite:///other.db: 2 arms",
    ),
    "close-arm": (("close-arm", "trial", "drug", *WHY), "drug would be closed; nothing was."),
    "reopen-arm": (("reopen-arm", "trial", "drug"), "drug would be open; nothing was changed."),
    "add-arm": (("add-arm", "trial", "more"), "more would join: placebo, drug, more; nothing was changed."),
    "budget": (("budget", "trial", "60"), "The budget would be 60: 48 units left; nothing was changed."),
    "pause": (("pause", "trial"), "trial would be paused; nothing was changed."),
    "resume": (("resume", "trial"), "trial would go on: 28 units left; nothing was changed."),
    "note": (("note", "trial", "rain"), "It would be noted; nothing was."),
    "ask": (("ask", "trial", "P-20", "age=30", "sex=f"), "1 unit would be assigned; nothing was."),
    "tell": (("tell", "trial", "P-10", "1"), "1 outcome would be stored; nothing was."),
    "correct": (("correct", "trial", "P-01", "1", *WHY), "1 outcome would be corrected; nothing was."),
    "lose": (("lose", "trial", "P-10", *WHY), "1 unit would be declared lost; nothing was."),
    "withdraw": (("withdraw", "trial", "P-10", *WHY), "1 unit would be withdrawn; nothing was."),
    "received": (
        ("received", "trial", "--file", "got.csv", *WHY),
        "1 other arm would be noted; nothing was. 1",
    ),
    "redact": (("redact", "trial", "--file", "erase.csv", *WHY), "2 units would be erased for good; nothing"),
    "expire": (
        ("expire", "trial", "--older-than", "1h", *WHY),
        "0 units would be declared lost; nothing was.",
    ),
    "import": (
        ("import", "trial.jsonl.gz", *OTHER),
        "trial would be in sqlite:///other.db: 23 rows, chain sound",
    ),
    "restore": (
        ("restore", "copy.db", *WHY, *OTHER),
        "1 experiment would be restored in sqlite:///other.db; nothing was:\n  trial: 24 rows, epoch 2\n",
    ),
    "restore an archive": (("restore", "trial.jsonl.gz", *WHY, *OTHER), "1 experiment would be restored in "),
    "restore in place": (("restore", "--in-place", *WHY), "1 experiment would be restored in "),
    "migrate": (("migrate",), "sqlite:///equipoise.db has schema 1 already."),
}
REFUSED = {
    "a name that is taken": (2, ("new", "trial", *NEW)),
    "a name that is none": (2, ("new", "a b", *NEW)),
    "a policy that is none": (2, ("new", "second", *NEW, "--policy", "durg")),
    "an actor that is none": (2, ("new", "second", *NEW, "--actor", " ")),
    "no folder": (2, ("new", "second", *NEW, "--store", "sqlite:///none/trial.db")),
    "no reason to close": (2, ("close-arm", "trial", "drug", "--reason", " ")),
    "no arm to close": (2, ("close-arm", "trial", "durg", *WHY)),
    "no arm to reopen": (2, ("reopen-arm", "trial", "durg")),
    "an arm that is there": (2, ("add-arm", "trial", "drug")),
    "a reason that is none": (2, ("add-arm", "trial", "more", "--reason", "a\x00b")),
    "no budget for an arm": (2, ("add-arm", "trial", "more", "--floor", "99")),
    "too small a budget": (2, ("budget", "trial", "3")),
    "another experiment": (2, ("pause", "trail")),
    "a note on nobody": (2, ("note", "trial", "rain", "--unit", "P-99")),
    "no reason to expire": (2, ("expire", "trial", "--older-than", "1h", "--reason", " ")),
    "no arm to receive": (2, ("received", "trial", "P-01", "durg", *WHY)),
    "no reason to receive": (2, ("received", "trial", "P-01", "drug", "--reason", " ")),
    "nobody to receive": (2, ("received", "trial", "P-99", "drug", *WHY)),
    "awaited": (2, ("redact", "trial", "P-10", *WHY, "--yes")),
    "another outcome": (6, ("tell", "trial", "P-01", "99")),
    "imported already": (2, ("import", "trial.jsonl.gz")),
    "another mode": (2, ("import", "trial.jsonl.gz", "--mode", "practice", *OTHER)),
    "a cut archive": (4, ("import", "cut.jsonl.gz", *OTHER)),
    "no archive": (2, ("import", "got.csv", *OTHER)),
    "a broken backup": (4, ("restore", "broken.db", *WHY, *OTHER)),
    "restored already": (2, ("restore", "copy.db", *WHY)),
    "no backup": (2, ("restore", "gone.db", *WHY, *OTHER)),
    "not in the backup": (2, ("restore", "copy.db", "--experiment", "second", *WHY, *OTHER)),
    "a cut archive to restore": (4, ("restore", "cut.jsonl.gz", *WHY, *OTHER)),
    "no reason to restore": (2, ("restore", "copy.db", "--reason", " ", *OTHER)),
    "nothing to restore in place": (2, ("restore", "--in-place", "--experiment", "second", *WHY)),
    "no store to migrate": (2, ("migrate", *OTHER)),
    "another program's": (2, ("migrate", "--store", "sqlite:///foreign.db")),
}


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def ended(line):
    result = CliRunner().invoke(main, line)
    return result.exit_code, result.stderr


@pytest.fixture
def folder(live, running, tmp_path):
    """A store and everything that commands may be given, right and wrong."""
    live("export", running, "trial.jsonl.gz")
    packed = (tmp_path / "trial.jsonl.gz").read_bytes()
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    live("backup", "copy.db")
    live("backup", "broken.db")
    execute("broken.db", "DROP TRIGGER equipoise_events_are_only_erased")
    execute("broken.db", "UPDATE equipoise_events SET payload = zeroblob(9) WHERE sequence = 5")
    execute("foreign.db", "CREATE TABLE mine (a)")
    arms = {unit["unit"]: unit["arm"] for unit in live("units", running, "--json")["units"]}
    other = {"placebo": "drug", "drug": "placebo"}[arms["P-01"]]
    (tmp_path / "got.csv").write_text(f"unit,arm\nP-01,{other}\nP-02,{arms['P-02']}\n")
    (tmp_path / "erase.csv").write_text("unit\nP-01\nP-02\n")
    return tmp_path


def execute(file, sql):
    raw = apsw.Connection(file)
    raw.execute(sql)
    raw.close()


@pytest.mark.parametrize(("line", "words"), GOES_THROUGH.values(), ids=GOES_THROUGH)
def test_a_dry_run_changes_nothing(live, folder, line, words):
    before = bytes_of(folder)
    said = live(*line, "--dry-run")
    assert said.startswith(words), said
    found = live(*line, "--dry-run", "--json")
    assert found["dry_run"] is True
    assert "receipt" not in found
    assert bytes_of(folder) == before
    live(*line, *(["--yes"] if line[0] == "redact" else []))


@pytest.mark.parametrize(("status", "line"), REFUSED.values(), ids=REFUSED)
def test_a_dry_run_is_refused_as_the_command_is(folder, status, line):
    before = bytes_of(folder)
    dry = ended([*line, "--dry-run"])
    assert bytes_of(folder) == before
    assert dry == ended(line)
    assert dry[0] == status, dry


def test_every_command_that_changes_something_has_a_dry_run():
    context = main.make_context("equipoise", ["list"])
    commands = {line[0] for line, _ in GOES_THROUGH.values()}
    listed = {
        name for section in ("Run an experiment", "Change its course") for name in main.sections[section]
    }
    assert listed | {"import", "restore", "migrate"} == commands
    for name in commands:
        command = main.get_command(context, name)
        assert "--dry-run" in {flag for option in command.params for flag in option.opts}, name


def test_a_store_that_cannot_be_written(live, refused, folder):
    raw = apsw.Connection("equipoise.db")
    raw.execute("BEGIN IMMEDIATE")
    for line in (("tell", "trial", "P-10", "1"), ("pause", "trial"), ("new", "second", *NEW), ("migrate",)):
        refused(3, *line, "--dry-run", "--wait", "0.1")
    refused(3, "expire", "trial", "--older-than", "1h", *WHY, "--dry-run", "--wait", "0.1")
    raw.execute("ROLLBACK")
    raw.execute("INSERT INTO equipoise_schema VALUES (99, 'later', 0)")
    raw.close()
    for line in (
        ("tell", "trial", "P-10", "1"),
        ("close-arm", "trial", "drug", *WHY),
        ("redact", "trial", "P-01", *WHY),
        ("new", "second", *NEW),
        ("restore", "--in-place", *WHY),
        ("migrate",),
    ):
        before = bytes_of(folder)
        assert "schema 99" in refused(2, *line, "--dry-run")[0], line
        assert bytes_of(folder) == before


def test_a_store_of_a_later_version_takes_no_experiment(live, refused, folder):
    live("new", "second", *NEW, *OTHER)
    execute("other.db", "INSERT INTO equipoise_schema VALUES (99, 'later', 0)")
    before = bytes_of(folder)
    for line in (("import", "trial.jsonl.gz"), ("restore", "copy.db", *WHY)):
        assert "schema 99" in refused(2, *line, *OTHER, "--dry-run")[0]
    assert bytes_of(folder) == before


def test_a_seed_that_is_yet_to_be_drawn_is_not_shown(live):
    line = ("new", "second", *NEW, "--show-seed", "--dry-run")
    assert ", seed drawn; nothing was." in live(*line)
    assert live(*line, "--json")["seed"] is None
    assert live(*line, "--seed", "5", "--json")["seed"] == 5


def test_on_a_server(live, running, empty_postgres):
    live("export", running, "trial.jsonl")
    live("backup", "copy.db")
    server, where = Postgres(empty_postgres), ("--store", empty_postgres)

    def contents():
        tables = [
            name for (name,) in server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        ]
        rows = {table: server.run(f"SELECT * FROM {table} t ORDER BY t::text") for table in tables}
        return (
            server.layout(),
            rows,
            server.run("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1"),
        )

    def dry(*line):
        before = contents()
        found = live(*line, *where, "--dry-run", "--json")
        assert contents() == before, line
        return found

    empty = contents()
    assert empty[1:] == ({}, [])
    found = dry("migrate")
    assert (found["before"], found["after"]) == (0, 1)
    refused = ended(["new", "first", *NEW, *where, "--dry-run"])
    assert refused == ended(["new", "first", *NEW, *where])
    assert refused[0] == 2  # no tables
    live("migrate", *where)
    assert dry("migrate")["before"] == 1
    dry("new", "first", *NEW)
    dry("import", "trial.jsonl")
    dry("restore", "copy.db", *WHY)
    live("import", "trial.jsonl", *where)
    for line in (["new", "trial", *NEW], ["import", "trial.jsonl"], ["restore", "copy.db", *WHY]):
        before = contents()
        refused = ended([*line, *where, "--dry-run"])
        assert contents() == before
        assert refused == ended([*line, *where])
        assert refused[0] == 2, refused
    for line in (
        ("close-arm", "trial", "drug", *WHY),
        ("budget", "trial", "60"),
        ("received", "trial", "P-01", "drug", *WHY),
        ("redact", "trial", "P-01", *WHY),
        ("restore", "--in-place", *WHY),
    ):
        dry(*line)
    server.run("INSERT INTO equipoise_schema VALUES (99, 'later', 0)")
    for line in (["pause", "trial"], ["new", "second", *NEW], ["migrate"]):
        status, message = ended([*line, *where, "--dry-run"])
        assert (status, "schema 99" in message) == (2, True), line


def test_a_log_that_no_one_can_open_is_refused_before_it_is_imported(live, refused, running, folder):
    """Of a later version, with a kind of event that is not known here: the chain is sound."""
    from equipoise.live.log.encoding import encode
    from equipoise.live.stores.chain import hash_payload, link

    live("export", running, "trial.jsonl")
    head, *rows, _ = map(json.loads, (folder / "trial.jsonl").read_text().splitlines())
    last = dict(rows[-1], sequence=len(rows) + 1, payload='{"kind":"danced"}')
    header = json.loads(last["header"]) | {"kind": "danced", "sequence": len(rows) + 1}
    last["header"] = encode(header).decode()
    digest = hash_payload(bytes.fromhex(last["salt"]), last["payload"].encode())
    last["payload_hash"] = digest.hex()
    last["hash"] = link(bytes.fromhex(rows[-1]["hash"]), digest, last["header"].encode()).hex()
    head |= {"sequence": len(rows) + 1, "hash": last["hash"]}
    lines = [head, *rows, last, {"end": len(rows) + 1}]
    (folder / "later.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    before = bytes_of(folder)
    for line in (("import", "later.jsonl"), ("restore", "later.jsonl", *WHY)):
        assert "'danced'" in refused(2, *line, *OTHER, "--dry-run")[0]
    assert bytes_of(folder) == before
    for line in (("import", "later.jsonl"), ("restore", "later.jsonl", *WHY)):
        assert "'danced'" in refused(2, *line, *OTHER)[0]
        with eq.open_store(OTHER[1]) as other:
            assert other.names() == []
