import pytest

import equipoise as eq
from equipoise.studies.reproduce.choice import chosen_panels


def test_all_panels_unless_named_and_in_order():
    assert chosen_panels([]) == [*"abcdef", "jester", "movielens", "rate"]
    assert chosen_panels(["rate", "c", "a", "c"]) == ["a", "c", "rate"]


def test_sparse_panels_only_when_they_are_named():
    sparse = ["support", "sparse-budget", "sparse-screen"]
    assert chosen_panels(["sparse"]) == chosen_panels(["sparse", "support"]) == sparse
    assert chosen_panels(["sparse-screen", "a"]) == ["a", "sparse-screen"]
    with pytest.raises(eq.errors.InvalidArgument) as caught:
        chosen_panels(["sparse-bugdet"])
    assert caught.value.hint.startswith("did you mean 'sparse-budget'?")


def test_an_unknown_panel_is_named_with_the_closest():
    with pytest.raises(eq.errors.InvalidArgument, match="no panel 'rat'") as caught:
        chosen_panels(["a", "rat"])
    assert caught.value.hint.startswith("did you mean 'rate'? panels: a, b,")
