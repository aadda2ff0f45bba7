import itertools

import numpy as np
import pytest
from built_in import BUILT_IN

from equipoise.studies.colours import DARK, policy_looks

# Machado, Oliveira and Fernandes 2009, at full severity: what linear red, green and blue become.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
# Oklab: a distance of 100 is that of black and white, 2 can just be seen.
TO_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_LAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
COMPARED = ["uniform", "oracle", "trace-ucb", "trace-gain", "var-ucb"]


def linear(color):
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def distance(one, other):
    """The smallest of all visions."""
    seen = [
        [TO_LAB @ np.cbrt(np.maximum(TO_CONES @ vision @ linear(color), 0.0)) for color in (one, other)]
        for vision in VISIONS.values()
    ]
    return 100 * min(np.linalg.norm(a - b) for a, b in seen)


def contrast(one, other):
    """As the Web Content Accessibility Guidelines define it."""
    low, high = sorted(linear(color) @ [0.2126, 0.7152, 0.0722] for color in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["color", "dark"])
def test_colours_stay_apart_for_everybody(theme):
    registered = list(BUILT_IN)
    looks = dict(zip(registered, policy_looks(registered), strict=True))
    for one, other in itertools.combinations(registered, 2):
        apart = distance(getattr(looks[one], theme), getattr(looks[other], theme))
        if one in COMPARED and other in COMPARED:
            assert apart > 7.9, (one, other)
        assert apart > 6.5 or looks[one].marker != looks[other].marker, (one, other)
    paper = {"color": "#ffffff", "dark": DARK["#ffffff"]}[theme]
    assert all(contrast(getattr(look, theme), paper) > 3.0 for look in looks.values())


def test_every_policy_has_a_look_of_its_own():
    registered = list(BUILT_IN)
    assert len(registered) >= 22
    alone = [policy_looks([name])[0] for name in registered]
    assert alone == policy_looks(registered)  # none gave way
    assert len(set(alone)) == len(alone)


def test_the_first_four_are_as_promised():
    for name, strongest in {"trace-ucb": 2, "trace-gain": 1}.items():
        for color in (policy_looks([name])[0].color, policy_looks([name])[0].dark):
            assert np.argmax(linear(color)) == strongest
    grey, black = policy_looks(["uniform", "oracle"])
    assert contrast(black.color, "#000000") < 1.5
    assert contrast(black.dark, "#ffffff") < 1.3
    assert np.ptp(linear(grey.color)) < 0.1


def test_other_settings_keep_the_marker_and_differ():
    specs = [
        "trace-ucb",
        *(f"trace-ucb:width={width}" for width in (0, 0.5, 2, "chi-square", "theory:bound=3")),
    ]
    looks = policy_looks(specs)
    assert looks[0] == policy_looks(["trace-ucb"])[0]
    assert {look.marker for look in looks} == {"o"}
    assert len({(look.color, str(look.dash)) for look in looks}) == len(specs)
    assert policy_looks(["oracle:noise=1,2"]) == policy_looks(["oracle"])  # told, not set


def test_own_policies_differ_from_the_usual_ones_and_from_each_other():
    names = [*COMPARED, *(f"mine-{number}" for number in range(8))]
    looks = policy_looks(names)
    assert len({(look.color, str(look.dash)) for look in looks}) == len(names)
    for mine, usual in itertools.product(looks[5:], looks[:5]):
        assert distance(mine.color, usual.color) > 6.5 or mine.marker != usual.marker
    assert policy_looks(["mine-3"]) == policy_looks(["mine-3", "mine-4"])[:1]


def test_every_colour_has_a_twin_for_dark_pages():
    specs = [f"{name}{settings}" for name in list(BUILT_IN) for settings in ("", ":a=1", ":a=2", ":a=3")]
    for look in policy_looks([*specs, *(f"mine-{number}" for number in range(20))]):
        assert DARK[look.color] == look.dark
