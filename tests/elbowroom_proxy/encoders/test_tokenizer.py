"""An operator's tokenizer.json: nothing added, nothing cut, special tokens read as such."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from elbowroom.errors import CountUnavailable
from elbowroom_proxy import encoders, modelfiles
from elbowroom_proxy.encoders import tokenizer


@pytest.fixture
def file(tmp_path) -> Path:
    """Bytes as tokens, with everything in the file that a server does not want."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trained = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    trained.add_special_tokens(["<|im_start|>", "<s>"])
    trained.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", trained.token_to_id("<s>"))]
    )
    trained.enable_truncation(4)
    trained.enable_padding(length=64)
    path = tmp_path / "tokenizer.json"
    trained.save(str(path))
    return path


def test_a_text_is_its_tokens_and_no_more(file):
    encoder = encoders.load(modelfiles.vocabulary(file), file)
    assert encoder.quick
    assert encoder.tokens("") == 0
    assert encoder.tokens("hello") == 5
    assert encoder.tokens("<|im_start|>é") == 3
    assert encoder.tokens("\ud800") == 3
    assert encoder.tokens("🏳") == 4
    assert encoder.tokens("a" * 100_000) == 100_000


def test_the_file_must_be_the_one_that_was_named(file):
    name = modelfiles.vocabulary(file)
    file.write_text(file.read_text() + "\n")
    with pytest.raises(CountUnavailable, match="changed"):
        encoders.load(name, file)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(CountUnavailable, match="no file"):
        encoders.load("tokenizer:01234567")
    with pytest.raises(CountUnavailable, match="No such file"):
        encoders.load("tokenizer:01234567", tmp_path / "tokenizer.json")


def test_what_is_no_tokenizer_is_said(tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    with pytest.raises(CountUnavailable, match=hashlib.sha256(b"{}").hexdigest()[:8]):
        encoders.load(modelfiles.vocabulary(file), file)


def test_its_control_tokens_are_the_special_ones_and_other_tags(file, tmp_path):
    assert tokenizer.control_tokens(file) == ("<|im_start|>", "<s>")
    added = [{"content": "<tool>", "special": False}, {"content": "  "}, {"content": "BOS", "special": True}]
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"added_tokens": added}))
    assert tokenizer.control_tokens(other) == ("<tool>", "BOS")
    other.write_text("{}")
    assert tokenizer.control_tokens(other) == ()


@pytest.mark.parametrize("text", ["", "[]", '{"added_tokens": [1]}', '{"added_tokens": [{}]}', "\x00"])
def test_a_file_whose_added_tokens_cannot_be_read_is_refused_by_name(tmp_path, text: str):
    other = tmp_path / "other.json"
    other.write_text(text)
    with pytest.raises(CountUnavailable, match=r"other\.json"):
        tokenizer.control_tokens(other)
    with pytest.raises(CountUnavailable, match=r"no\.json"):
        tokenizer.control_tokens(tmp_path / "no.json")
