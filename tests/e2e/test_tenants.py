"""Tenants and their documents over the wire: who has no right learns nothing, who has no key is nobody."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from elbowroom.records import Mode
from tests import holders
from tests.e2e.conftest import QUESTION
from tests.issuer import AUDIENCE, ISSUER, Issuer
from tests.proxy import Run, config, wait_until
from tests.servers import Elbowroom
from tests.upstream import WAIT, FakeUpstream, answer_json, completion, streamed

KEY = "sk-tenant-acme-0123456789"
LABEL: dict[str, Any] = {
    "tenant": "acme", "label": "internal", "deny_groups": [], "visibility": "tenant", "expires_at": None,
}  # fmt: skip
DENIED: tuple[dict[str, Any] | None, ...] = (
    {**LABEL, "tenant": "other"}, {**LABEL, "label": "restricted"}, {**LABEL, "deny_groups": ["support"]},
    {**LABEL, "visibility": "listed", "groups": ["hr"]}, {**LABEL, "expires_at": "2001-01-01"},
    {"tenant": "acme"}, None,
)  # fmt: skip
OPEN = {"id": "open", "text": "Our offices are in Bonn, near the river.", "score": 0.1, "access": LABEL}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("find", "mail")
]


def secret(name: str, access: dict[str, Any] | None) -> dict[str, Any]:
    said = f"canary-{name}"
    return {
        "id": f"id-{said}", "text": f"Our offices are at {said}.", "title": said, "version": said, "source_id": said,
        "url": f"https://{said}.example/", "summary": said, "score": 1.0,
        **({} if access is None else {"access": access}),
    }  # fmt: skip


def body(**more: Any) -> dict[str, Any]:
    """Denied documents in each place where a document may stand, and one that is not denied."""
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    parts = [{"type": "document", "document": secret(f"part{at}", one)} for at, one in enumerate(DENIED)]
    return {
        "model": "fake",
        "messages": [
            {"role": "user", "content": [*parts, {"type": "text", "text": QUESTION["content"]}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": json.dumps([secret("tool", one) for one in DENIED])},
        ],
        "documents": [*(secret(f"tag{at}", one) for at, one in enumerate(DENIED)), OPEN],
        "tools": TOOLS,
        "context": {"explain": True},
        **more,
    }  # fmt: skip


def written(
    folder: Path,
    upstream: FakeUpstream,
    *,
    mode: Mode = Mode.ENFORCE,
    keys: Any = None,
    clearance: str = "confidential",
    **more: Any,
) -> str:
    """elbowroom.yaml, and beside it the policy, and a key of acme's."""
    policy = (Path(__file__).parents[2] / "config" / "policy.yaml").read_text("utf-8")
    policy = policy.replace("mode: enforce", f"mode: {mode}")
    (folder / "policy.yaml").write_text(
        policy.replace("tools: {}", "tools: {find: {returns: documents}, mail: {egress: true}}")
    )
    general: dict[str, Any] = {name: more.pop(name) for name in ("traces", "redis_url", "killed") if name in more}
    ann = holders.row("ann", KEY, tenant="acme", groups=["support"], clearance=clearance)
    general |= holders.written(folder, *([ann] if keys is None else keys))
    return json.dumps({**json.loads(config(upstream, policy=str(folder / "policy.yaml"), **general)), **more})


NOWHERE = "redis://127.0.0.1:1/0"  # a store that cannot be reached


@pytest.mark.parametrize(
    ("mode", "store", "killed"),
    [*((mode, None, False) for mode in Mode), (Mode.ENFORCE, NOWHERE, False), (Mode.ENFORCE, None, True)],
)
def test_a_denied_document_is_nowhere(
    module_upstream: FakeUpstream, upstream: FakeUpstream, tmp_path: Path, mode: Mode, store: str | None, killed: bool
):
    traces, heard = tmp_path / "traces", list[str]()
    file = tmp_path / "elbowroom.yaml"
    file.write_text(written(tmp_path, module_upstream, mode=mode, traces=str(traces), redis_url=store, killed=killed))
    lines = 5 if mode is Mode.SHADOW else 3  # what is worked out beside a request is a line of its own
    upstream.answers(answer_json(completion("Fine.")), streamed("Fine."))
    key = {"authorization": f"Bearer {KEY}"}
    with Elbowroom(tmp_path, "--config", str(file)) as served, httpx.Client(timeout=WAIT) as http:
        for stream in (False, True):
            response = http.post(f"{served.base_url}/chat/completions", json=body(stream=stream), headers=key)
            assert response.status_code == 200, response.text
            assert response.headers["x-elbowroom-label-incomplete"] == "6"
            assert "not_permitted" not in response.text
            heard += [response.text, *(f"{name}: {value}" for name, value in response.headers.items())]
        refused = http.post(f"{served.base_url}/chat/completions", json=body(tool_choice=TOOLS[1]), headers=key)
        assert refused.status_code == 400
        heard.append(http.get(served.base_url.replace("/v1", "/metrics")).text)
        wait_until(lambda: sum(len(one.read_text().splitlines()) for one in traces.glob("*.jsonl")) >= lines)
        assert served.stop() in (0, -signal.SIGTERM)
        heard += [refused.text, *served.output]
    told = "\n".join(one.read_text("utf-8", "replace") for one in traces.rglob("*") if one.is_file())
    assert "canary" not in "\n".join([*heard, told, *(seen.body.decode() for seen in upstream.requests)])
    assert KEY not in "\n".join([*heard, told, *(json.dumps(seen.headers) for seen in upstream.requests)])
    for seen in upstream.requests:
        assert "near the river" in seen.body.decode()
        assert [tool["function"]["name"] for tool in seen.json["tools"]] == ["find"]
    record, *others = map(json.loads, "\n".join(one.read_text() for one in traces.glob("*.jsonl")).splitlines())
    assert {one["mode"] for one in (record, *others) if one.get("kind") != "shadow"} == {
        Mode.PASSTHROUGH if killed else mode
    }
    assert record["killed"] is killed
    denied = [one for one in record["documents"] if one["reason"] == "not_permitted"]
    assert len(denied) == 3 * len(DENIED)
    assert all(one["digest"] and not one["id"] for one in denied)
    assert (record["subject"], record["tenant"], record["labels"]) == ("ann", "acme", ["internal"])


def test_rights_that_change_hold_from_the_next_request_on(
    module_upstream: FakeUpstream, upstream: FakeUpstream, running_proxy: Run, tmp_path: Path
):
    issuer = Issuer()
    (tmp_path / "jwks.json").write_text(issuer.jwks)
    jwt = {"jwks": str(tmp_path / "jwks.json"), "issuer": ISSUER, "audience": AUDIENCE}
    proxy = running_proxy(written(tmp_path, module_upstream, keys=[], jwt=jwt))
    upstream.answers(*(answer_json(completion("Fine.")) for _ in range(6)))
    listed = {**LABEL, "visibility": "listed", "groups": ["hr"]}
    for groups, access, seen in (
        (["hr"], listed, True), ([], listed, False), (["hr"], listed, True),
        (["hr"], {**listed, "label": "restricted"}, False),
        (["hr"], {**listed, "tenant": "other"}, False), (["hr"], {**listed, "deny_groups": ["hr"]}, False),
    ):  # fmt: skip
        asked = {"model": "fake", "messages": [QUESTION], "documents": [secret("listed", access)]}
        answer = post(proxy.base_url, asked, issuer.token(groups=groups))
        assert answer.status_code == 200
        assert ("canary" in upstream.requests[-1].body.decode()) is seen
        assert answer.headers["x-elbowroom-admitted"] == str(int(seen))


def post(base_url: str, asked: dict[str, Any], key: str | None) -> httpx.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return httpx.post(f"{base_url}/chat/completions", json=asked, headers=headers, timeout=WAIT)


def test_keys_and_what_they_may_ask_for(
    module_upstream: FakeUpstream, upstream: FakeUpstream, running_proxy: Run, tmp_path: Path
):
    rows = [
        holders.row(name, f"sk-{name}-key", **more)
        for name, more in (
            ("whole", {}), ("some", {"models": ["gpt-4o"], "classes": ["how_to"]}), ("gone", {"blocked": True}),
        )
    ]  # fmt: skip
    proxy = running_proxy(written(tmp_path, module_upstream, keys=rows))
    hello = {"model": "fake", "messages": [QUESTION]}
    upstream.answers(answer_json(completion("Fine.")))
    assert post(proxy.base_url, hello, "sk-whole-key").status_code == 200
    for key in (None, "sk-gone-key", "sk-wrong-key", "a.b.c"):
        answer = post(proxy.base_url, hello, key)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["type"]) == (401, "invalid_api_key", "authentication_error")
        assert key is None or key not in answer.text + str(answer.headers)
    for more, code in (
        ({}, "model_not_allowed"),
        ({"model": "gpt-4o", "context": {"class": "general"}}, "class_not_allowed"),
    ):
        answer = post(proxy.base_url, {**hello, **more}, "sk-some-key")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, code)
    assert post(proxy.base_url, {**hello, "model": "none"}, "sk-some-key").status_code == 404
    proxy.trace(7)
    assert "sk-" not in json.dumps(proxy.traces())
    assert len(upstream.requests) == 1


def test_a_label_keeps_a_document_in_the_house(
    module_upstream: FakeUpstream, upstream: FakeUpstream, running_proxy: Run, tmp_path: Path
):
    value = json.loads(written(tmp_path, module_upstream, clearance="restricted"))
    value["model_list"][1]["model_info"]["accepts"] = ["internal", "restricted"]
    proxy = running_proxy(json.dumps(value))
    restricted = {**OPEN, "access": {**LABEL, "label": "restricted"}}
    asked = {"model": "gpt-4o", "messages": [QUESTION], "documents": [restricted]}
    answer = post(proxy.base_url, asked, KEY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "label_not_accepted")
    assert upstream.requests == []
    upstream.answers(answer_json(completion("Fine.")))
    assert post(proxy.base_url, {**asked, "model": "fake"}, KEY).status_code == 200
    assert "near the river" in upstream.request().body.decode()
