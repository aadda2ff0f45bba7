"""The tree: files of one idea, folders that one look takes in, rooms that say what is in them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = [ROOT / name for name in ("src", "tests", "benchmarks", "docs", "tools")]
MOST_LINES, MOST_FILES = 400, 15


def is_held(path):
    return "__pycache__" not in path.parts


def files_in(folder):
    return [
        path for path in folder.iterdir() if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    ]


FOLDERS = [
    folder
    for place in PLACES
    for folder in [place, *sorted(place.rglob("*"))]
    if folder.is_dir() and is_held(folder)
]
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]
PACKAGE = ROOT / "src" / "equipoise"
# The package itself is a door, not a room: CONTRIBUTING.md has the map.
ROOMS = [
    path
    for path in FILES
    if path.name == "__init__.py" and PACKAGE in path.parents and path.parent != PACKAGE
]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def missing_from(room):
    """What lies in a room and is not named, as code, in the docstring of its ``__init__``."""
    text = ast.get_docstring(ast.parse(room.read_text())) or ""
    named = set(re.findall(r"``(\w+)``", text))
    modules = {path.stem for path in room.parent.glob("*.py")} - {"__init__", "__main__"}
    below = {path.parent.name for path in room.parent.glob("*/__init__.py")}
    return sorted((modules | below) - named)


def named_by(room):
    """What the docstring's table names, first column only."""
    text = ast.get_docstring(ast.parse(room.read_text())) or ""
    return re.findall(r"^``(\w+)``  ", text, re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_folders_are_small(folder):
    assert len(files_in(folder)) <= MOST_FILES


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_a_room_names_what_is_in_it(room):
    assert missing_from(room) == []


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_a_room_names_nothing_else(room):
    there = {path.stem for path in room.parent.iterdir()}
    assert [name for name in named_by(room) if name not in there] == []


def test_the_checks_see_what_they_should(tmp_path):
    (tmp_path / "__init__.py").write_text('"""A room.\n\n``here``  a file\n``gone``  no file\n"""\n')
    (tmp_path / "here.py").write_text("")
    (tmp_path / "hidden.py").write_text("")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "__init__.py").write_text("")
    assert missing_from(tmp_path / "__init__.py") == ["below", "hidden"]
    assert named_by(tmp_path / "__init__.py") == ["here", "gone"]
    assert len(files_in(tmp_path)) == 3
    assert {place.name for place in PLACES if place.is_dir()} == {
        "src",
        "tests",
        "benchmarks",
        "docs",
        "tools",
    }
    assert len(FILES) > 200
    assert len(ROOMS) > 10
