"""What commands that work offline answer the engine: counts, and "not to be had" to everything else.

Knows: the tokenizer.
Does not know: the network: no endpoint is asked, no reranker beyond this process, no model.
"""

from __future__ import annotations

from collections.abc import Callable

from elbowroom.needs import Answer, Need, NeedCounts
from elbowroom_proxy.tokens import Tokens


def answering(tokens: Tokens) -> Callable[[Need], Answer]:
    """For `drive_here`."""

    def answer(need: Need) -> Answer:
        return tokens.count_now(need) if isinstance(need, NeedCounts) else ()

    return answer
