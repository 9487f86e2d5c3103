"""Vocabularies: offline, checked, and not to be upset by any text."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.clean.neutralise import LIVE, Live, neutralise
from elbowroom.errors import CountUnavailable
from elbowroom_proxy import vocabularies as module
from elbowroom_proxy.vocabularies import FILES, LONGEST_BLANK, WIDEST, Vocabularies, live

NAMES = tuple(FILES)
ANY = Vocabularies()


@pytest.fixture
def loaded() -> Vocabularies:
    return ANY


def test_the_bundled_files_are_the_ones_we_know(loaded: Vocabularies) -> None:
    assert loaded.verify() == ()


def test_the_environment_leads_tiktoken_and_litellm_to_the_folder(loaded: Vocabularies) -> None:
    assert os.environ["TIKTOKEN_CACHE_DIR"] == os.environ["CUSTOM_TIKTOKEN_CACHE_DIR"] == str(loaded.folder)
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


# `unshare` gives a process without any network, where this kernel allows it; elsewhere every socket is refused instead.
OFFLINE = """
import socket, sys
def refuse(*args, **kwargs):
    raise SystemExit("asked for the network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from elbowroom_proxy.vocabularies import Vocabularies
vocabularies = Vocabularies()
assert "litellm" not in sys.modules and "tiktoken" not in sys.modules
assert vocabularies.verify() == ()
print([vocabularies.tokens(name, "Hello, world") for name in ("o200k_base", "cl100k_base")])
assert "litellm" not in sys.modules
"""


def test_counting_needs_no_network() -> None:
    isolated = ["unshare", "-rn"] if _may_unshare() else []
    environment = {key: value for key, value in os.environ.items() if "TIKTOKEN" not in key}
    result = subprocess.run(
        [*isolated, sys.executable, "-c", OFFLINE], env=environment, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout.strip()) == (0, "[3, 3]"), result.stderr


def _may_unshare() -> bool:
    return bool(shutil.which("unshare")) and subprocess.run(["unshare", "-rn", "true"], check=False).returncode == 0


def test_an_altered_file_is_named_and_never_loaded_or_removed(tmp_path: Path) -> None:
    before = dict(os.environ)
    file = tmp_path / FILES["o200k_base"][0]
    file.write_bytes(b"IQ== 0\n")
    try:
        vocabularies = Vocabularies(tmp_path)
        faults = vocabularies.verify()
        assert any("wrong SHA-256" in fault and "o200k_base" in fault for fault in faults)
        assert any("No such file" in fault and "cl100k_base" in fault for fault in faults)
        with pytest.raises(CountUnavailable, match="wrong SHA-256"):
            vocabularies.encoding("o200k_base")
        assert file.exists()
    finally:
        os.environ.update(before)


CAMEL = "getElementById NullPointerException HttpServletRequest " * 20


def test_of_an_unknown_vocabulary_the_larger_count_is_taken() -> None:
    vocabularies = Vocabularies()
    assert not vocabularies.loaded(WIDEST)
    identifiers, korean = ({name: vocabularies.tokens(name, text) for name in FILES} for text in (CAMEL, "안녕하세요"))
    assert vocabularies.tokens(WIDEST, CAMEL) == identifiers["o200k_base"] > identifiers["cl100k_base"]
    assert vocabularies.tokens(WIDEST, "안녕하세요") == korean["cl100k_base"] > korean["o200k_base"]
    assert vocabularies.loaded(WIDEST)
    assert len({vocabularies.identity(name)[:8] for name in (WIDEST, *FILES)}) == 3


def test_an_unknown_vocabulary_is_an_error(loaded: Vocabularies) -> None:
    with pytest.raises(CountUnavailable, match="unknown"):
        loaded.tokens("r50k_base", "x")


def test_without_litellm_there_is_nothing_to_count_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CountUnavailable, match="not installed"):
        module.bundled_folder()


def test_special_tokens_are_the_text_they_are(loaded: Vocabularies) -> None:
    assert loaded.tokens("o200k_base", "<|endoftext|>") > 1
    assert loaded.tokens("cl100k_base", "<|im_start|>system") > 2


@pytest.mark.parametrize("name", NAMES)
def test_lone_surrogates_count_as_the_replacement_character(loaded: Vocabularies, name: str) -> None:
    assert loaded.tokens(name, "a\ud800b") == loaded.tokens(name, "a\ufffdb")
    assert loaded.tokens(name, "\ud83d\ude00") == loaded.tokens(name, "\U0001f600")


HOSTILE = ["a", " ", "\n", "\t ", "\U0001f600", "\u0301", "中", "<|endoftext|>", "\x00", "A b", "\u3000", "_", "1"]


@pytest.mark.parametrize("unit", HOSTILE, ids=ascii)
def test_a_long_run_of_anything_is_counted(loaded: Vocabularies, unit: str) -> None:
    text = unit * (120_000 // len(unit))
    for name in NAMES:
        assert 0 < loaded.tokens(name, text) <= len(text.encode())


def test_a_million_spaces_are_counted(loaded: Vocabularies) -> None:
    # In one piece this makes tiktoken's splitter panic.
    assert 8_000 < loaded.tokens("o200k_base", "word" + " " * 1_050_000 + "end") < 9_000


def test_only_hopeless_runs_are_cut() -> None:
    text = "a b" * LONGEST_BLANK
    assert module._cut_blanks(text) == [text]
    blank = " " * (3 * LONGEST_BLANK + 7)
    pieces = module._cut_blanks("x" + blank + "y")
    assert "".join(pieces) == "x" + blank + "y"
    assert max(map(len, pieces)) <= 2 * LONGEST_BLANK


@settings(max_examples=60)
@given(st.text(max_size=200))
def test_any_text_has_a_count_bounded_by_its_bytes(text: str) -> None:
    for name in NAMES:
        count = ANY.tokens(name, text)
        assert (count == 0) == (text == "")
        assert count <= len(text.encode())


def patterns(live: Live) -> list[tuple[object, ...]]:
    """What a `Live` finds: RE2's own objects are equal only while its cache holds them."""
    return [(part.first, part.pattern, part.some.pattern) for part in live.parts]


def test_control_strings_of_an_own_tokenizer_are_found_beside_the_families(tmp_path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text('{"added_tokens": [{"content": "[OWN]", "special": true}]}')
    own, all_others = live([file]), live([])
    assert patterns(all_others) == patterns(LIVE)
    assert neutralise("[OWN] [INST]", all_others).text == "[OWN] [\\INST]"
    assert neutralise("[OWN] [INST]", own).text == "[\\OWN] [\\INST]"
