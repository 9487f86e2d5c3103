"""Vocabularies by name: a kind is a file, and what is not installed is said."""

from __future__ import annotations

import importlib.util

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy import encoders


def test_kinds_are_files():
    assert {"bytes", "ctok", "mistral", "tokenizer"} == encoders.KINDS
    assert set(encoders.NEEDS) < encoders.KINDS


@pytest.mark.parametrize("name", ["", "o300k_base", "../os", "os:x", "encoders"])
def test_what_is_no_kind_is_unknown(name):
    with pytest.raises(CountUnavailable, match="unknown"):
        encoders.load(name)


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert encoders.missing("bytes") is None
    for vocabulary, extra in (("ctok:3.0", "claude"), ("mistral:x", "mistral"), ("tokenizer:x", "local")):
        assert f"elbowroom[{extra}]" in (encoders.missing(vocabulary) or "")
        with pytest.raises(CountUnavailable, match=extra):
            encoders.load(vocabulary)


def test_an_identity_is_a_names_own():
    names = ["bytes", "mistral:tekken_240911", "mistral:tekken_240718", "tokenizer:01234567", "ctok:3.0", "ctok:4.7"]
    found = [encoders.identity(name) for name in names]
    assert len(set(found)) == len(names)
    assert all(len(bytes.fromhex(one)) == 32 for one in found)
