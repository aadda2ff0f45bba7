"""Names of experiments: one canonical form, and advice for what is no name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InvalidArgument
from equipoise.live.stores.names import LONGEST, Name, full_name, parse_name

GOOD = st.from_regex(r"[a-z0-9äß中][a-z0-9ä._\-]{0,20}", fullmatch=True)


@given(project=GOOD, experiment=GOOD)
def test_a_name_comes_back(project, experiment):
    name = parse_name(f"{project}/{experiment}")
    assert name == (project, experiment)
    assert parse_name(str(name)) == name


@given(experiment=GOOD)
def test_the_default_project_is_left_out(experiment):
    assert parse_name(experiment) == Name("default", experiment)
    assert full_name(f"default/{experiment}") == experiment


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_an_error(text):
    try:
        name = full_name(text)
    except InvalidArgument:
        return
    assert full_name(name) == name
    assert not set(name) & set(" @:\t\n\0'\"\\%?#")
    assert name.count("/") <= 1


def test_signs_that_look_alike_are_one_name():
    assert full_name("e\u0301tude") == full_name("\u00e9tude")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is empty"),
        ("a/", "the experiment .* is empty"),
        ("/a", "the project .* is empty"),
        ("a/b/c", "2 slashes"),
        ("my trial", "holds ' '.*for example 'my-trial'"),
        (".hidden", r"begins with '\.'.*for example 'hidden'"),
        ("a" * (LONGEST + 1), "101 characters"),
        ("trial@2", "holds '@'"),
        (7, "must be text, not int"),
        (["a"], "must be text, not list"),
    ],
)
def test_what_is_no_name(name, message):
    for read in (parse_name, full_name):
        with pytest.raises(InvalidArgument, match=message):
            read(name)
