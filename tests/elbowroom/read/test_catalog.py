"""A row of the model list is one model, or an error at its line."""

import pytest

from elbowroom.errors import InvalidConfig, ModelNotFound
from elbowroom.price import Price
from elbowroom.read import yaml
from elbowroom.read.catalog import Catalog, Facts, LitellmParams, Local, ModelInfo, ModelRow
from elbowroom.read.policy import Config
from elbowroom.records import ChatTemplate, Model


class File(Config, frozen=True):
    model_list: tuple[ModelRow, ...]


def model(name="openai/gpt-4o", **info):
    (found,) = Catalog.of([ModelRow("m", LitellmParams(name), ModelInfo(**info))]).models
    return found


def fault(name, **info):
    with pytest.raises(InvalidConfig) as caught:
        model(name, **info)
    return caught.value.param


def test_a_row_says_which_labels_its_model_accepts():
    assert model(accepts=("public", "restricted")).accepts == ("public", "restricted")
    assert model().accepts is None


def test_a_known_name_needs_nothing_else():
    assert model() == Model("m", "openai", "gpt-4o", 128_000, 16_384, "openai_chat", "gpt-4o", "o200k_base")
    assert model("gpt-4o") == model()


def test_what_the_operator_says_comes_first():
    said = model(
        context_window=1000, max_output_tokens=100, counter="claude", family="f", vocabulary="v", upstream="elsewhere"
    )
    assert said == Model("m", "elsewhere", "gpt-4o", 1000, 100, "claude", "f", "v")


def test_a_family_brings_its_vocabulary_and_not_its_window():
    found = model("demo/demo-small", context_window=8192, max_output_tokens=2048, family="gpt-3.5")
    assert found == Model("m", "demo", "demo-small", 8192, 2048, "openai_chat", "gpt-3.5", "cl100k_base")
    assert fault("demo/x", family="gpt-4o", max_output_tokens=5) == "model_list[0].model_info"


def test_an_unmapped_name_is_served_and_not_known():
    found = model("hosted_vllm/org/llama", max_input_tokens=8000, max_output_tokens=1000)
    assert found == Model("m", "openai", "org/llama", 8000, 1000, "bounded", "unknown", "bytes", known=False)


def test_litellms_word_for_the_window_comes_after_ours_and_before_the_names():
    assert model(context_window=7, max_input_tokens=9, max_output_tokens=1).context_window == 7
    assert model(max_input_tokens=9).context_window == 9
    assert model(max_input_tokens=9).max_output_tokens == 9


def test_other_providers_go_through_litellm_by_their_whole_name():
    found = model("anthropic/claude", context_window=9, max_output_tokens=9)
    assert (found.upstream, found.upstream_model) == ("litellm", "anthropic/claude")


@pytest.mark.parametrize(
    ("name", "info", "param"),
    [
        ("", {}, "model_list[0].litellm_params.model"),
        ("openai/", {}, "model_list[0].litellm_params.model"),
        ("x", {"max_output_tokens": 5}, "model_list[0].model_info"),
        ("x", {"context_window": 5}, "model_list[0].model_info"),
        ("x", {"context_window": 5, "max_output_tokens": 6}, "model_list[0].model_info.max_output_tokens"),
    ],
)
def test_what_nobody_knows_must_be_said(name, info, param):
    assert fault(name, **info) == param


def published(facts):
    rows = [ModelRow("m", LitellmParams("anthropic/claude-x"))]
    (found,) = Catalog.of(rows, published={"anthropic/claude-x": facts}.get).models
    return found


def test_what_is_published_holds_where_the_row_is_silent():
    price = Price(3_000_000, 15_000_000)
    found = published(Facts(1_000, 700, 300, price))
    assert (found.context_window, found.max_input_tokens, found.max_output_tokens) == (1_000, 700, 300)
    assert found.price == price
    with pytest.raises(InvalidConfig, match="context_window is needed"):
        published(Facts(None, None, 300))


def test_a_row_comes_before_what_is_published():
    info = ModelInfo(context_window=900, input_cost_per_token=1e-6, output_cost_per_token=2.5e-6)
    facts = Facts(1_000, 700, 300, Price(3, 15))
    (found,) = Catalog.of([ModelRow("m", LitellmParams("a/b"), info)], published=lambda _: facts).models
    # The published limit on input belongs to the published window.
    assert (found.context_window, found.max_input_tokens, found.max_output_tokens) == (900, None, 300)
    assert found.price == Price(1_000_000, 2_500_000)


def test_prices_are_whole_numbers():
    said = model(
        input_cost_per_token=1.25e-7,
        output_cost_per_token=0,
        cache_read_input_token_cost=3e-8,
        cache_creation_input_token_cost=3.75e-06,
        output_cost_per_reasoning_token=0.1,
    )
    assert said.price == Price(125_000, 0, cached=30_000, cache_write=3_750_000, reasoning=100_000_000_000)


@pytest.mark.parametrize("name", ["input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost"])
def test_half_a_price_is_none(name):
    assert fault("gpt-4o", **{name: 1e-6}) == "model_list[0].model_info"


def test_a_deployments_name_may_stand_for_a_model():
    found = model("azure/ours", base_model="azure/gpt-4o")
    assert (found.upstream_model, found.family, found.context_window) == ("ours", "gpt-4o", 128_000)


@pytest.mark.parametrize("name", ["groq/x", "azure/x", "hosted_vllm/org/x", "openrouter/openai/x"])
def test_who_speaks_openais_protocol_is_asked_in_it(name):
    assert model(name, context_window=9, max_output_tokens=9).upstream == "openai"


def test_names_are_found_exactly():
    rows = [ModelRow(name, LitellmParams("gpt-4o")) for name in ("b", "a", "org/a")]
    catalog = Catalog.of(rows)
    assert [found.name for found in catalog.models] == ["b", "a", "org/a"]
    assert catalog.find("org/a").name == "org/a"
    for name in ("A", "", "c"):
        with pytest.raises(ModelNotFound) as caught:
            catalog.find(name)
        assert (caught.value.code, caught.value.status_hint, caught.value.param) == ("model_not_found", 404, "model")


def test_errors_name_the_line():
    text = """model_list:
- model_name: a
  litellm_params: {model: gpt-4o}
- model_name: NAME
  litellm_params: {model: x}
"""
    marked = yaml.read(text.replace("NAME", "a"), "e.yaml", File)
    with pytest.raises(InvalidConfig, match=r"^e.yaml:4: there is another model a \(model_list\[1\].model_name\)$"):
        Catalog.of(marked.value.model_list, marked.fault)
    marked = yaml.read(text.replace("NAME", "b"), "e.yaml", File)
    with pytest.raises(InvalidConfig, match=r"^e.yaml:4: context_window is needed"):
        Catalog.of(marked.value.model_list, marked.fault)


def test_a_models_own_files_say_how_it_is_counted():
    row = ModelRow(
        model_name="own",
        litellm_params=LitellmParams(model="hosted_vllm/acme/own-7b"),
        model_info=ModelInfo(context_window=8_192, max_output_tokens=1_024, tokenizer="tokenizer.json"),
    )
    held = Local("tokenizer:01234567", ChatTemplate("{{ messages }}"))
    model = Catalog.of([row], local={"own": held}).find("own")
    assert (model.counter, model.family, model.vocabulary) == ("template", "vllm", "tokenizer:01234567")
    assert model.template == held.template
    assert model.known
    assert Catalog.of([row]).find("own").template is None
