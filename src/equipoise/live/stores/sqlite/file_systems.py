"""Places where locks and shared memory do not hold: network file systems, shared folders, mounted files.

SQLite's write-ahead log needs memory that all its users share, and locks that all of them see. Across
machines there is neither, and a log written from two of them is damaged silently. A file that is mounted by
itself has its write-ahead log in another folder than the file it stands for. So such places are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from equipoise.errors import InvalidStore

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists what is mounted; on other systems nothing is checked."""

NETWORK = frozenset(
    {
        "9p",
        "acfs",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "mfs",
        "ncp",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "prl_fs",
        "pvfs2",
        "smb",
        "smb2",
        "smb3",
        "smb3_cifs",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "webdav",
    }
)
_NETWORK_FUSE = frozenset(
    {
        "afpfs",
        "beegfs",
        "blobfuse",
        "blobfuse2",
        "ceph-fuse",
        "cephfs",
        "curlftpfs",
        "davfs",
        "davfs2",
        "gcsfuse",
        "glusterfs",
        "goofys",
        "grpcfuse",
        "hdfs",
        "httpfs",
        "juicefs",
        "lustre",
        "mfs",
        "moosefs",
        "mountpoint-s3",
        "nfs",
        "onedriver",
        "prl_fsd",
        "rclone",
        "s3fs",
        "s3ql",
        "seaweedfs",
        "smb",
        "smbnetfs",
        "sshfs",
        "vmhgfs-fuse",
        "webdavfs",
        "wsfs",
    }
)


def file_system_of(folder: Path, mounts: str) -> str | None:
    """The type of the file system that a folder is in, from the text of ``mountinfo``."""
    best, kind = -1, None
    for point, mounted in _mounted(mounts):
        # Of two mounts at one place the later one covers the other.
        if (folder == point or point in folder.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), mounted
    return kind


def _mounted(mounts: str) -> Iterator[tuple[Path, str]]:
    """Where something is mounted, and of what type it is."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if len(fields) >= 5 and rest:
            yield Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])), rest[0]


def is_network(kind: str) -> bool:
    """Whether files of such a file system may be written from several machines."""
    name = kind.lower()
    return name in NETWORK or (name.startswith("fuse.") and name.removeprefix("fuse.") in _NETWORK_FUSE)


def refuse_undecodable(path: Path) -> None:
    """Refuse a file whose name, or the name of a folder that it is in, is no UTF-8: SQLite takes no other."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidStore(
            f"{str(path)!a} is no name in UTF-8, and SQLite takes no other",
            hint="choose another name or folder",
        ) from None


def refuse_unsafe(path: Path) -> None:
    """Refuse a file whose folder is on a network file system, or that is mounted without its folder."""
    try:
        mounts = MOUNTS.read_text(errors="surrogateescape")
    except OSError:
        return
    file = path.resolve()
    if any(point == file for point, _ in _mounted(mounts)):
        raise InvalidStore(
            f"{path} is mounted by itself, without the files that SQLite keeps beside it",
            hint="mount its folder instead",
        )
    kind = file_system_of(file.parent, mounts)
    if kind is not None and is_network(kind):
        raise InvalidStore(
            f"{path} is on a network file system or shared folder ({kind}), where SQLite's locks do not hold",
            hint='choose a folder on a local disk; for several machines use store="postgresql://…"',
        )
