"""Where models are asked, and where their prompts are counted: a row of `model_list` becomes an address.

Knows: which upstreams and counting endpoints there are (their file names), and where a provider is found whose address
nobody wrote down.
Does not know: what is sent there, or what `os.environ/NAME` stands for (that is told).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from elbowroom.errors import InvalidConfig
from elbowroom.read.catalog import SPEAKS_OPENAI, ModelRow, parted

COUNT_ENDPOINTS = frozenset(one.stem for one in (Path(__file__).parent / "endpoints").glob("[a-z]*.py"))
UPSTREAMS = frozenset(one.stem for one in (Path(__file__).parent / "upstreams").glob("[a-z]*.py"))

Fault = Callable[[str, str], InvalidConfig]  # (path, what) -> the error with file and line
Resolve = Callable[[str, str | None], str | None]  # (path, word) -> what an `os.environ/NAME` stands for


class Endpoint(Struct, frozen=True):
    """What one upstream is built from. Equal endpoints share connections and limits."""

    upstream: str  # file name in `upstreams/`
    api_base: str | None
    api_key: str | None
    connect_timeout: float
    first_byte_timeout: float
    total_timeout: float
    max_concurrency: int
    max_queue: int
    api_version: str | None = None


class CountEndpoint(Struct, frozen=True):
    """Where one model's provider is asked to count."""

    endpoint: str  # file name in `endpoints/`
    api_base: str | None  # None: the provider's own
    api_key: str | None
    model: str  # as the provider says it


class Meter(Protocol):
    """How an upstream in this process bills: by the same rules that the proxy counts by."""

    def prompt(self, body: Mapping[str, Any]) -> Awaitable[int]:
        """Prompt tokens of a chat body."""

    def text(self, text: str, model: str) -> Awaitable[int]:
        """Tokens of one text, by that model's vocabulary."""


class Patience(Protocol):
    """How long an upstream is waited for, in seconds, and how many requests it is sent at once."""

    @property
    def connect_timeout(self) -> float: ...
    @property
    def first_byte_timeout(self) -> float: ...
    @property
    def total_timeout(self) -> float: ...
    @property
    def max_concurrency(self) -> int: ...
    @property
    def max_queue(self) -> int: ...


def endpoint(at: str, row: ModelRow, upstream: str, patience: Patience, fault: Fault, resolve: Resolve) -> Endpoint:
    """Of the row that stands at `at`. Raises what `fault` makes of a mistake."""
    if upstream not in UPSTREAMS:
        raise fault(
            f"{at}.litellm_params.model", f"there is no upstream {upstream}; there are {', '.join(sorted(UPSTREAMS))}"
        )
    params = f"{at}.litellm_params"
    api_base = resolve(f"{params}.api_base", row.litellm_params.api_base)
    api_version = resolve(f"{params}.api_version", row.litellm_params.api_version)
    if upstream == "openai":
        api_base = _address(*parted(row.litellm_params.model), api_base, api_version)
        if not api_base.startswith(("http://", "https://")):
            raise fault(f"{params}.api_base", "must begin with http:// or https://")
    return Endpoint(
        upstream=upstream,
        api_base=api_base,
        api_key=resolve(f"{params}.api_key", row.litellm_params.api_key),
        connect_timeout=patience.connect_timeout,
        first_byte_timeout=patience.first_byte_timeout,
        total_timeout=patience.total_timeout,
        max_concurrency=patience.max_concurrency,
        max_queue=patience.max_queue,
        api_version=api_version,
    )


def _address(provider: str, name: str, api_base: str | None, api_version: str | None) -> str:
    """Where that provider speaks OpenAI's protocol. Azure names only the host: versions are asked for by deployment."""
    base = (api_base or SPEAKS_OPENAI.get(provider) or "").rstrip("/")
    if provider == "azure" and base and "/openai" not in base:
        base += f"/openai/deployments/{name}" if api_version else "/openai/v1"
    return base


def count_endpoint(at: str, row: ModelRow, fault: Fault, resolve: Resolve) -> CountEndpoint | None:
    """Of the row that stands at `at`; None where it names none. Raises what `fault` makes of a mistake."""
    name, params = row.model_info.count_endpoint, row.litellm_params
    if name is None:
        return None
    if name not in COUNT_ENDPOINTS:
        known = ", ".join(sorted(COUNT_ENDPOINTS))
        raise fault(f"{at}.model_info.count_endpoint", f"there is no endpoint {name}; there are {known}")
    api_base = resolve(f"{at}.litellm_params.api_base", params.api_base)
    if api_base is None and name == "vllm":
        raise fault(f"{at}.litellm_params", "api_base is needed: a server of your own has no other address")
    return CountEndpoint(
        endpoint=name,
        api_base=api_base.rstrip("/") if api_base else None,
        api_key=resolve(f"{at}.litellm_params.api_key", params.api_key),
        model=parted(params.model)[1],
    )
