"""What commands that work offline answer the engine: counts, findings, BM25, and "not to be had" to everything else.

Knows: the tokenizer, and the reranker that needs nothing but the texts.
Does not know: the network: no endpoint is asked, no reranker beyond this process, no model.
"""

from __future__ import annotations

from collections.abc import Callable

from elbowroom.needs import Answer, Need
from elbowroom_proxy.answering import offline
from elbowroom_proxy.rerankers.lexical import bm25
from elbowroom_proxy.tokens import Tokens


def answering(tokens: Tokens) -> Callable[[Need], Answer]:
    """For `drive_here`."""
    return offline(tokens.count_now, {"lexical": bm25})
