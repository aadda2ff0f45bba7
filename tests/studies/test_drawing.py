"""Figures: nothing is cut off, names do not lie upon each other, and SVG is light or dark."""

import re
from itertools import pairwise

import pytest

from equipoise.studies.colours import DARK, policy_looks
from equipoise.studies.drawing import add_caption, house_style, save
from equipoise.studies.labels import LineEnd, label_lines, spread

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

SPECS = ["uniform", "oracle", "trace-ucb", "trace-ucb:width=theory:bound=3:delta=0.05", "my-$policy"]
CAPTION = "equipoise 0.1.0, NUMERICS 3 · seed 1 · trials (a) 10,000 · ridge λ = 1/n · " + "a long line " * 12


def drawn(values, width=6.4):
    """A panel as ``reproduce a`` draws it."""
    with house_style():
        figure = Figure(figsize=(width, 3.4), layout="constrained")
        add_caption(figure, CAPTION)
        axes = figure.subplots()
        axes.set_yscale("log")
        looks = policy_looks(SPECS)
        for value, look in zip(values, looks, strict=True):
            axes.plot([5, 40], [0.2, value], **look.line)
        ends = [LineEnd(s, 40, v, look.text) for s, v, look in zip(SPECS, values, looks, strict=True)]
        label_lines(axes, ends)
        figure.draw_without_rendering()
    return figure, axes


@pytest.mark.parametrize("values", [(1.0, 2.0, 5.0, 9.0, 50.0), (3.0, 3.0, 3.0, 3.0, 3.0)])
def test_nothing_is_cut_off_and_no_name_lies_upon_another(values):
    figure, axes = drawn(values)
    page = figure.bbox
    texts = [text for text in (*figure.texts, *axes.texts) if text.get_text()]
    assert len(texts) == 1 + len(SPECS)
    boxes = [text.get_window_extent() for text in texts]
    for text, box in zip(texts, boxes, strict=True):
        inside = box.x0 >= 0 and box.x1 <= page.x1 and box.y0 >= 0 and box.y1 <= page.y1
        assert inside, text.get_text()
    for one, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[one + 1 :])
    names = sorted(boxes[1:], key=lambda box: box.y0)
    assert all(box.x0 > axes.get_window_extent().x1 for box in names)  # beside the axes, not in them


def test_names_keep_the_order_of_their_lines():
    wanted = [50.0, 10.0, 11.0, 12.0, 49.0]
    places = spread(wanted, [4.0] * 5, 0.0, 60.0)
    assert sorted(range(5), key=lambda i: places[i]) == sorted(range(5), key=lambda i: wanted[i])
    ordered = sorted(places)
    assert all(b - a >= 4.0 - 1e-9 for a, b in pairwise(ordered))
    assert spread([7.0], [4.0], 0.0, 60.0) == [7.0]


def test_svg_is_light_or_dark_and_the_same_every_time(tmp_path):
    texts = []
    for name in ("one", "two"):
        with house_style():
            svg, png = save(drawn((1, 2, 3, 4, 5))[0], tmp_path, name, title="title", settings="settings")
        texts.append(svg.read_text())
        assert png.read_bytes()[:4] == b"\x89PNG"
    assert texts[0] == texts[1]
    (style,) = re.findall(
        r"<style>\s*@media screen and \(prefers-color-scheme: dark\) (.*?)</style>", texts[0], re.S
    )
    used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", texts[0].replace(style, "")))
    assert used <= set(DARK)  # no colour stays light on a dark page
    for color in used:
        assert f"{DARK[color]} !important" in style
    assert "my-$policy" in texts[0]
