"""Two instances' folders read together: what lies beside a record is its own folder's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import httpx
import pytest

from elbowroom_proxy import settings
from elbowroom_proxy.settings import General
from elbowroom_proxy.sinks.kept import Kept
from tests.proxy import config

TEXT = "Harbours freeze at night."
SECRET = "a secret of the tests, no more"
CLERK = "You are the clerk of the harbour."
CONTENT = settings.keys(General(secret=SECRET)).hash


@pytest.fixture
def folders(running_proxy, tmp_path):
    """One request each in the folders of two instances with one secret, which differ in their policy."""
    made: list[Path] = []
    for number in (1, 2):
        policy = tmp_path / f"policy-{number}.yaml"
        policy.write_text(f"id: policy-{number}\n")
        value = json.loads(config("http://127.0.0.1:9", policy=str(policy), secret=SECRET))
        proxy = running_proxy(json.dumps({**value, "traces": {"capture": "redacted"}}))
        messages = [{"role": "system", "content": f"{CLERK} {number}"}, {"role": "user", "content": f"{TEXT} {number}"}]
        httpx.post(f"{proxy.url}/v1/chat/completions", json={"model": "demo-small", "messages": messages}, timeout=60)
        proxy.stop()
        made.append(tmp_path / f"instance-{number}")
        proxy.traces_folder.rename(made[-1])
    return made


def story(folder: Path) -> dict:
    (file,) = folder.glob("*.jsonl")
    return json.loads(file.read_text().splitlines()[0])


def test_each_records_texts_key_instructions_and_policy_are_found(folders):
    one, two = folders
    kept = Kept(one, CONTENT, lambda: [str(one), str(two)])
    for number, folder in enumerate(folders, start=1):
        record = story(folder)
        texts = kept.texts(record)
        assert texts is not None
        assert texts["body"]["messages"][1]["content"] == f"{TEXT} {number}"
        assert kept.instruction(record["instructions"][0]["digest"]) == f"{CLERK} {number}"
        policy = kept.policy(record["policy"]["digest"])
        assert policy is not None
        assert policy.id == f"policy-{number}"
    assert kept.keys(story(one)) != kept.keys(story(two))


def test_in_a_folder_that_is_not_read_nothing_is_found(folders):
    one, two = folders
    kept, record = Kept(one, CONTENT), story(two)
    assert kept.texts(record) is None
    assert kept.instruction(record["instructions"][0]["digest"]) is None
    assert kept.policy(record["policy"]["digest"]) is None


def test_a_record_that_names_no_writer_is_taken_for_its_own_folders(folders):
    one, two = folders
    kept = Kept(one, CONTENT, lambda: [str(two)])
    for chain in (None, "*:1:x", "../x:1:x"):
        assert kept.texts({**story(one), "chain": chain}) is not None
    shutil.rmtree(one / "keys")
    assert kept.texts(story(one)) is None
