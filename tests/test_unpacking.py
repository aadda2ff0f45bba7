import gzip
import io
import json
import resource
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import equipoise as eq
from equipoise import unpacking
from equipoise.errors import DataNotFound, InvalidData, InvalidTable
from equipoise.lab.data.jester import read_jester
from equipoise.lab.data.movielens import read_movielens
from equipoise.lab.running.checkpoint import Checkpoint
from equipoise.unpacking import Damaged, TooLarge, limited, read_npy, read_npz

BOMB = 1 << 30  # bytes that come out


@pytest.fixture(autouse=True)
def _little_memory():
    """What unpacks a bomb fails at once instead of taking the machine down."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + (BOMB * 3) // 4, hard))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@pytest.fixture(scope="module")
def zeros():
    """A gigabyte of zeros in a megabyte."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(BOMB >> 20):
            file.write(bytes(1 << 20))
    return packed.getvalue()


def write_zip_bomb(path, name, start=b""):
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as file,
    ):
        file.write(start)
        for _ in range(BOMB >> 20):
            file.write(bytes(1 << 20))
    return path


def npy_start(shape, dtype="<f8"):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    return header.getvalue()


@given(
    npst.arrays(st.sampled_from(["f8", "i4", "u1", "?", "U5", "U0", ">f4"]), npst.array_shapes(min_dims=0))
)
def test_arrays_come_back(values):
    for array in (values, np.asfortranarray(values), values[..., :0] if values.ndim else values):
        file = io.BytesIO()
        np.save(file, array)
        size = file.tell()
        file.seek(0)
        found = read_npy(file, size)
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype
        packed = io.BytesIO()
        np.savez_compressed(packed, a=array, b=array)
        np.testing.assert_array_equal(read_npz(packed)["b"], array)
        assert list(read_npz(packed, ["b"])) == ["b"]


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), min_size=1, max_size=9), st.integers(0, 700)
)
def test_no_damage_brings_it_down(changes, end):
    packed = io.BytesIO()
    np.savez_compressed(packed, a=np.arange(9.0), b=np.array("text"))
    content = bytearray(packed.getvalue())
    for place, value in changes:
        content[place % len(content)] = value
    for damaged in (content, content[:end]):
        try:
            read_npz(io.BytesIO(bytes(damaged)))
        except Damaged as error:
            assert str(error)


@pytest.mark.parametrize(
    "start",
    [
        npy_start((1 << 40,)),
        npy_start((1 << 62, 1 << 62)),
        npy_start((-1,)),
        npy_start((3,), "|O"),
        b"\x93NUMPY\x09\x00" + bytes(100),
        b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000,
        b"",
        b"{}",
    ],
    ids=["tera", "beyond counting", "negative", "objects", "version", "nested", "empty", "other"],
)
def test_headers_that_lie(start, tmp_path):
    with pytest.raises(Damaged):
        read_npy(io.BytesIO(start + bytes(100)), len(start) + 100)
    path = tmp_path / "table.npy"
    path.write_bytes(start + bytes(100))
    with pytest.raises(InvalidTable):
        eq.as_table(path, targets=["1"])


def test_a_stream_ends_at_its_limit():
    assert limited(io.BytesIO(bytes(1000)), 1000).read() == bytes(1000)
    with pytest.raises(TooLarge, match="unpacks to more than"):
        limited(io.BytesIO(bytes(1001)), 1000).read()


def test_large_files_may_hold_much(monkeypatch, tmp_path):
    monkeypatch.setattr(unpacking, "_ALWAYS", 1000)
    values = np.random.default_rng(1).normal(size=(1000, 2))
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"\n".join(b"%.3f,%.3f" % tuple(row) for row in values)))
    assert eq.as_table(path, targets=["y"]).rows == 1000


# ---- bombs in every kind of file ----


def test_results_and_checkpoints(tmp_path):
    path = write_zip_bomb(tmp_path / "result.npz", "header.npy", npy_start((BOMB // 8,)))
    with pytest.raises(InvalidData, match="unpacks to more than"):
        eq.SimulationResult.load(path)
    checkpoint = Checkpoint(tmp_path, 2, [{"policy": "uniform"}])
    path.rename(tmp_path / f"{checkpoint._stem(0)}-0-5.npz")
    assert list(checkpoint.read(0, 5)) == []


def test_ratings(tmp_path, zeros):
    packed = tmp_path / "ratings.csv.gz"
    packed.write_bytes(zeros)
    with pytest.raises(InvalidData, match="unpacks to more than"):
        read_jester(packed)
    packed.write_bytes(gzip.compress(b"userId,movieId,rating,timestamp\n") + zeros)
    with pytest.raises(InvalidData, match="has a line of"):
        read_movielens(packed)  # one endless line
    with pytest.raises(InvalidData, match="unpacks to more than"):
        read_jester(write_zip_bomb(tmp_path / "jester.zip", "jester-data-1.csv"))
    with pytest.raises(InvalidData, match="not a matrix of half stars"):
        read_movielens(write_zip_bomb(tmp_path / "m.npz", "R2.npy", npy_start((1 << 15, 1 << 15), "|u1")))


def test_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_ALWAYS", 1 << 22)
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(b"x,y\n" + b"3,4\n" * (1 << 24)))
    with pytest.raises(InvalidTable, match="unpacks to more than"):
        eq.as_table(packed, targets=["y"])


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_rows_that_repeat(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_ALWAYS", 1 << 16)
    path = tmp_path / f"table.{kind}"
    table = pa.table({"x": np.ones(10**6), "y": np.ones(10**6)})
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            file.write_table(table)
    with pytest.raises(InvalidTable, match="unpacks to more than"):
        eq.as_table(path, targets=["y"])


# ---- results that are damaged ----


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=20)
    path = tmp_path_factory.mktemp("whole") / "result.npz"
    eq.simulate(scenario, ["uniform", "oracle"], trials=4, seed=1).save(path)
    return path


def rewritten(result, path, change):
    with np.load(result) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"]))
    change(header, arrays)
    np.savez(path, **{**arrays, "header": np.array(header.get("text", json.dumps(header)))})
    return path


CHANGES = {
    "nested": lambda header, arrays: header.update(text="[" * 5_000 + "]" * 5_000),
    "no JSON": lambda header, arrays: header.update(text="{"),
    "a list": lambda header, arrays: header.update(text="[1]"),
    "a number": lambda header, arrays: header.update(text="1"),
    "long number": lambda header, arrays: header.update(text="1" * 5_000),
    "no seed": lambda header, arrays: header.pop("seed"),
    "a seed of words": lambda header, arrays: header.update(seed="many"),
    "no timing": lambda header, arrays: header.update(timing=[]),
    "no policies": lambda header, arrays: header.update(policies={}),
    "policies of numbers": lambda header, arrays: header.update(policies=3),
    "no scenario": lambda header, arrays: header.update(scenario=None),
    "half a scenario": lambda header, arrays: header["scenario"].pop("noise"),
    "a noise of words": lambda header, arrays: header["scenario"].update(noise="loud"),
    "fewer trials": lambda header, arrays: arrays.update({"0_errors": arrays["0_errors"][:2]}),
    "other arms": lambda header, arrays: arrays.update({"0_errors": np.ones((4, 3))}),
    "text": lambda header, arrays: arrays.update({"0_errors": np.full((4, 2), "a")}),
}


@pytest.mark.parametrize("kind", [eq.SimulationResult, eq.ReplayResult])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_results_that_were_changed(change, kind, result, tmp_path):
    path = rewritten(result, tmp_path / "result.npz", change)
    with pytest.raises(eq.EquipoiseError):
        kind.load(path)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=9))
def test_results_that_were_damaged(result, tmp_path_factory, changes):
    content = bytearray(result.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path = tmp_path_factory.mktemp("damaged") / "result.npz"
    path.write_bytes(content)
    try:
        found = eq.SimulationResult.load(path)
    except eq.EquipoiseError as error:
        assert error.hint
    else:
        assert found.trials == 4


def test_results_that_are_not_there(tmp_path):
    with pytest.raises(DataNotFound, match="there is no file"):
        eq.SimulationResult.load(tmp_path / "none.npz")
    with pytest.raises(DataNotFound, match="cannot be read"):
        eq.SimulationResult.load(tmp_path)
    for content in (b"", b"PK\x03\x04", b"text"):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(InvalidData, match="is not a whole result"):
            eq.ReplayResult.load(tmp_path / "file")
