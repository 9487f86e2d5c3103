"""A label counts as signed as it was signed: this document, this label, by a key of its tenant, not long ago."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from elbowroom.decide.signature import LabelKey, canonical, fault, sign
from elbowroom.read.documents import read_documents
from elbowroom.records import Document

NOW, KEYS = 1_800_000_000.0, {"r1": LabelKey("acme", b"secret"), "r2": LabelKey("other", b"secret")}
LABEL = {"tenant": "acme", "label": "internal", "kid": "r1", "iat": 1_800_000_000}


def signed(document: Document, secret: bytes = b"secret") -> Document:
    return structs.replace(document, access={**(document.access or {}), "sig": sign(document, secret)})


DOCUMENT = signed(Document(0, "kb-1", 'Zwölf "Tage".\n', "退款", access=LABEL))


def test_the_canonical_form_is_the_one_that_is_written_down():
    assert (
        canonical(DOCUMENT)
        == (
            '{"access":{"iat":1800000000,"kid":"r1","label":"internal","tenant":"acme"},"id":"kb-1","text_sha256":"'
            + hashlib.sha256('Zwölf "Tage".\n'.encode()).hexdigest()
            + '","title":"退款"}'
        ).encode()
    )
    assert sign(DOCUMENT, b"k") == hmac.new(b"k", canonical(DOCUMENT), "sha256").hexdigest()
    assert b'"title":null' in canonical(Document(0, "x", None))


def test_the_example_in_the_documentation_signs(root: Path):
    [example] = re.findall(
        r"^```python\n(.*?)^```$", (root / "docs" / "access.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    names: dict[str, Any] = {}
    exec(example, names)
    plain = {"id": "kb", "text": 'Zwölf "Tage".\n\x01', "access": {"tenant": "acme", "users": ["ü"]}}
    for more in ({}, {"title": "退款"}):
        signed = names["sign"]({**plain, **more}, "r1", b"secret")
        [document] = read_documents([signed], 1)
        assert fault(document, KEYS, 3600, time.time()) is None
        assert len(example.splitlines()) <= 10


def test_it_holds_within_its_time():
    for now in (NOW - 60, NOW, NOW + 100):
        assert fault(DOCUMENT, KEYS, 100, now) is None
    for late in (NOW - 61, NOW + 101, None):
        assert fault(DOCUMENT, KEYS, 100, late) == "it is too old"
    for never in (10**400, -(10**400)):
        other = signed(structs.replace(DOCUMENT, access={**LABEL, "iat": never}))
        assert fault(other, KEYS, 100, NOW) == "it is too old"


@pytest.mark.parametrize(
    "change", [{"id": "kb-2"}, {"text": "Zwölf Tage."}, {"title": None}, {"position": 0, "title": ""}]
)
def test_another_document_is_not_signed(change: dict[str, Any]):
    assert fault(structs.replace(DOCUMENT, **change), KEYS, 100, NOW) == "it is of something else"


@pytest.mark.parametrize("change", [{"label": "public"}, {"iat": 1_800_000_001}, {"groups": ["all"]}, {"sig": "ü"}])
def test_another_label_is_not_signed(change: dict[str, Any]):
    assert DOCUMENT.access is not None
    other = structs.replace(DOCUMENT, access={**DOCUMENT.access, **change})
    assert fault(other, KEYS, 100, NOW) == "it is of something else"


def test_whose_key_it_is():
    assert fault(DOCUMENT, {}, 100, NOW) == "its key is not known"
    assert fault(signed(structs.replace(DOCUMENT, access={**LABEL, "kid": "r2"})), KEYS, 100, NOW) == (
        "its key is another tenant's"
    )
    assert fault(signed(Document(0, "x", "", access=LABEL), b"other"), KEYS, 100, NOW) == "it is of something else"


def test_none_is_no_fault_and_no_signature():
    assert fault(Document(0, "x", ""), KEYS, 100, NOW) == ""
    assert fault(Document(0, "x", "", access=LABEL), KEYS, 100, NOW) == ""
