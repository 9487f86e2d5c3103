from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.records import Message
from elbowroom.write.echoes import FLAGS, is_ours, without_echoes


def message(**members: Any) -> Message:
    return Message(json.dumps(members).encode(), members)


@pytest.mark.parametrize("echo", [{"annotations": []}, {FLAGS: {"links": []}}, {FLAGS: {}, "annotations": None}])
def test_an_assistants_echoes_go_and_the_rest_stays(echo: dict[str, Any]):
    said = message(role="assistant", **echo, content="[S1]", refusal=None)
    assert json.loads(without_echoes(said)) == {"role": "assistant", "content": "[S1]", "refusal": None}
    assert is_ours(said) == (FLAGS in echo)
    theirs = message(role="user", **echo, content="x")
    assert without_echoes(theirs) is theirs.raw
    assert not is_ours(theirs)


def test_what_has_none_is_the_same_object():
    said = message(role="assistant", content="[S1]")
    assert without_echoes(said) is said.raw
    assert not is_ours(said)
