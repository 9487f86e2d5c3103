"""What a picture costs: by tiles or by patches, from its size in pixels.

Knows: the formulas that OpenAI publishes (platform.openai.com/docs/guides/images-vision, "Calculating costs"), and
where PNG, JPEG, GIF and WebP say how large they are.
Does not know: pixels, networks. A remote picture is never fetched: it costs what the largest would.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Protocol

from msgspec import Struct

Size = tuple[int, int]  # width and height in pixels

HEADER_CHARS = 1 << 20  # base64 characters of a JPEG that are searched for its frame; PNG needs 32


class Images(Protocol):
    """How one family bills pictures."""

    def tokens(self, size: Size | None, *, low: bool) -> int:
        """Tokens of a picture; of the dearest there is where `size` is unknown. `low` is the client's wish."""


class Tiles(Struct, frozen=True):
    """A base and a price for each tile of 512 pixels, after fitting into 2048 x 2048 and a short side of 768."""

    base: int
    tile: int

    def tokens(self, size: Size | None, *, low: bool) -> int:
        if low:
            return self.base
        if size is None:
            return self.base + 8 * self.tile  # 2048 x 768
        width, height = size
        scale = min(1.0, 2048 / max(width, height))
        scale = min(scale, 768 / min(width, height))
        across, down = (max(1, int(side * scale)) for side in size)
        return self.base + self.tile * math.ceil(across / 512) * math.ceil(down / 512)


class Patches(Struct, frozen=True):
    """Patches of 32 pixels, at most 1536 of them, times the family's factor; a mark at either end of the picture."""

    factor: float

    def tokens(self, size: Size | None, *, low: bool) -> int:  # noqa: ARG002 - these families have no low detail
        return int(self.factor * (1536 if size is None else self._patches(*size))) + 2

    @staticmethod
    def _patches(width: int, height: int) -> int:
        patches = math.ceil(width / 32) * math.ceil(height / 32)
        if patches <= 1536:
            return patches
        scale = math.sqrt(32 * 32 * 1536 / (width * height))
        across, down = width * scale / 32, height * scale / 32
        if min(across, down) < 1:  # a line; no recording shows one, so it costs the most
            return 1536
        scale *= min(math.floor(across) / across, math.floor(down) / down)
        return min(1536, math.ceil(width * scale / 32) * math.ceil(height * scale / 32))


class Widest(Struct, frozen=True):
    """The dearest of several, for a model of which nobody knows how it bills."""

    ways: tuple[Tiles | Patches, ...]

    def tokens(self, size: Size | None, *, low: bool) -> int:
        return max(way.tokens(size, low=low) for way in self.ways)


def data_url_size(url: str) -> Size | None:
    """The size of the picture in a base64 data URL, from its header; None where there is none to be read."""
    head, comma, _ = url[:256].partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    start = len(head) + 1
    for chars in (64, HEADER_CHARS):
        try:
            size = header_size(base64.b64decode(_whole(url[start : start + chars])))
        except (binascii.Error, ValueError):
            return None
        if size is not None:
            return size if min(size) > 0 else None
    return None


def _whole(text: str) -> str:
    return text[: len(text) // 4 * 4]


def header_size(data: bytes) -> Size | None:
    """Width and height as the first bytes of a PNG, GIF, WebP or JPEG tell them."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_size(data)
    if data[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    return None


def _webp_size(data: bytes) -> Size | None:
    """RFC 9649: the lossy, the lossless and the extended form."""
    if data[12:16] == b"VP8 ":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _jpeg_size(data: bytes) -> Size | None:
    """Walks the segments up to the frame header (ITU T.81, B.2.2)."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4])
    return None
