"""What is published of models: windows, maxima and prices, from the table that litellm's wheel carries.

Knows: where the table lies, its words, and that `max_input_tokens` means two things in it.
Does not know: litellm itself (the file is read, nothing is imported), the operator's models, or what anything costs.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from elbowroom.price import Price, Tier, micro_usd
from elbowroom.read.catalog import Facts, parted

TABLE = "model_prices_and_context_window_backup.json"
STALE = dt.timedelta(days=180)  # prices change about as often
EMBEDS = "embedding"
MODES = frozenset({"chat", "completion", "responses", EMBEDS})
# Windows as makers publish them. A row whose `max_input_tokens` is none of these, and one of these together with its
# `max_output_tokens`, says what the input alone may have (gpt-5: 272,000 + 128,000); any other says the window.
WINDOWS = frozenset({
    4_096, 8_192, 16_384, 16_385, 32_768, 65_536, 128_000, 131_072, 200_000, 256_000, 262_144, 400_000, 500_000,
    1_000_000, 1_047_576, 1_048_576, 1_050_000, 2_000_000, 2_097_152,
})  # fmt: skip
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


class Table:
    """Rows by litellm's names, each decoded when it is asked for."""

    def __init__(self, rows: Mapping[str, msgspec.Raw], as_of: str) -> None:
        self._rows = rows
        self.as_of = as_of  # YYYY-MM-DD; "" where nobody wrote it down

    def find(self, model: str) -> Facts | None:
        """What is published of `provider/name`, or of a bare name, which is OpenAI's."""
        provider, name = parted(model)
        row = self._row(model) if provider else None
        if row is None:
            # `anthropic/claude-x` is listed as `claude-x`, with a provider whose name begins with `anthropic`.
            row = self._row(name)
            if row is None or not str(row.get("litellm_provider")).startswith(provider or "openai"):
                return None
        return facts(row, self.as_of)

    def _row(self, name: str) -> dict[str, Any] | None:
        raw = self._rows.get(name)
        row: dict[str, Any] | None = None if raw is None else msgspec.json.decode(raw)
        return row if row is not None and row.get("mode") in MODES else None


def facts(row: Mapping[str, Any], as_of: str) -> Facts:
    """One row in our words."""
    most_in, most_out = row.get("max_input_tokens"), row.get("max_output_tokens")
    if row.get("mode") == EMBEDS:
        most_out = 1  # none, and a maximum is at least that
    window, alone = most_in, None
    if most_in and most_out and most_in != most_out and most_in not in WINDOWS and most_in + most_out in WINDOWS:
        window, alone = most_in + most_out, most_in
    return Facts(window, alone, most_out, price(row, as_of), as_of, row.get("deprecation_date"))


def price(row: Mapping[str, Any], as_of: str) -> Price | None:
    """None where the row has no price for text in or out."""
    plain = _tier(row, "", 0)
    if plain is None:
        return None
    above = sorted(int(found[1]) for name in row if (found := _TIER.fullmatch(name)))
    longer = [tier for thousands in above if (tier := _tier(row, f"_above_{thousands}k_tokens", thousands * 1000))]
    reasoning = row.get("output_cost_per_reasoning_token")
    return Price(
        plain.input,
        plain.output,
        cached=plain.cached,
        cache_write=plain.cache_write,
        reasoning=None if reasoning is None else micro_usd(reasoning),
        longer=tuple(longer),
        cache_write_hour=plain.cache_write_hour,
        sound=any(
            row.get(f"{way}_cost_per_audio_token") not in (None, row[f"{way}_cost_per_token"])
            for way in ("input", "output")
        ),
        as_of=as_of,
    )


def _tier(row: Mapping[str, Any], suffix: str, above: int) -> Tier | None:
    def cost(name: str) -> int | None:
        said = row.get(name + suffix)
        return None if said is None else micro_usd(said)

    into, out = cost("input_cost_per_token"), cost("output_cost_per_token")
    if into is None or out is None:
        return None
    return Tier(
        above,
        into,
        out,
        cost("cache_read_input_token_cost"),
        cost("cache_creation_input_token_cost"),
        cost("cache_creation_input_token_cost_above_1hr"),
    )


def stale(found: Facts, today: dt.date) -> str | None:
    """Why these facts may no longer hold; None where nothing says so."""
    if found.deprecated is not None and found.deprecated <= today.isoformat():
        return f"its maker withdrew it on {found.deprecated}"
    if found.as_of and dt.date.fromisoformat(found.as_of) + STALE < today:
        return f"the table of prices and windows is of {found.as_of}"
    return None


def published(model: str) -> Facts | None:
    """What the installed table says of `provider/name`; the demo's models are nobody's, so it is not read for them."""
    return None if model.startswith("demo/") else bundled().find(model)


@cache
def bundled() -> Table:
    """The installed litellm's table; one without rows where there is none."""
    spec = importlib.util.find_spec("litellm")
    file = Path(spec.origin).parent / TABLE if spec is not None and spec.origin is not None else Path(TABLE)
    if not file.is_file():
        return Table({}, "")
    return Table(msgspec.json.decode(file.read_bytes(), type=dict[str, msgspec.Raw]), _released())


def _released() -> str:
    """The day on which that wheel was built, as its bill of materials says."""
    files = metadata.files("litellm") or []
    bills = [Path(str(one.locate())) for one in files if one.name.endswith(".cyclonedx.json")]
    for bill in filter(Path.is_file, bills):
        return str(json.loads(bill.read_text("utf-8"))["metadata"]["timestamp"])[:10]
    return ""
