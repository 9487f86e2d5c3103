"""The models that can be asked for: rows as the operator wrote them, each resolved to one `Model`.

Knows: LiteLLM's words for a model list, and what may be left out because the model's name says it.
Does not know: which upstreams exist, what `os.environ/NAME` holds, where facts come from, or how anything is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from elbowroom.errors import InvalidConfig, ModelNotFound
from elbowroom.price import Price, micro_usd
from elbowroom.read.families import SELF_HOSTED, UNKNOWN, Family, family_of
from elbowroom.read.policy import Config, PositiveTokens
from elbowroom.records import ChatTemplate, Model

# Providers, in LiteLLM's spelling, that speak OpenAI's protocol themselves, and where; None: the operator says.
SPEAKS_OPENAI: Mapping[str, str | None] = {
    "": "https://api.openai.com/v1",
    "openai": "https://api.openai.com/v1",
    "azure": None,
    "hosted_vllm": None,
    "lm_studio": None,
    "llamafile": None,
    "ai21": "https://api.ai21.com/studio/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "dashscope": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "deepinfra": "https://api.deepinfra.com/v1/openai",
    "deepseek": "https://api.deepseek.com/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "groq": "https://api.groq.com/openai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "novita": "https://api.novita.ai/v3/openai",
    "nvidia_nim": "https://integrate.api.nvidia.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "perplexity": "https://api.perplexity.ai",
    "sambanova": "https://api.sambanova.ai/v1",
    "together_ai": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
    "zai": "https://api.z.ai/api/paas/v4",
}
UsdPerToken = Annotated[float, Meta(ge=0)]


class LitellmParams(Config, frozen=True):
    """Where the model is: `model` is `provider/name`."""

    model: str
    api_base: str | None = None
    api_key: str | None = None
    api_version: str | None = None


class ModelInfo(Config, frozen=True):
    """What the name does not say. Windows and maxima in tokens.

    `context_window` is shared by prompt and answer. `max_input_tokens` is LiteLLM's word for that or for less, so it is
    taken for the window only where nothing better is known: then it errs to the safe side.
    """

    context_window: PositiveTokens | None = None
    max_input_tokens: PositiveTokens | None = None
    max_output_tokens: PositiveTokens | None = None
    upstream: str | None = None  # file name in `upstreams/`
    counter: str | None = None  # file name in `count/`
    family: str | None = None
    vocabulary: str | None = None
    count_endpoint: str | None = None  # file name in `endpoints/`: how this model's provider is asked to count
    # A self-hosted model's own files, beside the configuration or by absolute path, and its server's defaults.
    tokenizer: str | None = None  # tokenizer.json
    chat_template: str | None = None  # chat_template.jinja or tokenizer_config.json; else whichever lies beside it
    chat_template_kwargs: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it for each instance
    base_model: str | None = None  # what a deployment's name stands for, e.g. azure/gpt-4o
    accepts: tuple[str, ...] | None = None  # access labels; documents under others never go there
    # LiteLLM's words for prices, in USD a token. The first two belong together.
    input_cost_per_token: UsdPerToken | None = None
    output_cost_per_token: UsdPerToken | None = None
    cache_read_input_token_cost: UsdPerToken | None = None
    cache_creation_input_token_cost: UsdPerToken | None = None
    output_cost_per_reasoning_token: UsdPerToken | None = None


class ModelRow(Config, frozen=True):
    """One entry of `model_list`."""

    model_name: str
    litellm_params: LitellmParams
    model_info: ModelInfo = ModelInfo()


class Local(Struct, frozen=True):
    """What a self-hosted model's files hold."""

    vocabulary: str
    template: ChatTemplate


class Facts(Struct, frozen=True):
    """What is published of a model; None where nobody says."""

    context_window: int | None = None
    max_input_tokens: int | None = None  # of the prompt alone, where that is less than the window
    max_output_tokens: int | None = None
    price: Price | None = None
    as_of: str = ""  # YYYY-MM-DD
    deprecated: str | None = None  # YYYY-MM-DD, from when on its maker does not serve it


def nothing_published(_: str) -> Facts | None:
    """For a catalog that knows only what its rows and the models' names say."""
    return None


Fault = Callable[[str, str], InvalidConfig]  # (path, what) -> the error with file and line


def _unplaced(path: str, what: str) -> InvalidConfig:
    return InvalidConfig(f"{what} ({path})", param=path)


class Catalog(Struct, frozen=True):
    """Model names, exactly as clients say them -> models."""

    by_name: Mapping[str, Model]

    @classmethod
    def of(
        cls,
        rows: Iterable[ModelRow],
        fault: Fault = _unplaced,
        path: str = "model_list",
        local: Mapping[str, Local] | None = None,
        published: Callable[[str], Facts | None] = nothing_published,
    ) -> Catalog:
        """`local` is by model name; `published` is asked for `provider/name`, and answers where a row is silent.

        Raises whatever `fault` makes of a row that is there twice or leaves open what nobody knows.
        """
        by_name: dict[str, Model] = {}
        for i, row in enumerate(rows):
            if row.model_name in by_name:
                raise fault(f"{path}[{i}].model_name", f"there is another model {row.model_name}")
            by_name[row.model_name] = _model(row, fault, f"{path}[{i}]", (local or {}).get(row.model_name), published)
        return cls(by_name)

    @property
    def models(self) -> tuple[Model, ...]:
        """In the operator's order."""
        return tuple(self.by_name.values())

    def find(self, name: str) -> Model:
        """Raises `ModelNotFound`."""
        try:
            return self.by_name[name]
        except KeyError:
            raise ModelNotFound("There is no model of that name here.", param="model") from None


def known_as(row: ModelRow) -> str:
    """The name by which others speak of a row's model."""
    return row.model_info.base_model or row.litellm_params.model


def _model(
    row: ModelRow, fault: Fault, path: str, local: Local | None, published: Callable[[str], Facts | None]
) -> Model:
    info = row.model_info
    provider, name = parted(row.litellm_params.model)
    if not name:
        raise fault(f"{path}.litellm_params.model", "a model's name is missing")
    upstream = info.upstream or _upstream(provider)
    named = family_of(known_as(row))
    facts = published(known_as(row)) or Facts()
    mapped = family_of(info.family) if info.family else named
    if local is not None:
        mapped = Family(info.family or SELF_HOSTED, local.vocabulary, "template")
    window = info.context_window or info.max_input_tokens or facts.context_window or named.context_window
    if window is None:
        raise fault(f"{path}.model_info", f"context_window is needed: nothing is known of {row.litellm_params.model}")
    output = info.max_output_tokens or facts.max_output_tokens or named.max_output_tokens
    if output is None:
        raise fault(
            f"{path}.model_info", f"max_output_tokens is needed: nothing is known of {row.litellm_params.model}"
        )
    if info.max_output_tokens is not None and info.max_output_tokens > window:
        raise fault(f"{path}.model_info.max_output_tokens", "must not be more than the context window")
    family = info.family or mapped.family
    return Model(
        name=row.model_name,
        upstream=upstream,
        upstream_model=row.litellm_params.model if upstream == "litellm" else name,
        context_window=window,
        max_output_tokens=min(output, window),
        counter=info.counter or mapped.counter,
        family=family,
        vocabulary=info.vocabulary or mapped.vocabulary,
        known=family != UNKNOWN.family,
        template=local.template if local is not None else None,
        max_input_tokens=facts.max_input_tokens if window == facts.context_window else None,
        price=_price(info, fault, path) or facts.price,
        accepts=info.accepts,
    )


def _price(info: ModelInfo, fault: Fault, path: str) -> Price | None:
    """The operator's own."""
    into, out = info.input_cost_per_token, info.output_cost_per_token
    rest = (
        info.cache_read_input_token_cost,
        info.cache_creation_input_token_cost,
        info.output_cost_per_reasoning_token,
    )
    if into is None or out is None:
        if any(cost is not None for cost in (into, out, *rest)):
            raise fault(f"{path}.model_info", "input_cost_per_token and output_cost_per_token must both be given")
        return None
    cached, cache_write, reasoning = (None if cost is None else micro_usd(cost) for cost in rest)
    return Price(micro_usd(into), micro_usd(out), cached, cache_write, reasoning)


def parted(model: str) -> tuple[str, str]:
    """(provider, name) of `provider/name`; without a provider it is OpenAI's. A name may hold slashes."""
    provider, slash, name = model.partition("/")
    return (provider, name) if slash else ("", model)


def _upstream(provider: str) -> str:
    if provider == "demo":
        return "demo"
    return "openai" if provider in SPEAKS_OPENAI else "litellm"
