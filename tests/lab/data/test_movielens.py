"""MovieLens' files, in every form, real and made up, whole and broken."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rating_files import ratings_csv, ratings_dat, u_data, write_gzip, write_zip

import equipoise as eq
from equipoise.errors import (
    DataNotFound,
    DuplicateRating,
    EquipoiseError,
    InvalidArgument,
    InvalidData,
    MissingExtra,
    RatingOutOfRange,
)
from equipoise.lab.data import movielens, packed
from equipoise.lab.data.movielens import read_movielens

# Movies 50 and 7 are rated by all, 9 by two, 1000000 by one.
RATINGS = [
    (1, 7, 4.0),
    (1, 50, 3.0),
    (1, 9, 5.0),
    (3, 7, 1.0),
    (3, 50, 2.0),
    (20, 7, 5.0),
    (20, 9, 1.0),
    (20, 50, 4.0),
    (20, 1000000, 3.0),
]


def save(path, content):
    path.write_bytes(content)
    return path


FORMS = {
    "ratings.csv": lambda folder: save(folder / "ratings.csv", ratings_csv(RATINGS)),
    "CRLF": lambda folder: save(folder / "ratings.csv", ratings_csv(RATINGS, newline="\r\n")),
    "no last newline": lambda folder: save(folder / "ratings.csv", ratings_csv(RATINGS).rstrip(b"\n")),
    "byte order mark": lambda folder: save(folder / "r.csv", b"\xef\xbb\xbf" + ratings_csv(RATINGS)),
    "no timestamps": lambda folder: save(
        folder / "r.csv", ratings_csv(RATINGS).replace(b",964982703", b"").replace(b",timestamp", b"")
    ),
    "no timestamps, CRLF": lambda folder: save(
        folder / "r.csv",
        ratings_csv(RATINGS, newline="\r\n").replace(b",964982703", b"").replace(b",timestamp", b""),
    ),
    "other order": lambda folder: save(
        folder / "r.csv",
        b"rating,movieId,userId\n" + "".join(f"{r},{i},{u}\n" for u, i, r in RATINGS).encode(),
    ),
    "ratings.csv.gz": lambda folder: write_gzip(folder / "ratings.csv.gz", ratings_csv(RATINGS)),
    "zip": lambda folder: write_zip(
        folder / "ml-25m.zip", {"ml-25m/tags.csv": b"x", "ml-25m/ratings.csv": ratings_csv(RATINGS)}
    ),
    "ratings.dat": lambda folder: save(folder / "ratings.dat", ratings_dat(RATINGS)),
    "ml-10m.zip": lambda folder: write_zip(
        folder / "ml-10m.zip", {"ml-10M100K/ratings.dat": ratings_dat(RATINGS), "ml-10M100K/movies.dat": b""}
    ),
    "u.data": lambda folder: save(folder / "u.data", u_data(RATINGS)),
    "ml-100k.zip": lambda folder: write_zip(
        folder / "ml-100k.zip", {"ml-100k/u.data": u_data(RATINGS), "ml-100k/u1.base": u_data(RATINGS)}
    ),
    "unsorted": lambda folder: save(folder / "u.data", u_data(RATINGS[::-1])),
    "npz": lambda folder: halfstar(folder / "half.npz"),
}


def halfstar(path, **changes):
    codes = np.array([[8, 6, 10, 0], [2, 4, 0, 0], [10, 8, 2, 6]], dtype=np.uint8)
    arrays = {"R2": codes, "movieId": np.array([7, 50, 9, 1000000]), "n_ratings": np.array([3, 2, 4])}
    np.savez_compressed(path, **{**arrays, **changes})
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piece", [None, 16], ids=["whole", "in pieces"])
def test_every_form_gives_the_same_table(tmp_path, monkeypatch, form, piece):
    if piece:
        monkeypatch.setattr(packed, "_PIECE", piece)
        monkeypatch.setattr(movielens, "_AT_ONCE", 3)  # where a user starts
    table = eq.load_movielens(FORMS[form](tmp_path), items=2, targets=1, seed=None, rating_count=True)
    # Of equally popular movies, the one with the smaller number first.
    assert (table.context_names, table.target_names) == (("m7",), ("m50", "count"))
    np.testing.assert_array_equal(table.contexts, [[4.0], [1.0], [5.0]])
    np.testing.assert_array_equal(table.targets, [[3.0, 2.75], [2.0, 0.5], [4.0, 5.0]])
    np.testing.assert_array_equal(table.counts, [3, 2, 4])
    matrix = read_movielens(FORMS[form](tmp_path), pool=3)
    assert matrix.item_names == ("m7", "m50", "m9")
    np.testing.assert_array_equal(matrix.codes, [[8, 6, 10], [2, 4, 0], [10, 8, 2]])
    assert (matrix.total_users, matrix.total_items, matrix.total_ratings) == (3, 4, 9)


def test_targets_are_drawn_by_the_seed(tmp_path):
    path = FORMS["ratings.csv"](tmp_path)
    drawn = {eq.load_movielens(path, items=3, targets=1, seed=seed).target_names for seed in range(20)}
    assert drawn == {("m7",), ("m50",), ("m9",)}
    first, again = (eq.load_movielens(path, items=3, targets=1, seed=4).values for _ in range(2))
    np.testing.assert_array_equal(first, again)


LINE = b"userId,movieId,rating,timestamp\n1,2,3.5,964982703\n"


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", InvalidData, "is empty"),
        (b"\n1,2,3\n", InvalidData, "not a MovieLens file"),
        (b"userId,movieId,rating,timestamp\n", InvalidData, "holds no ratings"),
        (b"user,item,rating\n1,2,3\n", InvalidData, "not a MovieLens file; it starts with b'user,item"),
        (b"userId,movieId,rating,rating\n1,2,3,3\n", InvalidData, "not a MovieLens file"),
        (b"1,2,3.5,964982703\n", InvalidData, "not a MovieLens file"),
        (b"<!DOCTYPE html>", InvalidData, "not a MovieLens file"),
        (LINE + b"1,x,3.5,1\n", InvalidData, "line 3 of .* is not a rating: '1,x,3.5,1'"),
        (LINE + b"1,-4,3.5,1\n", InvalidData, "line 3 "),
        (LINE + b"1,3.5\n", InvalidData, "line 3 "),
        (LINE + b"1,3,3.5,1,1,1\n", InvalidData, "line 3 "),
        (LINE + b"1,3,,1\n", InvalidData, "line 3 "),
        (LINE + b"99999999999,3,3,1\n", InvalidData, "line 3 "),
        (LINE + b"2000000000,3,3,1\n", InvalidData, "above a billion|line 3"),
        (LINE + b"1,3,5.5,1\n", RatingOutOfRange, "line 3 .* has the rating 5.5"),
        (LINE + b"1,3,0,1\n", RatingOutOfRange, "rating 0"),
        (LINE + b"1,3,3.7,1\n", RatingOutOfRange, "rating 3.7"),
        (LINE + b"1,3,NaN,1\n", InvalidData, "line 3 |rating nan"),
        (LINE + b"7,2,1,1\n1,2,3.5,1\n", DuplicateRating, "user 1 rates movie 2 twice"),
        (LINE + b"1,2,4,1\n", DuplicateRating, "user 1 rates movie 2 twice"),
        (b"1::2::3::4\n1::2::3\n", InvalidData, "line 2 "),
        (b"1\t2\t6\t4\n", RatingOutOfRange, "line 1 .* rating 6"),
        (b"PK\x03\x04 is how an archive starts", InvalidData, "damaged"),
        (b"\x1f\x8b is how gzip starts", InvalidData, "damaged"),
    ],
)
def test_broken_files_are_explained(tmp_path, content, error, message):
    path = save(tmp_path / "ratings.csv", content)
    with pytest.raises(error, match=message) as raised:
        eq.load_movielens(path)
    assert raised.value.hint


def test_lines_are_counted_across_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "_PIECE", 64)
    lines = ratings_csv([(user, 1, 3.0) for user in range(1, 100)]) + b"100,1,6,1\n"
    with pytest.raises(RatingOutOfRange, match="line 101 "):
        eq.load_movielens(save(tmp_path / "ratings.csv", lines))


def test_duplicates_are_found_across_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(movielens, "_AT_ONCE", 3)
    for place in range(8):
        ratings = [(user, 1, 3.0) for user in range(1, 9)]
        ratings.insert(place, (place + 1, 1, 4.0))
        with pytest.raises(DuplicateRating, match=f"user {place + 1} "):
            eq.load_movielens(save(tmp_path / "ratings.csv", ratings_csv(ratings)))


@pytest.mark.parametrize(
    "changes",
    [
        {"R2": np.full((3, 4), 11, dtype=np.uint8)},
        {"R2": np.full((3, 4), 1.0)},
        {"R2": np.full(4, 1, dtype=np.uint8)},
        {"movieId": np.arange(3)},
        {"n_ratings": np.arange(5)},
        {"n_ratings": np.array([{}, {}, {}], dtype=object)},
    ],
    ids=["too many stars", "floats", "one dimension", "movies", "users", "objects"],
)
def test_matrices_that_are_none(tmp_path, changes):
    with pytest.raises(InvalidData, match="not a matrix of half stars") as raised:
        eq.load_movielens(halfstar(tmp_path / "half.npz", **changes))
    assert "R2" in raised.value.hint


def test_matrix_without_ratings(tmp_path):
    with pytest.raises(InvalidData, match="no ratings"):
        eq.load_movielens(halfstar(tmp_path / "half.npz", R2=np.zeros((3, 4), dtype=np.uint8)))


def test_a_matrix_that_lacks_an_array(tmp_path):
    np.savez(tmp_path / "half.npz", R2=np.ones((1, 1), dtype=np.uint8))
    with pytest.raises(InvalidData, match="movieId"):
        eq.load_movielens(tmp_path / "half.npz")


def test_wrong_arguments(tmp_path, monkeypatch):
    path = FORMS["ratings.csv"](tmp_path)
    with pytest.raises(InvalidArgument, match="5 items cannot be chosen from 4"):
        eq.load_movielens(path, items=5, targets=1)
    with pytest.raises(InvalidArgument, match="pool=0"):
        eq.load_movielens(path, items=0, pool=0)
    with pytest.raises(DataNotFound, match="there is no file"):
        eq.load_movielens("ratings.txt")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    with pytest.raises(DataNotFound, match="ml-25m has not been fetched"):
        eq.load_movielens()
    for name in ("jester_dataset_1_1.zip", "jester_dataset_1_2.zip", "jester_dataset_1_3.zip"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_bytes(b"")
    with pytest.raises(InvalidArgument, match="more than one file"):
        eq.load_movielens("jester")


pairs = st.dictionaries(st.tuples(st.integers(0, 40), st.integers(0, 2**29)), st.integers(1, 10), min_size=1)


@given(pairs, st.randoms(use_true_random=False), st.sampled_from([ratings_csv, ratings_dat, u_data]))
def test_whatever_is_written_is_read(tmp_path_factory, stars, random, write):
    ratings = [(user, item, code / 2) for (user, item), code in stars.items()]
    random.shuffle(ratings)
    path = save(tmp_path_factory.mktemp("movielens") / "file", write(ratings))
    matrix = read_movielens(path)
    users = sorted({user for user, _ in stars})
    items = [int(name[1:]) for name in matrix.item_names]
    assert sorted(items) == sorted({item for _, item in stars})
    expected = [[stars.get((user, item), 0) for item in items] for user in users]
    np.testing.assert_array_equal(matrix.codes, expected)
    popularity = (matrix.codes > 0).sum(axis=0)
    assert [*zip(-popularity, items, strict=True)] == sorted(zip(-popularity, items, strict=True))
    np.testing.assert_array_equal(matrix.counts, (matrix.codes > 0).sum(axis=1))


@given(
    st.one_of(st.binary(max_size=100), st.text('0123456789.,:-\t\n"x', max_size=100).map(str.encode)),
    st.sampled_from([b"", LINE, b"1::2::3::4\n", b"1\t2\t3\t4\n", b"PK\x03\x04", b"\x1f\x8b\x08"]),
)
def test_no_bytes_bring_it_down(tmp_path_factory, content, start):
    path = save(tmp_path_factory.mktemp("noise") / "file", start + content)
    try:
        matrix = read_movielens(path)
    except EquipoiseError as error:
        assert error.hint
    else:
        assert set(np.unique(matrix.codes)) <= set(range(11))


def test_without_the_extra(tmp_path, monkeypatch):
    path = FORMS["ratings.csv"](tmp_path)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match="polars is not installed") as raised:
        eq.load_movielens(path, items=2)
    assert raised.value.hint == "pip install 'equipoise[data]'"


def test_importing_the_package_does_not_import_the_extra():
    code = (
        "import sys, equipoise\n"
        "heavy = ('polars', 'fastexcel', 'urllib3', 'tenacity', 'platformdirs', 'pyarrow')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


# The real files.


@pytest.mark.parametrize(("items", "users"), [(10, 199), (15, 112), (20, 81), (30, 48)])
def test_complete_users_of_the_half_star_file(real_data, items, users):
    table = eq.load_movielens(real_data("movielens_halfstar_top200.npz"), items=items)
    assert len(table) >= users
    assert table.contexts.shape[1] + table.targets.shape[1] == items
    steps = np.unique(table.values)
    assert set(steps) <= {half / 2 for half in range(1, 11)}


def test_the_small_release(real_data):
    path = real_data("ml-latest-small-ratings.csv.gz")
    matrix = read_movielens(path)
    assert (matrix.total_users, matrix.total_items, matrix.total_ratings) == (610, 9724, 100_836)
    assert matrix.item_names[:3] == ("m356", "m318", "m296")  # rated by 329, 317, 307
    assert matrix.rated().sum(axis=0)[:3].tolist() == [329, 317, 307]
    by_search, popular = (
        [len(eq.load_movielens(path, items=items, method=method)) for items in (6, 10, 15)]
        for method in ("search", "popular")
    )
    assert all(a > b for a, b in zip(by_search, popular, strict=True))
    assert all(a >= b for a, b in itertools.pairwise(by_search))
