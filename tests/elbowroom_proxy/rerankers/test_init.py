from __future__ import annotations

import pytest

from elbowroom_proxy import asked, rerankers, settings

ROW = asked.Reranker(api_base="http://127.0.0.1:9", shape="tei")


def test_every_file_is_a_reranker_by_its_name():
    assert {"http", "lexical"} == settings.RERANKERS
    for name in settings.RERANKERS:
        assert callable(rerankers.load(name)(ROW).scores)


def test_nothing_else_can_be_loaded():
    with pytest.raises(KeyError):
        rerankers.load("os")
