CREATE TABLE equipoise_schema (
    version BIGINT NOT NULL PRIMARY KEY,
    program TEXT NOT NULL,
    time BIGINT NOT NULL
);

-- The head of every log. Who writes holds its row.
CREATE TABLE equipoise_experiments (
    number BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    mode TEXT NOT NULL CHECK (mode IN ('live', 'practice')),
    sequence BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
) WITH (fillfactor = 50);  -- room for new versions of a row in its own page

-- The logs. To read one: SELECT sequence, convert_from(header, 'UTF8'), convert_from(payload, 'UTF8') FROM equipoise_events
CREATE TABLE equipoise_events (
    experiment BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    time BIGINT NOT NULL,
    header BYTEA NOT NULL,
    salt BYTEA,
    payload BYTEA,
    payload_hash BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (experiment, sequence)
);

CREATE FUNCTION equipoise_never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END
$$;

CREATE TRIGGER equipoise_events_stay BEFORE DELETE ON equipoise_events
    FOR EACH ROW EXECUTE FUNCTION equipoise_never('events are never deleted');

CREATE TRIGGER equipoise_events_are_not_cut BEFORE TRUNCATE ON equipoise_events
    FOR EACH STATEMENT EXECUTE FUNCTION equipoise_never('events are never deleted');

CREATE TRIGGER equipoise_events_are_only_erased BEFORE UPDATE ON equipoise_events
    FOR EACH ROW WHEN (
        NEW.payload IS NOT NULL OR NEW.salt IS NOT NULL
        OR (NEW.experiment, NEW.sequence, NEW.time, NEW.header, NEW.payload_hash, NEW.hash)
            IS DISTINCT FROM (OLD.experiment, OLD.sequence, OLD.time, OLD.header, OLD.payload_hash, OLD.hash)
    ) EXECUTE FUNCTION equipoise_never('events are never changed, only erased');

CREATE TRIGGER equipoise_experiments_stay BEFORE DELETE ON equipoise_experiments
    FOR EACH ROW EXECUTE FUNCTION equipoise_never('experiments are never deleted');

CREATE TRIGGER equipoise_experiments_keep_their_mode BEFORE UPDATE ON equipoise_experiments
    FOR EACH ROW WHEN (
        (NEW.number, NEW.name, NEW.mode, NEW.created)
            IS DISTINCT FROM (OLD.number, OLD.name, OLD.mode, OLD.created)
    ) EXECUTE FUNCTION equipoise_never('number, name, mode and time of creation of an experiment never change');

-- States that make opening fast. One that is not finished is not read.
CREATE TABLE equipoise_snapshots (
    number BIGINT NOT NULL PRIMARY KEY,
    experiment BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    label TEXT NOT NULL,
    size BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    started BIGINT NOT NULL,
    finished BIGINT NOT NULL
);

CREATE INDEX equipoise_snapshots_of ON equipoise_snapshots (experiment, sequence);

CREATE TABLE equipoise_snapshot_chunks (
    snapshot BIGINT NOT NULL,
    place BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (snapshot, place)
);

ALTER TABLE equipoise_snapshot_chunks ALTER COLUMN data SET STORAGE EXTERNAL;  -- states do not compress
