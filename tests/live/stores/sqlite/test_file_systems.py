"""Network file systems, shared folders and names that SQLite cannot open are recognised and refused."""

import os
from pathlib import Path

import pytest
from storing.rows import begin

from equipoise.errors import InvalidStore
from equipoise.live.stores.opening import migrate, open_store
from equipoise.live.stores.sqlite import file_systems
from equipoise.live.stores.sqlite.file_systems import file_system_of, is_network

MOUNTS = r"""
22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:22 / /home rw - btrfs /dev/sdb rw
24 23 0:23 / /home/ana/site\040share rw - nfs4 server:/share rw
25 22 0:24 / /mnt rw shared:2 master:3 - fuse.sshfs ana@host:/ rw
26 22 0:25 / /mnt rw - cifs //server/share rw
27 22 0:26 / /overlay rw - fuse.fuse-overlayfs fuse-overlayfs rw
not a line
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/homes", "ext4"),
        ("/home/ana", "btrfs"),
        ("/home/ana/site share/trials", "nfs4"),
        ("/mnt/deep/below", "cifs"),
    ],
)
def test_the_innermost_and_last_mount_counts(folder, kind):
    assert file_system_of(Path(folder), MOUNTS) == kind


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "virtiofs", "NFS"]
)
def test_network(kind):
    assert is_network(kind)


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuse.fuse-overlayfs", "fuseblk"]
)
def test_local(kind):
    assert not is_network(kind)


def test_a_file_on_one_is_refused(tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(
        f"22 1 0:21 / / rw - ext4 /dev/sda1 rw\n25 22 0:24 / {tmp_path}/share rw - nfs server:/ rw\n"
    )
    monkeypatch.setattr(file_systems, "MOUNTS", table)
    (tmp_path / "share").mkdir()
    (tmp_path / "share" / "trial.db").touch()
    (tmp_path / "link").symlink_to(tmp_path / "share")
    for place in ("share", "link"):
        for act in (open_store, migrate):
            with pytest.raises(InvalidStore, match=r"network file system .*\(nfs\).*postgresql"):
                act(f"sqlite:///{tmp_path}/{place}/trial.db")
    open_store(f"sqlite:///{tmp_path}/trial.db").close()


def test_a_file_that_is_mounted_by_itself_is_refused(tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(
        f"22 1 0:21 / / rw - ext4 /dev/sda1 rw\n25 22 0:21 /x {tmp_path}/a.db rw - ext4 /dev/sda1 rw\n"
    )
    monkeypatch.setattr(file_systems, "MOUNTS", table)
    with pytest.raises(InvalidStore, match=r"mounted by itself.*mount its folder"):
        open_store(f"sqlite:///{tmp_path}/a.db")
    open_store(f"sqlite:///{tmp_path}/b.db").close()


def test_where_nothing_is_listed_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "missing")
    open_store(f"sqlite:///{tmp_path}/trial.db").close()


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_names_that_are_no_text_are_refused(tmp_path):
    odd, name = tmp_path / os.fsdecode(b"caf\xe9"), os.fsdecode(b"tr\xfcal.db")
    odd.mkdir()
    (odd / "there.db").touch()
    with open_store(f"sqlite:///{tmp_path}/trial.db") as store:
        begin(store)
        for act in (
            lambda: open_store(f"sqlite:///{odd}/trial.db"),
            lambda: open_store(f"sqlite:///{tmp_path}/{name}"),
            lambda: store.backup(odd / "copy.db"),
            lambda: migrate(f"sqlite:///{odd}/there.db"),
        ):
            with pytest.raises(InvalidStore, match=r"\\udc.* is no name in UTF-8"):
                act()
