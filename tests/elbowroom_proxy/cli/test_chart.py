"""The picture: valid XML with everything in it, at the right place, whatever the names are."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy.cli.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Curve, svg

SVG = "{http://www.w3.org/2000/svg}"
POINTS = [(2.0, 50.0), (6.0, 90.0), (20.0, 92.5)]


def drawn(*curves: Curve) -> ET.Element:
    return ET.fromstring(svg("Title & <more>", "x", "y", curves))


def test_curves_points_labels_and_the_mark():
    root = drawn(Curve("cover 500", POINTS, ["a", "b", "c"], mark=1), Curve("topk 500", POINTS[:2], ["d", "e"]))
    assert len(root.findall(f"{SVG}polyline")) == 2
    circles = root.findall(f"{SVG}circle")
    assert [circle.get("r") for circle in circles].count("3") == 5
    (mark,) = [circle for circle in circles if circle.get("r") == "8"]
    assert (mark.get("cx"), mark.get("cy")) == (circles[1].get("cx"), circles[1].get("cy"))
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"Title & <more>", "x", "y", "a", "e", "cover 500", "topk 500"} <= set(words)


def test_more_is_further_right_and_higher():
    line = drawn(Curve("c", POINTS, ["", "", ""])).find(f"{SVG}polyline")
    assert line is not None
    at = [tuple(map(float, pair.split(","))) for pair in (line.get("points") or "").split()]
    assert [x for x, _ in at] == sorted(x for x, _ in at)
    assert [y for _, y in at] == sorted((y for _, y in at), reverse=True)


def test_one_point_is_a_picture_and_none_is_not():
    assert drawn(Curve("c", [(3.0, 7.0)], ["only"])) is not None
    assert len(drawn(Curve("c", POINTS, ["", "", ""]), Curve("nothing", [], [])).findall(f"{SVG}polyline")) == 2
    with pytest.raises(ValueError):
        svg("t", "x", "y", [])


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=6))
def test_every_point_lies_inside_the_axes(points):
    for circle in drawn(Curve("c", points, [""] * len(points))).findall(f"{SVG}circle"):
        x, y = float(circle.get("cx") or "nan"), float(circle.get("cy") or "nan")
        assert LEFT - 0.1 <= x <= WIDTH - RIGHT + 0.1
        assert TOP - 0.1 <= y <= HEIGHT - BOTTOM + 0.1
