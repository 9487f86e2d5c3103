"""Pictures: their size from their first bytes, their price from their size."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.count.openai.images import Patches, Size, Tiles, Widest, data_url_size, header_size

TILES, PATCHES = Tiles(85, 170), Patches(1.62)


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00" * 3


def jpeg(width: int, height: int, before: int = 0) -> bytes:
    filled = b"".join(b"\xff\xe1" + struct.pack(">H", 60_002) + b"\x00" * 60_000 for _ in range(before))
    frame = b"\xff\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\x03" * 10
    return b"\xff\xd8" + filled + frame


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x10\x00\x00\x00" + body + b"\x00" * 8


def url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


HEADERS = [
    png(1126, 488),
    gif(1126, 488),
    jpeg(1126, 488),
    jpeg(1126, 488, before=3),
    webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 1126, 488)),
    webp(b"VP8L", b"\x2f" + struct.pack("<I", 1125 | 487 << 14)),
    webp(b"VP8X", b"\x00" * 4 + (1125).to_bytes(3, "little") + (487).to_bytes(3, "little")),
]


@pytest.mark.parametrize("data", HEADERS, ids=["png", "gif", "jpeg", "jpeg-late", "vp8", "vp8l", "vp8x"])
def test_each_format_tells_its_size(data: bytes) -> None:
    assert data_url_size(url(data)) == (1126, 488)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/cat.png",
        "data:image/png;base64",
        "data:image/png,rawbytes",
        "data:image/png;base64,!!!!",
        "data:image/png;base64,ééééé",
        url(b"BM" + b"\x00" * 60),
        url(png(0, 10)),
        url(webp(b"VP8?", b"\x00" * 16)),
        url(b"\xff\xd8\xff\xda"),
        url(b"\xff\xd8\xff\xe1\x00\x00" + b"\x00" * 60),
        url(png(7, 7)[:20]),
        "",
    ],
)
def test_what_tells_no_size_has_none(text: str) -> None:
    assert data_url_size(text) is None


@given(st.binary(max_size=64) | st.sampled_from(HEADERS).flatmap(lambda h: st.integers(0, 40).map(lambda n: h[:n])))
def test_no_bytes_upset_it(data: bytes) -> None:
    size = header_size(data)
    assert size is None or min(size) >= 0


@pytest.mark.parametrize(
    ("size", "tokens"),
    [((1, 1), 255), ((512, 512), 255), ((513, 512), 425), ((1024, 1024), 765), ((2048, 4096), 1105), (None, 1445)],
)
def test_tiles_as_published(size: Size | None, tokens: int) -> None:
    assert TILES.tokens(size, low=False) == tokens
    assert TILES.tokens(size, low=True) == 85


def test_patches_as_published() -> None:
    assert Patches(1.0).tokens((1024, 1024), low=False) == 1024 + 2
    assert Patches(1.0).tokens((1800, 2400), low=True) == 1452 + 2
    assert PATCHES.tokens(None, low=False) == int(1536 * 1.62) + 2


@given(st.integers(1, 20_000), st.integers(1, 20_000), st.booleans())
def test_no_picture_costs_more_than_one_of_unknown_size(width: int, height: int, low: bool) -> None:
    for images in (TILES, PATCHES, Widest((TILES, PATCHES))):
        assert 0 < images.tokens((width, height), low=low) <= images.tokens(None, low=False)


@pytest.mark.parametrize("size", [(1, 100_000), (100_000, 1), (1, 1)])
def test_the_thinnest_picture_costs_at_least_one_of_each(size: Size) -> None:
    assert TILES.tokens(size, low=False) > 85
    assert PATCHES.tokens(size, low=False) > 2
    assert PATCHES.tokens((1, 100_000), low=False) == PATCHES.tokens(None, low=False)
