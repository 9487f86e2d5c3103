"""Where a request is read and decided, by its size."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from elbowroom.read import request as reading
from elbowroom_proxy import deciding
from tests.proxy import Run, config
from tests.upstream import WAIT, FakeUpstream


@pytest.mark.parametrize(("size", "elsewhere"), [(1_000, False), (deciding.LARGE_BODY + 1, True)])
def test_a_large_body_is_read_where_nobody_waits_for_the_loop(
    running_proxy: Run, fake_upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch, size: int, elsewhere: bool
) -> None:
    read_on = []

    def read(*given: Any, **more: Any) -> Any:
        read_on.append(threading.current_thread())
        return real(*given, **more)

    real = reading.read_request
    monkeypatch.setattr(deciding, "read_request", read)
    proxy = running_proxy(config(fake_upstream, window=400_000))
    body = {"model": "fake", "messages": [{"role": "user", "content": "word " * (size // 5 + 1)}]}
    httpx.post(f"{proxy.base_url}/chat/completions", json=body, timeout=WAIT)
    assert [thread is not proxy._thread for thread in read_on] == [elsewhere]
