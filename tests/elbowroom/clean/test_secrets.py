"""Each rule finds its kind, wherever it stands, and each is needed."""

from __future__ import annotations

import json

import pytest
import re2

from elbowroom.clean.find import find
from elbowroom.clean.secrets import SECRETS
from tests.planted import FORMS, planted
from tests.planted import SECRETS as KINDS

AROUND = ("{}", "Use {} now.", "值为{}。", '{{"a": "{}", "b": 1}}', "| key | {} |", "KEY='{}'", "x={}&y=1", "`{}`\n")


def test_every_rule_has_a_kind_and_every_kind_a_rule():
    assert {rule.name for rule in SECRETS} == set(KINDS)


@pytest.mark.parametrize(("rule", "form"), [one for one in FORMS if one[0] in KINDS])
def test_what_it_names_is_found_whole_and_by_that_name(rule: str, form: int):
    for seed in map(str, range(12)):
        value, text = planted(rule, form, seed)
        for around in AROUND:
            for said in (value, value.replace("\n", "\\n")):
                whole = around.format(text.replace(value, said))
                ((start, end, name),) = find(whole, ("secrets",))
                assert name == rule, whole
                assert said in whole[start:end], whole
                assert len(said) + 80 > end - start


@pytest.mark.parametrize("at", range(len(SECRETS)), ids=[rule.name for rule in SECRETS])
def test_without_a_rule_its_kind_is_not_found(at: int):
    """The first and the second row for private keys find a whole one and one without its beginning."""
    rule = SECRETS[at]
    others = [re2.compile(one.pattern) for one in SECRETS if one is not rule]
    value, text = planted(rule.name)
    if rule.name == "private_key":
        text = value[: len(value) - 60] if "BEGIN" in rule.pattern else value[60:]
    assert re2.search(rule.pattern, text)
    assert not any(other.search(text) for other in others)


def test_a_key_without_one_of_its_ends_is_found_as_far_as_it_goes():
    value, _ = planted("private_key", 1)
    lines = value.split("\n")
    for text in ("\n".join(lines[:4]), "\n".join(lines[3:]), value[:170], value[150:]):
        ((start, end, name),) = find(text, ("secrets",))
        assert (text[start:end], name) == (text, "private_key")
    assert find("\n".join([*lines[:3], "and then some words"]), ("secrets",))[0][1] == len("\n".join(lines[:3]))


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,\n", " : ")])
def test_what_a_key_was_cut_off_before_stays_json(separators: tuple[str, str]):
    begun = planted("private_key")[0][:150]
    for value in (
        {"key": begun, "certificateAuthorityData": "v"},
        {"key": begun, "v": 1},
        {"a": [begun, "certificate"]},
    ):
        once = json.dumps(value, separators=separators)
        for text in (once, json.dumps(once)):
            ((start, end, _),) = find(text, ("secrets",))
            left = json.loads(f"{text[:start]}gone{text[end:]}")
            assert (left if isinstance(left, dict) else json.loads(left)) == json.loads(
                once.replace(json.dumps(begun), '"gone"')
            )


@pytest.mark.parametrize(
    "text",
    [
        "Paste it between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----.",
        "-----BEGIN PUBLIC KEY-----\nMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQ\n-----END PUBLIC KEY-----",
        "postgres://user:password@localhost/db",
        "https://user:$TOKEN@host.example and https://user:{token}@host.example and https://x:***@host.example",
        "https://user:<password>@host.example",
        "https://host.example:8080/a@b and http://[::1]:80/",
        "https://user:[REDACTED:url_password#1]@host.example",
        "sk-loading-spinner-container-with-a-long-name",
        "the class sk-fading-circle and the file task-9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c.log",
        "aws_secret_access_key = <your key here>",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "6f1ed002-ab5f-42a4-8d5b-7d1c1c2a0f3e",
        "commit 3f76ed1b9c0de4b7f5a2c8e1d09b3a7f6c5e4d2b",
        "npm_config_registry=https://registry.example GH_TOKEN=$GITHUB_TOKEN",
        "eyJhbGciOiJub25lIn0 is the head of a token",
    ],
)
def test_what_only_looks_like_it_stays(text: str):
    assert find(text, ("secrets",)) == ()


@pytest.mark.parametrize(
    "around",
    [
        "aws_secret_access_key = {}",
        '"SecretAccessKey": "{}"',
        "<SecretAccessKey>{}</SecretAccessKey>",
        "aws.secretKey={}",
        "AWS Secret Access Key: {}",
        "| AWS_SECRET_ACCESS_KEY | {} |",
        '"aws_secret_access_key","{}"',
        "aws-secret-key => '{}'",
        "AWS_SECRET_ACCESS_KEY\t{}",
        "aws_secret_access_key：{}。",
        '{{"note":"\\nsecret_access_key={}\\n"}}',
    ],
)
def test_the_secret_of_aws_is_known_by_the_name_before_it(around: str):
    whole = planted("aws_secret", 1)[0]
    for value in (whole, whole[:39] + "/", "+" + whole[1:39] + "+"):
        text = around.format(value)
        assert [(text[start:end], name) for start, end, name in find(text, ("secrets",))] == [(value, "aws_secret")]
    assert find(around.format(whole + "A"), ("secrets",)) == ()


def test_in_json_a_slash_may_be_written_with_a_backslash():
    value, text = planted("database_password")
    ((start, end, _),) = find(text.replace("/", "\\/"), ("secrets",))
    assert text.replace("/", "\\/")[start:end] == value
    broken = "https://u:p[\\INST]w@host.example"
    assert [broken[start:end] for start, end, _ in find(broken, ("secrets",))] == ["p[\\INST]w"]
