"""Databases of both kinds, looked at and changed past the stores."""

from __future__ import annotations

import re

import apsw
import psycopg

from equipoise.live.stores.opening import migrate
from equipoise.live.stores.sqlite import making


class Sqlite:
    def __init__(self, folder):
        self.path = folder / "trial.db"
        self.url = f"sqlite:///{self.path}"

    def run(self, sql):
        raw = apsw.Connection(str(self.path))
        try:
            return raw.execute(sql).fetchall()
        finally:
            raw.close()

    def make(self):
        making.make_file(self.path)

    def layout(self):
        rows = self.run("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        return [(kind, name, re.sub(r"\s+", " ", sql)) for kind, name, sql in rows]


class Postgres:
    def __init__(self, url):
        self.url = url

    def run(self, sql):
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

    def make(self):
        migrate(self.url)

    def layout(self):
        return self.run(
            "SELECT table_name, column_name, data_type, is_nullable, collation_name"
            " FROM information_schema.columns WHERE table_schema = 'public'"
            " UNION ALL SELECT tablename, indexdef, '', '', '' FROM pg_indexes WHERE schemaname = 'public'"
            " UNION ALL SELECT tgrelid::regclass::text, pg_get_triggerdef(oid), '', '', '' FROM pg_trigger"
            " ORDER BY 1, 2"
        )
