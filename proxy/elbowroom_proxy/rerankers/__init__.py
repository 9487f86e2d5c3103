"""Adapters that put candidates in order; a module's name is what a policy's `rerank.by` says, and it exports `build`.

Knows: which names there are: the files of this folder, nothing else can be loaded.
Does not know: which of them is in use (`app` decides), or what follows where one fails (`asides`, and the policy).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from elbowroom_proxy import asked, settings
from elbowroom_proxy.ports import Reranker


def load(name: str) -> Callable[[asked.Reranker | None], Reranker]:
    """That module's `build(row)`. KeyError for a name that is no file here."""
    if name not in settings.RERANKERS:
        raise KeyError(name)
    build: Callable[[asked.Reranker | None], Reranker] = importlib.import_module(f"{__name__}.{name}").build
    return build
