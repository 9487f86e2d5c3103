"""What lies beside the chain: once a digest, redacted, and captured texts under their key."""

from __future__ import annotations

import json
import os

import msgspec
import pytest

from elbowroom_proxy import settings
from elbowroom_proxy.ports import Capture, Texts
from elbowroom_proxy.sinks import beside
from elbowroom_proxy.sinks.beside import Beside

KEY = b"k" * 32
SECRET = "AKIAIOSFODNN7EXAMPLE"
STORY = {"trace_id": "t1", "captured": {"as": "redacted", "until": "2026-03-08", "key_id": "1"}}


def said(**more):
    body = json.dumps({"messages": [{"role": "user", "content": f"my key is {SECRET}"}], "model": "m"}).encode()
    told = {"trace_id": "t1", "redacted": True, "until": "2026-03-08", "body": body, "headers": {}, "answer": "yes"}
    return Texts(capture=Capture(**{**told, **more}))


def test_a_policy_is_kept_once_and_touched_each_day(tmp_path):
    kept = Beside(tmp_path, KEY)
    for text in (b'{"policy":1}', b"another"):
        kept.keep(Texts(policy=("digest", text)), "2026-03-01")
    path = tmp_path / "policies" / "digest"
    assert path.read_bytes() == b'{"policy":1}'
    assert beside.policy_files(tmp_path, "digest") == {"policy": 1}
    os.utime(path, (0, 0))
    kept.keep(Texts(policy=("digest", b"another")), "2026-03-01")
    assert path.stat().st_mtime == 0
    kept.keep(Texts(policy=("digest", b"another")), "2026-03-02")
    assert path.stat().st_mtime > 0
    assert path.read_bytes() == b'{"policy":1}'


def test_instructions_are_kept_once_and_without_secrets(tmp_path):
    kept = Beside(tmp_path, KEY)
    for _ in range(2):
        kept.keep(Texts(instructions=(("i1", f"Never say {SECRET}."), ("i2", "Be kind."))), "2026-03-01")
    assert beside.instruction(tmp_path, "i1") == "Never say [REDACTED:aws_key#1]."
    assert beside.instruction(tmp_path, "i2") == "Be kind."
    assert beside.instruction(tmp_path, "i3") is None


def test_captured_texts_are_read_with_their_key_and_record_only(tmp_path):
    Beside(tmp_path, KEY).keep(said(), "2026-03-01")
    told = beside.capture(tmp_path, STORY, KEY)
    assert told is not None
    assert told["body"]["messages"][0]["content"] == "my key is [REDACTED:aws_key#1]"
    assert (told["answer"], told["redacted"], told["hidden"]) == ("yes", True, 0)
    assert beside.capture(tmp_path, STORY, b"o" * 32) is None
    assert beside.capture(tmp_path, {**STORY, "captured": None}, KEY) is None
    path = tmp_path / "captures" / "2026-03-08" / "t1"
    path.rename(path.with_name("t2"))
    assert beside.capture(tmp_path, {**STORY, "trace_id": "t2"}, KEY) is None
    path.write_bytes(b"short")
    assert beside.capture(tmp_path, STORY, KEY) is None


def test_no_text_lies_there_in_the_clear(tmp_path):
    Beside(tmp_path, KEY).keep(said(redacted=False, answer="plain words"), "2026-03-01")
    (path,) = (tmp_path / "captures").glob("*/*")
    assert b"plain words" not in path.read_bytes()
    told = beside.capture(tmp_path, STORY, KEY)
    assert told is not None
    assert SECRET in told["body"]["messages"][0]["content"]


@pytest.mark.parametrize("name", ["../secret", "", ".", "a/b"])
def test_a_name_leads_nowhere_else(tmp_path, name):
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "policies").mkdir()
    assert beside.policy(tmp_path, name) is None
    assert beside.capture(tmp_path, {"trace_id": name, "captured": {"until": name}}, KEY) is None


def test_half_a_file_is_never_there(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pathlib.Path.replace", fails)
    with pytest.raises(OSError, match="Input"):
        beside.put(tmp_path / "folder" / "name", b"data")
    assert list((tmp_path / "folder").iterdir()) == []


def test_sizes_of_what_waits():
    assert Texts().size == 0
    assert Texts(instructions=(("d", "12345"),)).size == 5
    assert said(body=b"123", answer="45").size == 5


def test_a_policy_comes_out_of_its_files_as_it_was(tmp_path):
    in_force = settings.load().policy
    assert in_force.files is not None
    assert in_force.files.policy[0] == "policy.yaml"
    Beside(tmp_path, KEY).keep(Texts(policy=(in_force.digest, msgspec.json.encode(in_force.files))), "2026-03-01")
    assert beside.policy(tmp_path, in_force.digest) == in_force
    whole = (tmp_path / "policies" / in_force.digest).read_bytes()
    for other in (whole.replace(b"input_limit", b"output_limit"), b"{}", whole):
        (tmp_path / "policies" / "another").write_bytes(other)
        assert beside.policy(tmp_path, "another") is None  # unknown words, no policy, or not that one
    assert beside.policy(tmp_path, "none") is None


def test_every_folder_that_is_made_is_its_owners_only(tmp_path):
    folder = tmp_path / "traces"
    Beside(folder, KEY).keep(said(), "2026-03-01")
    made = [path for path in (folder, *folder.rglob("*")) if path.is_dir()]
    assert len(made) == 3
    assert [path.stat().st_mode & 0o77 for path in made] == [0, 0, 0]


def test_what_somebody_removed_is_put_down_again_with_the_next_record(tmp_path):
    kept, told = Beside(tmp_path, KEY), Texts(policy=("digest", b"{}"), instructions=(("hash", "be kind"),))
    for _ in range(2):
        kept.keep(told, "2026-03-01")
        files = [tmp_path / "policies" / "digest", tmp_path / "instructions" / "hash"]
        assert [path.read_bytes() for path in files] == [b"{}", b"be kind"]
        for path in files:
            path.unlink()
