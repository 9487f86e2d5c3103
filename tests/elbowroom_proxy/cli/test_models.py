"""`elbowroom models` on a configuration of one's own."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from elbowroom_proxy import settings
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import models

MINE = """\
model_list:
  - {model_name: five, litellm_params: {model: openai/gpt-5}}
  - model_name: house
    litellm_params: {model: hosted_vllm/org/name, api_base: http://127.0.0.1:9/v1}
    model_info: {context_window: 32768, max_output_tokens: 4096}
  - model_name: priced
    litellm_params: {model: hosted_vllm/org/other, api_base: http://127.0.0.1:9/v1}
    model_info: {context_window: 32768, max_output_tokens: 4096, family: gpt-4o,
      input_cost_per_token: 0.000000125, output_cost_per_token: 0.000012}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path / "mine.yaml"


def test_models_are_set_out_in_columns(file, capsys):
    assert main(["models", str(file)]) == 0
    said = capsys.readouterr()
    head, five, house, priced = (line.split() for line in said.out.splitlines())
    assert head[:4] == ["model", "upstream", "window", "output"]
    assert five[:7] == ["five", "openai", "400,000", "128,000", "openai_chat", "gpt-5", "modelled"]
    assert five[-1][:2] == "20"
    assert house[1:] == ["openai", "32,768", "4,096", "bounded", "unknown", "bounded", "-", "-", "-"]
    assert priced[5:] == ["gpt-4o", "modelled", "0.125", "12.00", "yours"]
    assert "house is unknown" in said.err
    assert "house has no price" in said.err
    assert "priced has" not in said.err


def test_the_same_as_json(file, capsys):
    assert main(["models", str(file), "--json"]) == 0
    five, house, priced = map(json.loads, capsys.readouterr().out.splitlines())
    assert (five["context_window"], five["max_input_tokens"], five["basis"]) == (400_000, 272_000, "modelled")
    assert (house["price"], house["as_of"], house["upstream_model"]) == (None, None, "org/name")
    assert (priced["price"]["input"], priced["price"]["output"], priced["as_of"]) == (125_000, 12_000_000, "")


def test_the_built_in_models_leave_no_doubts(capsys):
    assert main(["models"]) == 0
    assert capsys.readouterr().err == ""


def test_stale_rows_are_told(file):
    read = settings.load(file, environ={})
    late = dt.date.fromisoformat(read.published["five"].as_of) + dt.timedelta(days=3000)
    assert any(doubt.startswith("five is stale: ") for doubt in models.doubts(read, late))


@pytest.mark.parametrize(
    ("micro", "said"), [(0, "0.00"), (1, "0.000001"), (125_000, "0.125"), (2_500_000, "2.50"), (75_000_000, "75.00")]
)
def test_dollars(micro, said):
    assert models.usd(micro) == said
