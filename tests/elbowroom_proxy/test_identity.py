"""Who may ask, as the operator writes it: every mistake has a file and a line, and no key stands anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from elbowroom.decide.signature import LabelKey
from elbowroom.errors import InvalidConfig
from elbowroom_proxy.identity import Identities
from elbowroom_proxy.settings import Settings, load
from tests.holders import orgs_text
from tests.issuer import Issuer

MODELS = "model_list: [{model_name: m, litellm_params: {model: gpt-4o}}]\n"

JWT = "jwt:\n  issuer: i\n  audience: a\n  jwks: https://i.example"


def made(folder: Path, text: str, models: str = MODELS, **environ: str) -> Settings:
    file = folder / "elbowroom.yaml"
    file.write_text(models + text)
    return load(file, environ)


def test_without_any_everybody_may_ask(tmp_path: Path):
    found = made(tmp_path, "")
    assert (found.identities, found.closed) == (Identities(), False)


def test_an_issuers_keys_lie_beside_or_elsewhere(tmp_path: Path):
    (tmp_path / "jwks.json").write_text(Issuer().jwks)
    issuer = "jwt: {issuer: i, audience: a, jwks: %s}\n"
    (tmp_path / "orgs.yaml").write_text(orgs_text())
    assert made(tmp_path, issuer % "jwks.json").closed
    here = made(tmp_path, issuer % "jwks.json").identities
    there = made(tmp_path, issuer % "https://id.example/jwks").identities
    assert here.jwt is not None
    assert there.jwt is not None
    assert (here.jwt.jwks, there.jwt.jwks) == (str(tmp_path / "jwks.json"), "https://id.example/jwks")


def test_labels_keys_are_read(tmp_path: Path):
    text = "label_keys: [{kid: r1, tenant: acme, secret: os.environ/R1}]\n"
    found = made(tmp_path, text, R1="0123456789abcdef")
    assert found.identities.label_keys == {"r1": LabelKey("acme", b"0123456789abcdef")}
    assert not found.closed


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("jwt: {issuer: i, audience: a, jwks: none.json}\n", 2, "no such file"),
        ("jwt: {issuer: i, audience: a, jwks: https://i.example, algorithms: [HS256]}\n", 2, "HS256"),
        ("jwt: {issuer: i, audience: a, jwks: https://i.example, classes: [x]}\n", 2, "no class x"),
        ("jwt: {issuer: i, audience: a, jwks: https://i.example, models: [x]}\n", 2, "no model x"),
        (
            "jwt:\n  issuer: i\n  audience: a\n  jwks: https://i.example\n  on_missing_label: {a: 'assume:x'}\n",
            6,
            "no label x",
        ),
        (
            "jwt: {issuer: i, audience: a, jwks: https://i.example, tenants: [a], claims: {tenant: null}}\n",
            2,
            "no claim",
        ),
        ("jwt: {issuer: i, audience: a, jwks: https://i.example}\n", 2, "write orgs.yaml"),
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
    (tmp_path / "orgs.yaml").write_text(orgs_text())
    issuer = "jwt: {issuer: i, audience: a, jwks: https://i.example}\n"
    for general, what in (("policy", "the policy leaves"), ("policies: {x", "the policy x leaves")):
        text = f"general_settings: {{{general}: policy.yaml{'}' if '{' in general else ''}}}\n"
        assert not made(tmp_path, text).closed
        with pytest.raises(InvalidConfig, match=f"{what} documents to the provider, so nobody's access"):
            made(tmp_path, text + issuer)


def shown(root: Path, page: str) -> str:
    """What elbowroom.yaml is shown to say on a page of the documentation."""
    text = (root / "docs" / page).read_text("utf-8")
    return "".join(re.findall(r"^```yaml\n((?:jwt|label_keys):\n.*?)^```$", text, re.DOTALL | re.MULTILINE))


def test_what_the_documentation_shows_can_be_written(tmp_path: Path, root: Path):
    (tmp_path / "orgs.yaml").write_text(orgs_text())
    models = "model_list: [{model_name: gpt-4o, litellm_params: {model: gpt-4o}}]\n"
    found = made(tmp_path, shown(root, "access.md"), models, RETRIEVER_KEY="0123456789abcdef").identities
    assert found.jwt is not None
    assert list(found.label_keys) == ["retriever-1"]


def test_what_the_built_in_configuration_says_of_it_can_be_written(tmp_path: Path, root: Path):
    (tmp_path / "orgs.yaml").write_text(orgs_text())
    text = (root / "config" / "elbowroom.yaml").read_text("utf-8")
    begins = text.index("# jwt:")
    said = text[begins : text.index("\n\n", begins)]
    found = made(tmp_path, said.replace("# ", "", 1).replace("\n# ", "\n"), RETRIEVER_KEY="0123456789abcdef").identities
    assert found.jwt is not None
    assert len(found.label_keys) == 1
