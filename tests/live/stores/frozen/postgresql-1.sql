SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.equipoise_never() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.equipoise_events (
    experiment bigint NOT NULL,
    sequence bigint NOT NULL,
    "time" bigint NOT NULL,
    header bytea NOT NULL,
    salt bytea,
    payload bytea,
    payload_hash bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE public.equipoise_experiments (
    number bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL,
    sequence bigint NOT NULL,
    hash bytea NOT NULL,
    epoch bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    CONSTRAINT equipoise_experiments_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'practice'::text])))
)
WITH (fillfactor='50');
ALTER TABLE public.equipoise_experiments ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.equipoise_experiments_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.equipoise_schema (
    version bigint NOT NULL,
    program text NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.equipoise_snapshot_chunks (
    snapshot bigint NOT NULL,
    place bigint NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.equipoise_snapshot_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE public.equipoise_snapshots (
    number bigint NOT NULL,
    experiment bigint NOT NULL,
    sequence bigint NOT NULL,
    hash bytea NOT NULL,
    label text NOT NULL,
    size bigint NOT NULL,
    digest bytea NOT NULL,
    started bigint NOT NULL,
    finished bigint NOT NULL
);
INSERT INTO public.equipoise_events VALUES (1, 1, 1790000000000001, '\x7b226b696e64223a2263726561746564222c2273657175656e6365223a317d', '\x01010101010101010101010101010101', '\x7b226b696e64223a2263726561746564227d', '\x05f805044c5d6867d9f17033cd7ff94ec9323ee076553fe6d0b1dd89accf4349', '\xb1af7c547227e252a5e1dd6763462d694bca1d20ebdbae89090a1635ff854ee7');
INSERT INTO public.equipoise_events VALUES (1, 3, 1790000000000003, '\x7b226b696e64223a22746f6c64222c2273657175656e6365223a337d', '\x03030303030303030303030303030303', '\x7b226b696e64223a22746f6c64222c226f7574636f6d65223a302e317d', '\xe722fe201ed3a4672b0175bab1ae1505cb817aaec885a2580db51ce0f4e110c5', '\x6df492ee0826cc2228709e7f76af472ba1be37c0759bf6a6a25e5b17b42ad51f');
INSERT INTO public.equipoise_events VALUES (1, 4, 1790000000000004, '\x7b226b696e64223a227265646163746564222c2273657175656e6365223a347d', '\x04040404040404040404040404040404', '\x7b22696473223a5b315d2c226b696e64223a227265646163746564227d', '\xc35093cad220b995249f103c108b237b9d32f342e4c3a78fb5efefdbc6790440', '\x3b0a5e0bb4d928fdb893d068c8d799b013f374d64a72bb0063b8c05e2600c53e');
INSERT INTO public.equipoise_events VALUES (1, 2, 1790000000000002, '\x7b226b696e64223a2261736b6564222c2273657175656e6365223a327d', NULL, NULL, '\x1d12edea2fe471d0b12307b3044d2a6858fe9a5305d6101dad307832abb76575', '\x2cfaf4fc5fea474b5672ed40c147b1409a51886576835c64eecfcd53611f1e31');
INSERT INTO public.equipoise_events VALUES (1, 5, 1790000000000005, '\x7b226b696e64223a22726573746f726564222c2273657175656e6365223a357d', '\x05050505050505050505050505050505', '\x7b226b696e64223a22726573746f726564227d', '\xf9ffc269df29f015781088d870ca93b11fad903d7a0e218f96a55b57deb46333', '\xa8104af67e95d3182450d7dc5dc7b39ff9603cc5782220b84824813555b03a2e');
INSERT INTO public.equipoise_events VALUES (2, 1, 1790000000000001, '\x7b226b696e64223a2263726561746564222c2273657175656e6365223a317d', '\x01010101010101010101010101010101', '\x7b226b696e64223a2263726561746564227d', '\x05f805044c5d6867d9f17033cd7ff94ec9323ee076553fe6d0b1dd89accf4349', '\xfff497482c769c1966a6ce5945d80de3672b37cae71780e59b193fb8ba648b4d');
INSERT INTO public.equipoise_experiments OVERRIDING SYSTEM VALUE VALUES (1, 'asthma/dose', 'live', 5, '\xa8104af67e95d3182450d7dc5dc7b39ff9603cc5782220b84824813555b03a2e', 2, 1790000000000001, 1790000000000005);
INSERT INTO public.equipoise_experiments OVERRIDING SYSTEM VALUE VALUES (2, 'try-out', 'practice', 1, '\xfff497482c769c1966a6ce5945d80de3672b37cae71780e59b193fb8ba648b4d', 1, 1790000000000001, 1790000000000001);
INSERT INTO public.equipoise_schema VALUES (1, '0.1.0', 1794848142795577);
INSERT INTO public.equipoise_snapshot_chunks VALUES (1556186472288008752, 0, '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627');
INSERT INTO public.equipoise_snapshots VALUES (1556186472288008752, 1, 5, '\xa8104af67e95d3182450d7dc5dc7b39ff9603cc5782220b84824813555b03a2e', 'version 0.1.0, numerics 4, format 1', 40, '\xf0572a5ce6f5af53fc63ab779d7f473cce4ab3640c6aa68ab3d306b80b76ef42', 1794848142892203, 1);
SELECT pg_catalog.setval('public.equipoise_experiments_number_seq', 2, true);
ALTER TABLE ONLY public.equipoise_events
    ADD CONSTRAINT equipoise_events_pkey PRIMARY KEY (experiment, sequence);
ALTER TABLE ONLY public.equipoise_experiments
    ADD CONSTRAINT equipoise_experiments_name_key UNIQUE (name);
ALTER TABLE ONLY public.equipoise_experiments
    ADD CONSTRAINT equipoise_experiments_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.equipoise_schema
    ADD CONSTRAINT equipoise_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.equipoise_snapshot_chunks
    ADD CONSTRAINT equipoise_snapshot_chunks_pkey PRIMARY KEY (snapshot, place);
ALTER TABLE ONLY public.equipoise_snapshots
    ADD CONSTRAINT equipoise_snapshots_pkey PRIMARY KEY (number);
CREATE INDEX equipoise_snapshots_of ON public.equipoise_snapshots USING btree (experiment, sequence);
CREATE TRIGGER equipoise_events_are_not_cut BEFORE TRUNCATE ON public.equipoise_events FOR EACH STATEMENT EXECUTE FUNCTION public.equipoise_never('events are never deleted');
CREATE TRIGGER equipoise_events_are_only_erased BEFORE UPDATE ON public.equipoise_events FOR EACH ROW WHEN (((new.payload IS NOT NULL) OR (new.salt IS NOT NULL) OR ((((((new.experiment IS DISTINCT FROM old.experiment) OR (new.sequence IS DISTINCT FROM old.sequence)) OR (new."time" IS DISTINCT FROM old."time")) OR (new.header IS DISTINCT FROM old.header)) OR (new.payload_hash IS DISTINCT FROM old.payload_hash)) OR (new.hash IS DISTINCT FROM old.hash)))) EXECUTE FUNCTION public.equipoise_never('events are never changed, only erased');
CREATE TRIGGER equipoise_events_stay BEFORE DELETE ON public.equipoise_events FOR EACH ROW EXECUTE FUNCTION public.equipoise_never('events are never deleted');
CREATE TRIGGER equipoise_experiments_keep_their_mode BEFORE UPDATE ON public.equipoise_experiments FOR EACH ROW WHEN (((((new.number IS DISTINCT FROM old.number) OR (new.name IS DISTINCT FROM old.name)) OR (new.mode IS DISTINCT FROM old.mode)) OR (new.created IS DISTINCT FROM old.created))) EXECUTE FUNCTION public.equipoise_never('number, name, mode and time of creation of an experiment never change');
CREATE TRIGGER equipoise_experiments_stay BEFORE DELETE ON public.equipoise_experiments FOR EACH ROW EXECUTE FUNCTION public.equipoise_never('experiments are never deleted');
