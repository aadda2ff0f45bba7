CREATE TABLE equipoise_schema (
    version INTEGER NOT NULL PRIMARY KEY,
    program TEXT NOT NULL,
    time INTEGER NOT NULL
) STRICT;

-- The head of every log. Who writes holds it.
CREATE TABLE equipoise_experiments (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    mode TEXT NOT NULL CHECK (mode IN ('live', 'practice')),
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT;

-- The logs. To read one: SELECT sequence, CAST(header AS TEXT), CAST(payload AS TEXT) FROM equipoise_events
CREATE TABLE equipoise_events (
    experiment INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    time INTEGER NOT NULL,
    header BLOB NOT NULL,
    salt BLOB,
    payload BLOB,
    payload_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (experiment, sequence)
) STRICT;

CREATE TRIGGER equipoise_events_stay BEFORE DELETE ON equipoise_events
BEGIN
    SELECT RAISE(ABORT, 'events are never deleted');
END;

CREATE TRIGGER equipoise_events_are_only_erased BEFORE UPDATE ON equipoise_events
WHEN NEW.payload IS NOT NULL OR NEW.salt IS NOT NULL
    OR (NEW.experiment, NEW.sequence, NEW.time, NEW.header, NEW.payload_hash, NEW.hash)
        IS NOT (OLD.experiment, OLD.sequence, OLD.time, OLD.header, OLD.payload_hash, OLD.hash)
BEGIN
    SELECT RAISE(ABORT, 'events are never changed, only erased');
END;

CREATE TRIGGER equipoise_experiments_stay BEFORE DELETE ON equipoise_experiments
BEGIN
    SELECT RAISE(ABORT, 'experiments are never deleted');
END;

CREATE TRIGGER equipoise_experiments_keep_their_mode BEFORE UPDATE OF number, name, mode, created ON equipoise_experiments
BEGIN
    SELECT RAISE(ABORT, 'number, name, mode and time of creation of an experiment never change');
END;

-- States that make opening fast. One that is not finished is not read.
CREATE TABLE equipoise_snapshots (
    number INTEGER NOT NULL PRIMARY KEY,
    experiment INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    hash BLOB NOT NULL,
    label TEXT NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER NOT NULL
) STRICT;

CREATE INDEX equipoise_snapshots_of ON equipoise_snapshots (experiment, sequence);

CREATE TABLE equipoise_snapshot_chunks (
    snapshot INTEGER NOT NULL,
    place INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (snapshot, place)
) STRICT;
