"""Downloads from a real server that cuts, forgets, lies and refuses; nothing leaves this machine."""

from __future__ import annotations

import hashlib
import json
import random

import pytest
from rating_files import ratings_csv, write_zip

import equipoise as eq
from equipoise.errors import (
    ChecksumMismatch,
    DataNotFound,
    DownloadFailed,
    InvalidArgument,
    OutputNotWritable,
    TermsNotAccepted,
)
from equipoise.lab.data import SOURCES, Patience
from equipoise.lab.data.download import download
from equipoise.lab.data.sources import cache_folder

QUICK = Patience(attempts=3, first_pause=0.01, longest_pause=0.02, timeout=5)
NAME = "ml-latest-small.zip"
RATINGS = [(user, item, 3.5) for user in range(1, 6) for item in range(1, 4)]


@pytest.fixture
def published(web):
    """The release on the server, padded to a few blocks, with its checksum beside it."""
    noise = random.Random(1).randbytes(300_000)
    path = write_zip(
        web.folder / NAME, {"ml-latest-small/ratings.csv": ratings_csv(RATINGS), "ml-latest-small/x": noise}
    )
    content = path.read_bytes()
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    (web.folder / f"{NAME}.md5").write_text(f"MD5 ({NAME}) = {digest}\n")
    return content


@pytest.fixture
def fetch(web, cache):
    def run(name="ml-latest-small", **rest):
        rest = {"accept_terms": True, "mirror": web.url, "patience": QUICK, **rest}
        return eq.fetch_data(name, **rest)

    return run


def test_a_fetched_release_loads_by_its_name(fetch, published, cache):
    with pytest.raises(DataNotFound, match="has not been fetched") as raised:
        eq.load_movielens("ml-latest-small")
    assert raised.value.hint == "type: equipoise data fetch ml-latest-small"
    seen = []
    [file] = fetch(progress=lambda name, done, total: seen.append((name, done, total)))
    assert file.path == cache / NAME
    assert file.path.read_bytes() == published
    assert file.sha256 == hashlib.sha256(published).hexdigest()
    assert (file.checked, file.new) == ("MD5 published beside it", True)
    assert seen[-1] == (NAME, len(published), len(published))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    table = eq.load_movielens("ml-latest-small", items=3, targets=1)
    assert len(table) == 5
    assert sorted(path.name for path in cache.iterdir() if "terms" not in path.name) == [
        NAME,
        f"{NAME}.sha256.json",
    ]


def test_what_is_there_is_not_downloaded_again(fetch, published, web):
    fetch()
    asked = len(web.requests)
    [file] = fetch()
    assert not file.new
    assert len(web.requests) == asked


def test_a_file_that_was_put_into_the_cache_is_checked_and_kept(fetch, published, web, cache):
    cache.mkdir(parents=True)
    (cache / NAME).write_bytes(published)
    [file] = fetch()
    assert not file.new
    assert web.asked(NAME) == []


def test_a_spoilt_file_in_the_cache_is_replaced(fetch, published, cache):
    fetch()
    (cache / NAME).write_bytes(published[:-1])
    [file] = fetch()
    assert file.new
    assert file.path.read_bytes() == published


def test_a_cut_connection_goes_on_where_it_broke(fetch, published, web):
    web.cuts = [10**9, 100_000, 70_000]  # the first answer is the checksum
    [file] = fetch()
    assert file.path.read_bytes() == published
    assert web.asked(NAME) == [None, "bytes=100000-", "bytes=170000-"]


def test_many_cuts_are_endured_while_bytes_arrive(fetch, published, web):
    web.cuts = [10**9, *[50_000] * 5]  # more cuts than attempts
    fetch()
    assert len(web.asked(NAME)) == 5 + 1


def test_an_interrupted_program_goes_on_next_time(fetch, published, web, cache):
    web.cuts = [10**9, 100_000, 0, 0, 0]
    with pytest.raises(DownloadFailed, match="could not be downloaded") as raised:
        fetch()
    assert "what has arrived is kept" in raised.value.hint
    assert not (cache / NAME).exists()
    assert (cache / f"{NAME}.part").stat().st_size == 100_000
    web.requests.clear()
    [file] = fetch()
    assert web.asked(NAME) == ["bytes=100000-"]
    assert file.path.read_bytes() == published
    assert not list(cache.glob("*.part*"))


def test_a_server_that_does_not_resume_starts_over(fetch, published, web):
    web.ranges = False
    web.cuts = [10**9, 100_000]
    [file] = fetch()
    assert file.path.read_bytes() == published
    assert web.asked(NAME) == [None, "bytes=100000-"]


def test_another_part_than_was_asked_for_is_not_appended(fetch, published, web):
    web.cuts = [10**9, 100_000]
    web.shifted = 1
    [file] = fetch()
    assert file.path.read_bytes() == published
    assert web.asked(NAME) == [None, "bytes=100000-", None]


def test_a_break_after_the_last_byte_is_noticed(tmp_path, web, published):
    part = tmp_path / "x.part"
    part.write_bytes(published)
    (tmp_path / "x.part.json").write_text(json.dumps({"url": f"{web.url}/{NAME}", "version": ""}))
    assert download(f"{web.url}/{NAME}", part, most=10**6, patience=QUICK, progress=lambda *_: None)
    assert part.read_bytes() == published
    assert web.asked(NAME) == [f"bytes={len(published)}-"]


def test_a_new_version_on_the_server_is_fetched_whole(fetch, published, web):
    web.cuts = [10**9, 100_000, 0, 0, 0]
    with pytest.raises(DownloadFailed):
        fetch()
    other = bytes(100) + published
    (web.folder / NAME).write_bytes(other)
    web.requests.clear()
    digest = hashlib.md5(other, usedforsecurity=False).hexdigest()
    (web.folder / f"{NAME}.md5").write_text(f"{digest}  {NAME}\n")
    [file] = fetch()
    assert file.path.read_bytes() == other
    assert web.asked(NAME) == ["bytes=100000-"]  # answered with the whole file


def test_without_versions_a_changed_file_is_found_by_its_checksum(fetch, published, web):
    web.versions = False
    web.cuts = [10**9, 100_000, 0, 0, 0]
    with pytest.raises(DownloadFailed):
        fetch()
    other = bytes(100) + published  # behind byte 100,000 it differs
    (web.folder / NAME).write_bytes(other)
    digest = hashlib.md5(other, usedforsecurity=False).hexdigest()
    (web.folder / f"{NAME}.md5").write_text(digest)
    [file] = fetch()
    assert file.path.read_bytes() == other
    assert web.asked(NAME)[-2:] == ["bytes=100000-", None]


def test_a_wrong_checksum_keeps_what_was_there(fetch, published, web, cache):
    fetch()
    (cache / f"{NAME}.sha256.json").unlink()
    (web.folder / f"{NAME}.md5").write_text("0" * 32)
    with pytest.raises(ChecksumMismatch, match="the checksum differs"):
        fetch()
    assert (cache / NAME).read_bytes() == published
    assert not list(cache.glob("*.part*"))


def test_pinned_checksums_hold_for_other_addresses_too(fetch, web):
    write_zip(web.folder / "jester_dataset_1_1.zip", {"jester-data-1.xls": b"not the real one"})
    with pytest.raises(ChecksumMismatch, match="are not those of jester_dataset_1_1"):
        fetch("jester-1")


def test_without_a_published_checksum_the_first_download_counts(fetch, published, web, cache):
    (web.folder / f"{NAME}.md5").unlink()
    [file] = fetch()
    assert file.checked.startswith("nothing: no checksum is published")
    (cache / NAME).unlink()
    [file] = fetch()
    assert file.checked == "SHA-256 of the first download; none is published"
    (cache / NAME).unlink()
    (web.folder / NAME).write_bytes(published + b"more")
    with pytest.raises(ChecksumMismatch):
        fetch()


def test_a_page_instead_of_an_archive_is_refused(fetch, web, cache):
    (web.folder / NAME).write_text("<html>Please log in</html>")
    with pytest.raises(ChecksumMismatch, match="not a zip archive"):
        fetch()
    assert not (cache / NAME).exists()


def test_a_cut_that_nothing_announces_is_found_by_the_checksum(fetch, published, web):
    web.lengths = False
    web.cuts = [10**9, 100_000]
    with pytest.raises(ChecksumMismatch):
        fetch()


def test_a_missing_file_is_not_tried_again(fetch, web):
    with pytest.raises(DownloadFailed, match="404") as raised:
        fetch()
    assert "--from" in raised.value.hint
    assert web.asked(NAME) == [None]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(fetch, published, web, status):
    web.failures = [status, status]
    fetch()
    assert web.failures == []


def test_a_server_that_stays_busy(fetch, published, web):
    web.failures = [503] * 10
    with pytest.raises(DownloadFailed, match="503"):
        fetch()
    assert len(web.requests) == QUICK.attempts


def test_nobody_answers(fetch):
    with pytest.raises(DownloadFailed, match="refused"):
        fetch(mirror="http://127.0.0.1:9/")


@pytest.mark.parametrize("mirror", ["ftp://127.0.0.1/", "nonsense", "http://"])
def test_addresses_that_are_none(fetch, mirror):
    with pytest.raises(DownloadFailed, match="not an address"):
        fetch(mirror=mirror)


def test_terms_come_first_and_once(fetch, published, web):
    with pytest.raises(TermsNotAccepted):
        fetch(accept_terms=False)
    assert web.requests == []
    fetch(accept_terms=True)
    fetch(accept_terms=False)
    with pytest.raises(TermsNotAccepted):  # other terms
        fetch("jester", accept_terms=False)
    assert "research" in eq.data_terms("jester")


def test_a_cache_that_cannot_be_written(fetch, published, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputNotWritable):
        fetch()


def test_names(fetch, tmp_path, monkeypatch):
    with pytest.raises(InvalidArgument, match="no source 'netflix'"):
        fetch("netflix")
    assert eq.data_terms("movielens") == eq.data_terms("ml-25m")
    monkeypatch.delenv("EQUIPOISE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "equipoise" in str(cache_folder())


def test_sources_are_official_and_their_checksums_well_formed():
    for source in SOURCES.values():
        assert source.terms
        for file in source.files:
            assert file.url.startswith(
                (
                    "https://eigentaste.berkeley.edu/dataset/",
                    "https://files.grouplens.org/datasets/movielens/",
                )
            )
            assert file.md5_beside or (file.sha256 and len(bytes.fromhex(file.sha256)) == 32)


def test_the_pinned_checksum_is_that_of_the_published_file(real_data):
    content = real_data("jester_dataset_1_1.zip").read_bytes()
    assert SOURCES["jester-1"].files[0].sha256 == hashlib.sha256(content).hexdigest()
