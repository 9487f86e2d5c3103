"""An operator's tokenizer.json: nothing added, nothing cut, special tokens read as such."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from elbowroom.errors import CountUnavailable
from elbowroom_proxy import encoders, modelfiles


@pytest.fixture
def file(tmp_path) -> Path:
    """Bytes as tokens, with everything in the file that a server does not want."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|im_start|>", "<s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
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
