"""verify, export, import, backup, restore, migrate."""

from __future__ import annotations

import gzip
import json

import apsw

OTHER = ("--store", "sqlite:///other.db")


def facts(live, name, *where):
    found = live("status", name, "--json", *where)
    return {key: found[key] for key in ("units", "arms", "error", "course", "head", "policy", "created")}


def test_an_archive_is_the_same_experiment_elsewhere(live, refused, running):
    live("export", running, "trial.jsonl.gz")
    refused(2, "export", running, "trial.jsonl.gz")
    live("export", running, "trial.jsonl.gz", "--overwrite")
    proof = live("verify", running, "--json")
    assert live("verify", "trial.jsonl.gz", "--json") == proof
    assert (proof["units"], proof["decisions"], proof["redacted"]) == (12, 12, 0)
    said = live("import", "trial.jsonl.gz", *OTHER)
    assert "chain sound" in said
    assert facts(live, running, *OTHER) == facts(live, running)
    assert live("ask", running, "P-20", "age=33", "sex=m", *OTHER) == live(
        "ask", running, "P-20", "age=33", "sex=m"
    )
    assert running in refused(2, "import", "trial.jsonl.gz")[0]
    refused(2, "import", "trial.jsonl.gz", "--mode", "practice", "--store", "sqlite:///third.db")


def test_a_file_that_is_called_as_the_experiment_is_no_proof_of_it(live, refused, running):
    live("export", running, running, "--format", "archive")
    live("tell", running, "P-10", "1")
    message, hint = refused(2, "verify", running)
    assert message == "trial is a file here, and an experiment in sqlite:///equipoise.db"
    assert hint == "type ./trial for the file; for the experiment type default/trial"
    rows = [live("verify", name, "--json")["rows"] for name in ("./trial", "default/trial")]
    assert rows[1] == rows[0] + 1
    live("verify", running, "--store", "sqlite:///none.db")  # no store that could have it


def test_a_changed_archive_is_refused_with_4(live, refused, running, tmp_path):
    live("export", running, "trial.jsonl")
    lines = (tmp_path / "trial.jsonl").read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if "told" in line)
    lines[place] = lines[place].replace('\\"outcome\\":', '\\"outcome\\":9')
    (tmp_path / "changed.jsonl").write_text("\n".join(lines) + "\n")
    message, _ = refused(4, "verify", "changed.jsonl")
    assert f"row {place}" in message
    refused(4, "import", "changed.jsonl", *OTHER)


def test_a_cut_or_damaged_archive_is_refused_with_4(live, refused, running, tmp_path):
    live("export", running, "trial.jsonl")
    live("export", running, "trial.jsonl.gz")
    whole, packed = (tmp_path / "trial.jsonl").read_bytes(), (tmp_path / "trial.jsonl.gz").read_bytes()
    cut = whole[: len(whole) // 2]
    for damaged in (
        cut[: cut.rindex(b"\n") + 1],
        cut,
        whole[:50],
        packed[: len(packed) // 2],
        packed[:100] + b"\0" * 9 + packed[109:],
    ):
        (tmp_path / "damaged").write_bytes(damaged)
        for line in (("verify",), ("import", *OTHER), ("restore", "--reason", "r", *OTHER)):
            assert "take another copy" in refused(4, line[0], "damaged", *line[1:])[1]
    (tmp_path / "other").write_text("unit,age\nP-1,3\n")
    refused(2, "verify", "other")


def test_a_changed_store_is_refused_with_4(live, refused, running):
    live("verify", running)
    database = apsw.Connection("equipoise.db")
    (payload,) = database.execute("select payload from equipoise_events where sequence = 3").fetchone()
    changed = payload.replace(b'"arm"', b'"Arm"')
    assert changed != payload
    # The database itself refuses; whoever is bent on it takes that away first.
    for (guard,) in database.execute("select name from sqlite_schema where type = 'trigger'").fetchall():
        database.execute(f"drop trigger {guard}")
    database.execute("update equipoise_events set payload = ? where sequence = 3", (changed,))
    database.close()
    message, _ = refused(4, "verify", running)
    assert "row 3" in message


def test_tables(live, running, tmp_path):
    live("export", running, "table.csv")
    header, *rows = (tmp_path / "table.csv").read_text().splitlines()
    assert len(rows) == 12
    assert {"unit", "arm", "assigned", "status", "outcome", "age", "sex"} <= set(header.split(","))
    assert live("export", running, "table", "--format", "csv").startswith("12 units written")


def test_what_to_write_must_be_clear(refused, running):
    assert "--format" in refused(2, "export", running, "units.xyz")[1]


def test_a_backup_brings_back_everything_in_a_new_epoch(live, refused, running):
    live("new", "lab/two", "--arms", "a,b", "--dim", "1", "--budget", "9")
    assert live("backup", "copy.db").startswith("2 experiments copied to copy.db")
    refused(2, "backup", "copy.db")
    lost = live("tell", running, "P-10", "1", "--json")["receipt"]
    said = live("restore", "copy.db", "--reason", "disk died", *OTHER)
    assert said.splitlines()[0] == "2 experiments restored in sqlite:///other.db:"
    before, after = facts(live, running), facts(live, running, *OTHER)
    assert after["head"]["epoch"] == before["head"]["epoch"] + 1
    assert after["units"]["told"] == before["units"]["told"] - 1
    message, _ = refused(4, "verify", running, "--receipt", lost, *OTHER)
    assert "restored" in message
    live("verify", running, *OTHER)
    assert "already" in refused(2, "restore", "copy.db", "--reason", "again", *OTHER)[0]
    refused(2, "restore", "--reason", "x")
    refused(2, "restore", "gone.db", "--reason", "x")


def test_a_backup_with_one_broken_log_is_restored_not_at_all(live, refused, running):
    live("new", "a-first", "--arms", "a,b", "--dim", "1", "--budget", "9")
    live("backup", "copy.db")
    line = ("restore", "copy.db", "--reason", "disk died", *OTHER)
    both = ("--experiment", "a-first", "--experiment")
    assert "no experiment 'gone'" in refused(2, *line, *both, "gone")[0]
    database = apsw.Connection("copy.db")
    for (guard,) in database.execute("select name from sqlite_schema where type = 'trigger'").fetchall():
        database.execute(f"drop trigger {guard}")
    database.execute("update equipoise_events set payload = X'7B7D' where sequence = 3")
    database.close()
    assert "the log of 'trial' is broken at row 3" in refused(4, *line)[0]
    refused(2, "list", *OTHER)  # nothing was made
    live(*line, *both[:2])


def test_a_store_that_was_put_back_by_hand(live, running):
    before = facts(live, running)["head"]
    live("restore", "--in-place", "--reason", "copied back", "--experiment", running)
    after = facts(live, running)["head"]
    assert (after["epoch"], after["sequence"]) == (before["epoch"] + 1, before["sequence"] + 1)


def test_migrate_says_that_there_is_nothing_to_do(live, running):
    found = live("migrate", "--json")
    assert found["before"] == found["after"]
    assert "already" in live("migrate")


def test_archives_are_text_that_anyone_can_read(live, running, tmp_path):
    live("export", running, "trial.jsonl.gz")
    lines = gzip.decompress((tmp_path / "trial.jsonl.gz").read_bytes()).splitlines()
    assert json.loads(lines[0])["name"] == running


def test_an_archive_has_one_experiment(live, refused, running):
    live("export", running, "trial.jsonl")
    names = ("--experiment", running, "--experiment", "other")
    message, _ = refused(2, "restore", "trial.jsonl", "--reason", "disk died", *names, *OTHER)
    assert "an archive has one experiment" in message
    assert "damaged" not in message


def test_an_archive_can_be_restored_as_well(live, running):
    live("export", running, "trial.jsonl")
    live("restore", "trial.jsonl", "--reason", "disk died", *OTHER)
    assert facts(live, running, *OTHER)["head"]["epoch"] == facts(live, running)["head"]["epoch"] + 1


def test_a_store_that_is_busy_ends_with_3(live, refused, running):
    database = apsw.Connection("equipoise.db")
    database.execute("begin immediate")
    message, _ = refused(3, "tell", running, "P-10", "1", "--wait", "0.05")
    live("status", running)  # readers do not wait
    database.execute("rollback")
    database.close()
    live("tell", running, "P-10", "1", "--wait", "0.05")
    assert "equipoise.db" in message


def test_what_begins_an_experiment_gives_a_receipt_as_well(live, running):
    new = live("new", "two", "--arms", "a,b", "--dim", "1", "--budget", "9", "--json")
    assert "in the log" in live("verify", "two", "--receipt", new["receipt"])
    said = live("new", "three", "--arms", "a,b", "--dim", "1", "--budget", "9", "--receipt")
    live("verify", "three", "--receipt", said.splitlines()[1].removeprefix("Receipt: "))
    live("export", running, "trial.jsonl")
    brought = live("import", "trial.jsonl", "--json", *OTHER)
    assert brought["receipt"] == live("verify", running, "--json")["head"]
    live("verify", running, "--receipt", brought["receipt"], *OTHER)
    line = ("restore", "trial.jsonl", "--reason", "disk died", "--store")
    restored = live(*line, "sqlite:///third.db", "--json")["experiments"][running]["receipt"]
    live("verify", running, "--receipt", restored, "--store", "sqlite:///third.db")
    said = live(*line, "sqlite:///fourth.db", "--receipt").splitlines()[-1].strip()
    live("verify", running, "--receipt", said.removeprefix("Receipt: "), "--store", "sqlite:///fourth.db")
