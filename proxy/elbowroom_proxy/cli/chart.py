"""Curves as an SVG: a small writer for one kind of picture.

Knows: axes, lines, points with labels, one mark on a line.
Does not know: what is drawn. Colours are told apart by those who do not see red and green apart, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10

from msgspec import Struct

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 40, 56
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
TICKS = 5


class Curve(Struct, frozen=True):
    """Points (x, y) in order, a label for each, and the position of the one that is marked."""

    name: str
    points: Sequence[tuple[float, float]]
    labels: Sequence[str]
    mark: int | None = None


def svg(title: str, x: str, y: str, curves: Sequence[Curve]) -> str:
    """The picture; `x` and `y` say what the axes are. Raises ValueError where there is no point at all."""
    xs = [at for curve in curves for at, _ in curve.points]
    ys = [at for curve in curves for _, at in curve.points]
    across, up = _scale(min(xs), max(xs)), _scale(min(ys), max(ys))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 22, title, size=15),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x, anchor="middle"),
        f'<g transform="rotate(-90 16 {HEIGHT / 2:g})">{_text(16, HEIGHT / 2, y, anchor="middle")}</g>',
        *_axes(across, up),
    ]
    for number, curve in enumerate(curves):
        parts += _curve(curve, number, across, up)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """(first, last, step) of round ticks around the range."""
    width = high - low or 1.0
    step = 10.0 ** floor(log10(width / TICKS))
    step *= next(times for times in (1, 2, 5, 10) if width / (step * times) <= TICKS)
    return floor(low / step) * step, -floor(-(low + width) / step) * step, step


def _x(value: float, scale: tuple[float, float, float]) -> float:
    return LEFT + (value - scale[0]) / (scale[1] - scale[0]) * (WIDTH - LEFT - RIGHT)


def _y(value: float, scale: tuple[float, float, float]) -> float:
    return HEIGHT - BOTTOM - (value - scale[0]) / (scale[1] - scale[0]) * (HEIGHT - TOP - BOTTOM)


def _axes(across: tuple[float, float, float], up: tuple[float, float, float]) -> Iterator[str]:
    for value in _ticks(across):
        at = _x(value, across)
        yield f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield _text(at, HEIGHT - BOTTOM + 16, f"{value:g}", anchor="middle")
    for value in _ticks(up):
        at = _y(value, up)
        yield f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
        yield _text(LEFT - 6, at + 4, f"{value:g}", anchor="end")


def _ticks(scale: tuple[float, float, float]) -> list[float]:
    first, last, step = scale
    return [round(first + step * at, 10) for at in range(round((last - first) / step) + 1)]


def _curve(
    curve: Curve, number: int, across: tuple[float, float, float], up: tuple[float, float, float]
) -> Iterator[str]:
    colour = COLOURS[number % len(COLOURS)]
    at = [(_x(x, across), _y(y, up)) for x, y in curve.points]
    yield f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}" fill="none" stroke="{colour}"/>'
    for position, ((x, y), label) in enumerate(zip(at, curve.labels, strict=True)):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        if position == curve.mark:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield _text(x, y - 11, label, anchor="middle", size=10)
    if at:
        yield _text(WIDTH - RIGHT + 12, TOP + 12 + 18 * number, curve.name, colour=colour)


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, colour: str = "#222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">'
        f"{escape(words)}</text>"
    )
