"""How providers are asked to count a prompt; a module's name here is what configuration says, and it exports `build`.

Knows: which names there are: the files of this folder, nothing else can be loaded.
Does not know: HTTP. An adapter turns a chat body into a question and an answer into a number; `endpoint_counts` asks.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from elbowroom_proxy.addresses import COUNT_ENDPOINTS, CountEndpoint
from elbowroom_proxy.ports import EndpointCounter


def load(name: str) -> Callable[[CountEndpoint], EndpointCounter]:
    """That module's `build(endpoint)`. KeyError for a name that is no file here."""
    if name not in COUNT_ENDPOINTS:
        raise KeyError(name)
    build: Callable[[CountEndpoint], EndpointCounter] = importlib.import_module(f"{__name__}.{name}").build
    return build
