"""The files of a self-hosted model, wherever they keep the template."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from elbowroom.read.catalog import ModelInfo
from elbowroom_proxy.modelfiles import Unreadable, read

DAY = dt.date(2026, 2, 3)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "tokenizer.json").write_text("{}")
    return tmp_path


def info(**given) -> ModelInfo:
    return ModelInfo(tokenizer="m/tokenizer.json", **given)


def config(folder: Path, **members) -> None:
    (folder / "m" / "tokenizer_config.json").write_text(json.dumps(members))


def test_a_template_beside_the_tokenizer_is_found(folder):
    (folder / "m" / "chat_template.jinja").write_text("{{ é }}", encoding="utf-8")
    config(folder, chat_template="older", bos_token="<s>", eos_token={"content": "</s>"}, pad_token=None)
    found = read(info(chat_template_kwargs={"enable_thinking": False}), folder, DAY)
    assert found.vocabulary == "tokenizer:44136fa3"
    assert found.template.source == "{{ é }}"
    assert found.template.tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert found.template.variables == {"enable_thinking": False}
    assert found.template.today == "2026-02-03"


def test_a_template_in_the_configuration_is_found(folder):
    config(folder, chat_template="{{ x }}")
    assert read(info(), folder, DAY).template.source == "{{ x }}"
    config(folder, chat_template=[{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}])
    assert read(info(), folder, DAY).template.source == "d"


def test_a_named_template_is_taken(folder):
    (folder / "own.jinja").write_text("own")
    (folder / "own.json").write_text('{"chat_template": "json", "bos_token": "<b>"}')
    assert read(info(chat_template="own.jinja"), folder, DAY).template.source == "own"
    assert read(info(chat_template="own.json"), folder, DAY).template.tokens == {"bos_token": "<b>"}


def test_what_cannot_be_used_is_said_with_its_file(folder):
    with pytest.raises(Unreadable, match=r"chat_template\.jinja: No such file"):
        read(info(), folder, DAY)
    config(folder, bos_token="<s>")
    with pytest.raises(Unreadable, match="no chat_template"):
        read(info(), folder, DAY)
    (folder / "m" / "tokenizer_config.json").write_text("[1]")
    with pytest.raises(Unreadable, match="no chat_template"):
        read(info(), folder, DAY)
    (folder / "m" / "tokenizer_config.json").write_text("{")
    with pytest.raises(Unreadable, match="tokenizer_config"):
        read(info(), folder, DAY)
    (folder / "m" / "tokenizer.json").unlink()
    config(folder, chat_template="x")
    with pytest.raises(Unreadable, match=r"tokenizer\.json: No such file"):
        read(info(), folder, DAY)


def test_bytes_that_are_no_text_are_said(folder):
    (folder / "m" / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(Unreadable, match="UTF-8"):
        read(info(), folder, DAY)
