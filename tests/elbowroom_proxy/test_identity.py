"""Who may ask, as the operator writes it: every mistake has a file and a line, and no key stands anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from elbowroom.decide.signature import LabelKey
from elbowroom.errors import InvalidConfig
from elbowroom.records import Principal
from elbowroom_proxy.settings import Settings, load
from tests.issuer import Issuer

MODELS = "model_list: [{model_name: m, litellm_params: {model: gpt-4o}}]\n"
ONE, TWO = "ab" * 32, "cd" * 32


def made(folder: Path, text: str, models: str = MODELS, **environ: str) -> Settings:
    file = folder / "elbowroom.yaml"
    file.write_text(models + text)
    return load(file, environ)


def test_without_any_everybody_may_ask(tmp_path: Path):
    found = made(tmp_path, "").identities
    assert (found.keys, found.jwt, found.label_keys, found.closed) == ({}, None, {}, False)


def test_a_key_has_rights(tmp_path: Path):
    found = made(
        tmp_path,
        f"""\
keys:
  - name: ann
    sha256: {ONE}
    tenant: acme
    groups: [support]
    clearance: internal
    classes: [how_to]
    models: [m]
    tools: [find]
    on_missing_label: {{faq: "assume:public", default: deny}}
  - {{name: svc, sha256: os.environ/SVC}}
  - {{name: gone, sha256: {"ef" * 32}, blocked: true}}
""",
        SVC=TWO.upper(),
    ).identities
    assert found.closed
    assert found.keys == {
        ONE: Principal(
            "ann", "acme", ("support",), "internal", ("how_to",), ("m",), ("find",), keyed=True,
            on_missing_label={"faq": "assume:public", "default": "deny"},
        ),
        TWO: Principal("svc", keyed=True),
    }  # fmt: skip


def test_keys_that_are_all_blocked_let_nobody_in(tmp_path: Path):
    found = made(tmp_path, f"keys: [{{name: gone, sha256: {ONE}, blocked: true}}]\n").identities
    assert (found.keys, found.closed) == ({}, True)


def test_an_issuers_keys_lie_beside_or_elsewhere(tmp_path: Path):
    (tmp_path / "jwks.json").write_text(Issuer().jwks)
    issuer = "jwt: {issuer: i, audience: a, jwks: %s}\n"
    here = made(tmp_path, issuer % "jwks.json").identities
    there = made(tmp_path, issuer % "https://id.example/jwks").identities
    assert here.closed
    assert here.jwt is not None
    assert there.jwt is not None
    assert (here.jwt.jwks, there.jwt.jwks) == (str(tmp_path / "jwks.json"), "https://id.example/jwks")


def test_labels_keys_are_read(tmp_path: Path):
    text = "label_keys: [{kid: r1, tenant: acme, secret: os.environ/R1}]\n"
    found = made(tmp_path, text, R1="0123456789abcdef").identities
    assert found.label_keys == {"r1": LabelKey("acme", b"0123456789abcdef")}
    assert not found.closed


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("keys:\n  - {name: a, sha256: sk-secret}\n", 3, "64 hexadecimal digits"),
        (f"keys:\n  - {{name: a, sha256: {'g' * 64}}}\n", 3, "64 hexadecimal digits"),
        (f"keys:\n  - {{name: a, sha256: {ONE}}}\n  - {{name: b, sha256: {ONE.upper()}}}\n", 4, "another key"),
        (f"keys:\n  - {{name: a, sha256: {ONE}}}\n  - {{name: a, sha256: {TWO}}}\n", 4, "another key"),
        (f"keys:\n  - {{name: a, sha256: {ONE}, tenant: t}}\n", 3, "needs a clearance"),
        (f"keys:\n  - {{name: a, sha256: {ONE}, tenant: t, clearance: top}}\n", 3, "no label top"),
        (f"keys:\n  - {{name: a, sha256: {ONE}, classes: [x]}}\n", 3, "no class x"),
        (f"keys:\n  - {{name: a, sha256: {ONE}, models: [x]}}\n", 3, "no model x"),
        (f"keys:\n  - name: a\n    sha256: {ONE}\n    on_missing_label: {{default: 'assume:x'}}\n", 5, "no label x"),
        (f"keys:\n  - {{name: a, sha256: {ONE}, key: sk-secret}}\n", 3, "no such key"),
        ("jwt: {issuer: i, audience: a, jwks: none.json}\n", 2, "no such file"),
        ("jwt: {issuer: i, audience: a, jwks: https://i.example, algorithms: [HS256]}\n", 2, "HS256"),
        ("jwt: {issuer: i, audience: a, jwks: https://i.example, classes: [x]}\n", 2, "no class x"),
        ("jwt: {issuer: i, jwks: https://i.example}\n", 2, "audience"),
        ("label_keys:\n  - {kid: r, tenant: t, secret: short}\n", 3, "16 characters"),
        ("label_keys:\n" + "  - {kid: r, tenant: t, secret: 0123456789abcdef}\n" * 2, 4, "another key"),
        ("reranker: {api_base: http://x, shape: tei, accepts: [x]}\n", 2, "no label x"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, text: str, line: int, what: str):
    with pytest.raises(InvalidConfig, match=what) as error:
        made(tmp_path, text)
    assert error.value.message.startswith(f"{tmp_path / 'elbowroom.yaml'}:{line}: ")
    assert "sk-secret" not in error.value.message


def test_a_model_accepts_labels_of_the_policy(tmp_path: Path):
    models = "model_list: [{model_name: m, litellm_params: {model: gpt-4o}, model_info: {accepts: [%s]}}]\n"
    assert made(tmp_path, "", models % "restricted").catalog.find("m").accepts == ("restricted",)
    with pytest.raises(InvalidConfig, match="no label x"):
        made(tmp_path, "", models % "x")


def test_documents_that_nobody_reads_cannot_be_checked(tmp_path: Path, root: Path):
    policy = yaml.safe_load((root / "config" / "policy.yaml").read_text("utf-8"))
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**policy, "documents": "upstream"}))
    general = "general_settings: {policy: policy.yaml}\n"
    assert made(tmp_path, general).policy.documents == "upstream"
    with pytest.raises(InvalidConfig, match="nobody's access"):
        made(tmp_path, f"{general}keys: [{{name: a, sha256: {ONE}}}]\n")


def test_what_the_documentation_shows_can_be_written(tmp_path: Path, root: Path):
    shown = re.findall(
        r"^```yaml\n(.*?)^```$", (root / "docs" / "access.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    models = "model_list: [{model_name: gpt-4o, litellm_params: {model: gpt-4o}}]\n"
    found = made(tmp_path, "".join(shown), models, RETRIEVER_KEY="0123456789abcdef").identities
    assert [one.subject for one in found.keys.values()] == ["support-bot"]
    assert found.jwt is not None
    assert list(found.label_keys) == ["retriever-1"]


def test_what_the_built_in_configuration_says_of_it_can_be_written(tmp_path: Path, root: Path):
    text = (root / "config" / "elbowroom.yaml").read_text("utf-8")
    said = text[text.index("# keys:") : text.index("general_settings:")].replace('"..."', ONE)
    found = made(tmp_path, said.replace("# ", "", 1).replace("\n# ", "\n"), RETRIEVER_KEY="0123456789abcdef").identities
    assert found.closed
    assert (len(found.keys), len(found.label_keys)) == (1, 1)
