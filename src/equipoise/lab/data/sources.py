"""What can be fetched: official addresses, terms, checksums, and where files are kept."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.plain import suggest
from equipoise.errors import DataNotFound, InvalidArgument
from equipoise.extras import library

PathOrName = str | Path
_JESTER = "https://eigentaste.berkeley.edu/dataset/"
_MOVIELENS = "https://files.grouplens.org/datasets/movielens/"

_JESTER_TERMS = """\
Jester (Ken Goldberg, AUTOLab, UC Berkeley), https://eigentaste.berkeley.edu/dataset/
- Free for research use when acknowledged with:
  Ken Goldberg, Theresa Roeder, Dhruv Gupta, Chris Perkins. Eigentaste: A Constant Time Collaborative
  Filtering Algorithm. Information Retrieval 4(2), 133-151, 2001.
- As a courtesy, its authors ask to be told by whoever uses the data."""

_MOVIELENS_TERMS = """\
MovieLens (GroupLens Research, University of Minnesota), https://grouplens.org/datasets/movielens/
- For research. No commercial or revenue-bearing use without permission of GroupLens.
- No endorsement by the University of Minnesota or GroupLens may be stated or implied.
- Publications must acknowledge the data set:
  F. Maxwell Harper, Joseph A. Konstan. The MovieLens Datasets: History and Context. ACM Transactions on
  Interactive Intelligent Systems 5(4), 19:1-19:19, 2015.
- {redistribution}
- The README in the archive is the licence; this is its gist. The data come without any guarantee."""
_NO_COPIES = "No redistribution without separate permission."
_COPIES = "Redistribution: as the README in the archive allows, under the same conditions."


@dataclass(frozen=True)
class DataFile:
    """One file to download."""

    url: str
    megabytes: int
    sha256: str | None = None
    md5_beside: bool = False
    """Whether the server keeps a checksum under the same address with ``.md5`` behind it."""

    @property
    def name(self) -> str:
        """Its name on the server and in the cache."""
        return self.url.rpartition("/")[2]

    @property
    def most_bytes(self) -> int:
        """More than this is not the file: four times its size, as some releases grow, and some to spare."""
        return (4 * self.megabytes + 16) * 1_000_000


@dataclass(frozen=True)
class DataSource:
    """Something that can be fetched by name."""

    name: str
    what: str
    terms: str
    files: tuple[DataFile, ...]

    @property
    def size(self) -> str:
        """What it takes to download."""
        return f"{sum(file.megabytes for file in self.files)} MB"

    def paths(self) -> list[Path]:
        """Where its files are kept, fetched or not."""
        return [cache_folder() / file.name for file in self.files]

    def fetched(self) -> bool:
        """Whether all its files are there."""
        return all(path.is_file() for path in self.paths())


# The first was computed from the published file. The other two stand, together with the first, in the
# records of two unrelated public projects.
_JESTER_FILES = (
    DataFile(
        _JESTER + "jester_dataset_1_1.zip",
        4,
        sha256="cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615",
    ),
    DataFile(
        _JESTER + "jester_dataset_1_2.zip",
        4,
        sha256="4d312fd824d8c8cb2c9c952a7b1fb7c00d1f5fd3ece370f7285aa701d371748b",
    ),
    DataFile(
        _JESTER + "jester_dataset_1_3.zip",
        2,
        sha256="7f548d3762d3506cf7cd37d8cb9e3adb67984a7da7aa2d2096d5e0b1b884758d",
    ),
)


def _jester(name: str, what: str, files: tuple[DataFile, ...]) -> DataSource:
    return DataSource(name, what, _JESTER_TERMS, files)


def _movielens(name: str, what: str, megabytes: int, redistribution: str = _COPIES) -> DataSource:
    file = DataFile(f"{_MOVIELENS}{name}.zip", megabytes, md5_beside=True)
    return DataSource(name, what, _MOVIELENS_TERMS.format(redistribution=redistribution), (file,))


SOURCES = {
    source.name: source
    for source in (
        _jester("jester", "Jester data set 1, all three parts: 73,421 users, 100 jokes", _JESTER_FILES),
        _jester("jester-1", "part 1: 24,983 users with 36 ratings or more", _JESTER_FILES[:1]),
        _jester("jester-2", "part 2: 23,500 users with 36 ratings or more", _JESTER_FILES[1:2]),
        _jester("jester-3", "part 3: 24,938 users with 15 to 35 ratings", _JESTER_FILES[2:]),
        _movielens("ml-latest-small", "MovieLens, 100,000 half-star ratings; changes over time", 1),
        _movielens("ml-latest", "MovieLens, 33 million half-star ratings; changes over time", 335),
        _movielens("ml-32m", "MovieLens, 32 million half-star ratings", 240),
        _movielens("ml-25m", "MovieLens, 25 million half-star ratings", 250),
        _movielens("ml-20m", "MovieLens, 20 million half-star ratings", 190),
        _movielens("ml-10m", "MovieLens, 10 million half-star ratings", 63, _NO_COPIES),
        _movielens("ml-1m", "MovieLens, 1 million ratings in whole stars", 6, _NO_COPIES),
        _movielens("ml-100k", "MovieLens, 100,000 ratings in whole stars", 5, _NO_COPIES),
    )
}
_ALIASES = {"movielens": "ml-25m"}


def find_source(name: str) -> DataSource:
    """The source of that name; ``movielens`` is its release of 25 million ratings."""
    source = SOURCES.get(_ALIASES.get(name, name))
    if source is None:
        raise InvalidArgument(f"no source {name!r}", hint=suggest(name, [*SOURCES, *_ALIASES]))
    return source


def cache_folder() -> Path:
    """Where fetched files are kept: ``EQUIPOISE_CACHE``, or the user's cache folder.

    Users without a home have a folder among the temporary ones.
    """
    chosen = os.environ.get("EQUIPOISE_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "data"
    try:
        folder: Path = library("platformdirs").user_cache_path("equipoise", appauthor=False)
    except RuntimeError:  # a user without a home
        folder = Path(tempfile.gettempdir()) / "equipoise"
    return folder / "data"


def locate(path: PathOrName) -> list[Path]:
    """The files behind a path or the name of a source that was fetched."""
    file = Path(path).expanduser()
    name = _ALIASES.get(str(path), str(path))
    if isinstance(path, Path) or name not in SOURCES or file.is_file():
        return [file]
    source = SOURCES[name]
    if not source.fetched():
        raise DataNotFound(
            f"{name} has not been fetched, and there is no file of that name",
            hint=f"type: equipoise data fetch {name}",
        )
    return source.paths()


def locate_one(path: PathOrName) -> Path:
    """Like :func:`locate`, for sources of one file."""
    files = locate(path)
    if len(files) > 1:
        raise InvalidArgument(f"{path} is more than one file", hint="name one of them")
    return files[0]
