"""What a model name stands for, and what is known of a number of tokens.

Knows: the catalog's row, a count with its basis and margin, a count that is not measured yet.
Does not know: any model, how anything is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from elbowroom.price import Price
from elbowroom.records.words import Basis


class ChatTemplate(Struct, frozen=True):
    """How a self-hosted model's prompt is written: its own template, as text, and what the template is given."""

    source: str  # jinja
    tokens: Mapping[str, str] = {}  # `bos_token`, `eos_token`, ...
    variables: Mapping[str, Any] = {}  # the server's default template arguments, e.g. `enable_thinking`
    today: str | None = None  # YYYY-MM-DD, for templates that print the date


class Model(Struct, frozen=True):
    """One row of the catalog: what a model name stands for."""

    name: str  # as clients say it
    upstream: str  # file name in `upstreams/`
    upstream_model: str  # as the upstream says it
    context_window: int  # tokens, shared by prompt and answer
    max_output_tokens: int  # tokens
    counter: str  # file name in `count/`
    family: str  # the framing rules inside that counter, e.g. `gpt-4o`, `gpt-5`, `o-series`
    vocabulary: str  # whose tokens are meant, e.g. `o200k_base`
    known: bool = True  # False: nobody mapped it; counted by the maximum over families, `bounded`
    template: ChatTemplate | None = None  # where the operator gave one
    max_input_tokens: int | None = None  # of the prompt alone, where the provider limits it apart from the window
    price: Price | None = None  # None: nobody said
    accepts: tuple[str, ...] | None = None  # labels of documents that may go there; None: that leave the house


class Count(Struct, frozen=True):
    """Tokens, how they are known, and by how much the bill may differ (tokens, either way)."""

    tokens: int
    basis: Basis
    margin: int = 0


class Learned(Struct, frozen=True):
    """What the last bills of one shape of request have taught, in tokens."""

    largest: int  # the largest difference between bill and count, either way
    bills: int  # how many that is the largest of
    refused: int = 0  # by how much, at least, a count was too low that the upstream refused as too long


class Plan(Struct, frozen=True):
    """A count whose texts are not measured yet: tokens = constant + sum(T(text) for text in texts)."""

    constant: int
    texts: tuple[str, ...]
    basis: Basis
    margin: int = 0
