"""What a download may not do: leave https, go in circles, or never end."""

from __future__ import annotations

import hashlib
import shutil
import subprocess

import pytest
from rating_files import ratings_csv, write_zip
from web_server import serve

import equipoise as eq
from equipoise.errors import DownloadFailed
from equipoise.lab.data import SOURCES, Patience
from equipoise.lab.data.download import download, read_text
from equipoise.lab.data.sources import DataFile

QUICK = Patience(attempts=2, first_pause=0.01, longest_pause=0.02, timeout=5)
NAME = "ml-latest-small.zip"


@pytest.fixture
def secure(tmp_path, monkeypatch):
    """The same files by https."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes a certificate, is not there")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=here"]
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serve(tmp_path / "published", both) as server:
        yield server


@pytest.fixture
def published(web):
    path = write_zip(web.folder / NAME, {"ml-latest-small/ratings.csv": ratings_csv([(1, 1, 3.5)])})
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    (web.folder / f"{NAME}.md5").write_text(f"{digest}  {NAME}\n")
    return path.read_bytes()


def fetch(url):
    return eq.fetch_data("ml-latest-small", accept_terms=True, mirror=url, patience=QUICK)


def test_https_stays_https(secure, web, published, cache):
    secure.redirections = {NAME: f"{secure.url}/moved/{NAME}"}
    with pytest.raises(DownloadFailed, match="in circles"):
        fetch(secure.url)
    secure.redirections = {}
    [file] = fetch(secure.url)
    assert file.path.read_bytes() == published


@pytest.mark.parametrize("name", [NAME, f"{NAME}.md5"])
def test_a_redirection_from_https_to_http_is_refused(secure, web, published, cache, name):
    secure.redirections = {name: f"{web.url}/{name}"}
    with pytest.raises(DownloadFailed, match=r"redirects to http://") as refused:
        fetch(secure.url)
    assert "https://" in refused.value.hint
    assert web.requests == []
    assert not (cache / NAME).exists()


def test_not_even_over_a_detour(secure, web, published, cache):
    secure.redirections = {NAME: f"{secure.url}/there.zip", "there.zip": f"{web.url}/{NAME}"}
    with pytest.raises(DownloadFailed, match=r"redirects to http://"):
        fetch(secure.url)
    web.redirections = {NAME: f"{secure.url}/back.zip"}
    secure.redirections = {"back.zip": f"{web.url}/{NAME}"}
    with pytest.raises(DownloadFailed, match=r"redirects to http://"):
        fetch(web.url)


@pytest.mark.parametrize("there", ["ftp://127.0.0.1/x", "file:///etc/passwd", "http://", "//[", "data:,x"])
def test_redirections_to_no_address_are_refused(web, published, cache, there):
    web.redirections = {NAME: there}
    with pytest.raises(DownloadFailed):
        fetch(web.url)


def test_http_may_go_on_to_http_and_to_https(secure, web, published, cache):
    web.redirections = {NAME: "/files/moved.zip", "moved.zip": f"{secure.url}/{NAME}"}
    [file] = fetch(web.url)
    assert file.path.read_bytes() == published


@pytest.mark.parametrize("lengths", [True, False])
def test_a_download_ends_at_its_limit(web, tmp_path, lengths):
    web.lengths = lengths
    (web.folder / "large").write_bytes(bytes(300_000))
    part = tmp_path / "part"

    def act(most):
        return download(f"{web.url}/large", part, most=most, patience=QUICK, progress=lambda *_: None)

    with pytest.raises(DownloadFailed, match="larger than"):
        act(299_999)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["published"]
    assert len(web.asked("large")) == 1  # another attempt would not make it smaller
    act(300_000)
    assert part.stat().st_size == 300_000


def test_a_resumed_download_counts_what_it_has(web, tmp_path):
    (web.folder / "large").write_bytes(bytes(300_000))
    web.cuts = [200_000, 0, 0]
    part = tmp_path / "part"
    for reason in ("could not be downloaded", "larger than"):
        with pytest.raises(DownloadFailed, match=reason):
            download(f"{web.url}/large", part, most=250_000 if "larger" in reason else 10**6,
                     patience=QUICK, progress=lambda *_: None)  # fmt: skip
    assert not part.exists()


def test_a_source_knows_its_size(web, published, cache, monkeypatch):
    monkeypatch.setattr(DataFile, "most_bytes", 100)
    with pytest.raises(DownloadFailed, match="larger than"):
        fetch(web.url)
    assert not any(path.name.startswith(NAME) for path in cache.iterdir())


def test_every_source_has_a_size():
    for source in SOURCES.values():
        for file in source.files:
            assert 10_000_000 < file.most_bytes < 2_000_000_000
    assert SOURCES["jester"].size == "10 MB"


def test_of_a_checksum_only_the_beginning_is_read(web):
    (web.folder / "sum.md5").write_bytes(b"a" * 10**7)
    assert read_text(f"{web.url}/sum.md5", patience=QUICK) == "a" * 4096
