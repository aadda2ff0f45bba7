"""``equipoise data``: against files and a real server, never beyond this machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from rating_files import csv_of, ratings_csv, write_zip
from web_server import serve

import equipoise as eq
from equipoise.cli import main

NAME = "ml-latest-small.zip"
RATINGS = [
    (user, movie, 0.5 + (user * movie) % 10 / 2)
    for user in range(1, 31)
    for movie in range(1, 9)
    if movie < 6 or user % 3
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def web(tmp_path):
    folder = tmp_path / "published"
    folder.mkdir()
    path = write_zip(folder / NAME, {"ml-latest-small/ratings.csv": ratings_csv(RATINGS)})
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    (folder / f"{NAME}.md5").write_text(digest)
    with serve(folder) as server:
        yield server


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(ratings_csv(RATINGS))
    return path


def test_list(run, web, cache):
    result = run("data", "list")
    assert result.exit_code == 0
    assert "jester-1" in result.stdout
    assert str(cache) in result.stdout
    assert "yes" not in result.stdout
    run("data", "fetch", "ml-latest-small", "--from", web.url, "--accept-terms")
    assert run("data", "list").stdout.count("yes") == 1
    terms = run("data", "list", "--terms").stdout
    assert "Eigentaste: A Constant Time Collaborative" in terms
    assert "No redistribution without separate permission." in terms


def test_fetch_shows_the_terms_and_asks(web, cache):
    arguments = ["data", "fetch", "ml-latest-small", "--from", web.url]
    for answer in ("n\n", ""):  # "no", and nobody there
        result = CliRunner().invoke(main, arguments, input=answer)
        assert result.exit_code == 2
        assert "No commercial or revenue-bearing use" in result.stderr
        assert "were not accepted; nothing was downloaded" in result.stderr
        assert "Hint: equipoise data fetch ml-latest-small --accept-terms" in result.stderr
    assert web.requests == []
    result = CliRunner().invoke(main, arguments, input="y\n")
    assert result.exit_code == 0, result.output
    assert (cache / NAME).read_bytes() == (web.folder / NAME).read_bytes()
    assert "checked against: MD5 published beside it" in result.stdout
    # The second time nothing is asked, shown or downloaded.
    asked = len(web.requests)
    result = CliRunner().invoke(main, arguments, input="")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "(was there)" in result.stdout
    assert len(web.requests) == asked


def test_fetch_goes_on_after_a_cut(run, web, cache):
    web.cuts = [10**9, 200]
    assert run("data", "fetch", "ml-latest-small", "--from", web.url, "--accept-terms").exit_code == 0
    assert web.asked(NAME) == [None, "bytes=200-"]


def test_fetch_failures(fail, web):
    message, hint = fail("data", "fetch", "netflix", "--accept-terms")
    assert message == "no source 'netflix'"
    assert hint.startswith("known: jester, ")
    message, _ = fail("data", "fetch", "ml-1m", "--from", web.url, "--accept-terms")
    assert message == f"{web.url}/ml-1m.zip could not be downloaded: the server answers 404 Not Found"
    (web.folder / f"{NAME}.md5").write_text("0" * 32)
    message, _ = fail("data", "fetch", "ml-latest-small", "--from", web.url, "--accept-terms")
    assert "the checksum differs" in message


def test_show(run, ratings):
    result = run("data", "show", ratings, "--items", "3, 8")
    assert result.exit_code == 0, result.output
    assert "30 users, 8 items, 210 ratings (87.5%)" in result.stdout
    assert "ratings from 0.5 to 5" in result.stdout
    found = json.loads(run("data", "show", ratings, "--items", "3,8", "--json").stdout)
    assert found["complete"] == {"3": {"popular": 30, "search": 30}, "8": {"popular": 20, "search": 20}}
    assert (found["source"], found["users"], found["ratings"]) == ("MovieLens", 30, 210)


def test_show_recognizes_jester_and_stacks_parts(run, tmp_path):
    parts = []
    for part in (1, 2):
        path = tmp_path / f"{part}.csv"
        path.write_bytes(csv_of([[2, part, 99, 3.5], [3, 1, 2, 3]]))
        parts.append(path)
    found = json.loads(run("data", "show", *parts, "--items", "2", "--json").stdout)
    assert (found["source"], found["users"], found["items"]) == ("Jester", 4, 3)
    assert found["complete"] == {"2": {"popular": 4, "search": 4}}
    archive = write_zip(tmp_path / "a.zip", {"jester-data-1.csv": parts[0].read_bytes()})
    assert json.loads(run("data", "show", archive, "--json").stdout)["users"] == 2


def test_show_a_fetched_source(run, web):
    run("data", "fetch", "ml-latest-small", "--from", web.url, "--accept-terms")
    assert "210 ratings" in run("data", "show", "ml-latest-small").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nothing.csv"], "there is no file nothing.csv"),
        (["show", "ml-25m"], "ml-25m has not been fetched, and there is no file of that name"),
        (["show", "FILE", "--items", "a"], "--items a is not a whole number"),
        (["show", "FILE", "--items", ","], "--items names no numbers"),
        (["show", "FILE", "--items", "9"], "9 items cannot be chosen from 8"),
        (["show", "FILE", "FILE"], "several files of MovieLens"),
        (["show"], "Missing argument 'FILE...'."),
        (["cut", "FILE", "--output", "t.csv", "--items", "8", "--users", "21"],
         "only 20 users rated all of 8 items of MovieLens, and users=21 were asked for"),
        (["cut", "FILE", "--output", "no/t.csv", "--items", "8"],
         "cannot write to no/t.csv: No such file or directory"),
    ],
)  # fmt: skip
def test_refusals(fail, ratings, arguments, message):
    assert fail("data", *[str(ratings) if word == "FILE" else word for word in arguments])[0] == message


def test_show_refuses_what_is_neither(fail, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary")
    message, hint = fail("data", "show", path)
    assert "is neither a file of Jester nor one of MovieLens; it starts with b'Dear diary'" in message
    assert "ratings.csv" in hint


def test_cut_writes_what_the_loader_gives(run, ratings, tmp_path):
    path = tmp_path / "table.csv"
    result = run(
        "data", "cut", ratings, "--output", path, "--items", 6, "--targets", 2, "--users", 15,
        "--method", "popular", "--rating-count",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    table = eq.load_movielens(ratings, items=6, targets=2, users=15, method="popular", rating_count=True)
    header, *rows = path.read_text().splitlines()
    assert header == ",".join(table.names)
    np.testing.assert_allclose([[float(cell) for cell in row.split(",")] for row in rows], table.values)
    assert f"equipoise replay {path} --targets {','.join(table.target_names)}" in result.stdout.replace(
        "\n", " "
    )


def test_cut_follows_the_defaults_of_jester(run, tmp_path):
    source, path = tmp_path / "jester.csv", tmp_path / "table.csv"
    random = np.random.default_rng(1)
    source.write_bytes(csv_of([[60, *np.round(random.uniform(-10, 10, 60), 2)] for _ in range(12)]))
    assert run("data", "cut", source, "--output", path).exit_code == 0
    header, *rows = path.read_text().splitlines()
    assert header.endswith(",count")
    assert (len(header.split(",")), len(rows)) == (50, 12)
    assert run("data", "cut", source, "--output", path, "--no-rating-count").exit_code == 0
    assert len(path.read_text().splitlines()[0].split(",")) == 49


def test_without_the_extra(run, fail, monkeypatch):
    for library in ("polars", "fastexcel", "urllib3", "tenacity", "platformdirs"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delenv("EQUIPOISE_CACHE")
    for command in ((), ("list",), ("fetch",), ("show",), ("cut",)):
        assert run("data", *command, "--help").exit_code == 0
    assert fail("data", "list") == ("platformdirs is not installed", "pip install 'equipoise[data]'")


def test_a_user_without_a_home_can_list_sources(tmp_path):
    """``data list`` once ended with a traceback where neither HOME nor the password file names a home."""
    script = (
        "import os, pwd\n"
        "os.environ.pop('HOME', None)\n"
        "pwd.getpwuid = lambda uid: (_ for _ in ()).throw(KeyError(uid))\n"
        "from equipoise.lab.data import cache_folder\n"
        "print(cache_folder())\n"
    )
    kept = {
        name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "EQUIPOISE_CACHE")
    }
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=kept, check=True
    )
    assert done.stdout.strip().endswith("data")
