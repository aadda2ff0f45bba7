"""Every store keeps the contract; the checks notice stores that do not."""

import pytest

from equipoise.errors import CheckFailed
from equipoise.live.stores import contract
from equipoise.live.stores.memory import MemoryStore
from equipoise.live.stores.opening import open_store

WAIT = 0.5


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path / 'trial.db'}"}[request.param]


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
def test_every_store_keeps_it(url, check):
    wait = WAIT if check is contract.waiting_is_bounded else 30
    with open_store(url, wait=wait) as store:
        check(store)


class Forgetful(MemoryStore):
    """Acknowledges what it does not keep."""

    def names(self, project=None):
        return super().names(project)[1:]


class Careless(MemoryStore):
    """Keeps what a failed block has appended."""

    def writing(self, name, waiting=None):
        return _Careless(super().writing(name, waiting))


class _Careless:
    def __init__(self, inner):
        self.inner = inner

    def __enter__(self):
        return self.inner.__enter__()

    def __exit__(self, *failure):
        self.inner.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("store", "promise"), [(Forgetful, "names"), (Careless, "a block that raised has stored something")]
)
def test_broken_stores_are_noticed(store, promise):
    with pytest.raises(CheckFailed, match=promise):
        contract.check_store(lambda: store(wait=WAIT))
