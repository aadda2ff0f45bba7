import pytest

from equipoise.studies.store import Store

IDENTITY = {"name": "point", "seed": 1}


def test_a_record_comes_back(tmp_path):
    Store(tmp_path).write(IDENTITY, {"values": (1.0, 2.0)})
    assert Store(tmp_path).read(IDENTITY) == {"values": [1.0, 2.0]}
    assert Store(tmp_path).read({**IDENTITY, "seed": 2}) is None
    assert Store(None).read(IDENTITY) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-5],
        lambda text: text.replace("2.0", "3.0"),
        lambda text: text.replace("values", "valves"),
        lambda text: "[" * 5_000,
        lambda text: "3",
        lambda text: "{}",
        lambda text: "null",
        lambda text: "\udc80",
    ],
    ids=range(8),
)
def test_a_damaged_record_is_made_again(tmp_path, damage):
    store = Store(tmp_path)
    store.write(IDENTITY, {"values": [1.0, 2.0]})
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_text()).encode("utf-8", "surrogateescape"))
    assert store.read(IDENTITY) is None
