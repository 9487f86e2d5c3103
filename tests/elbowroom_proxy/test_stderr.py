from __future__ import annotations

import io
import sys

import pytest

from elbowroom_proxy.stderr import Stderr


def test_it_is_what_standard_error_is_now(monkeypatch: pytest.MonkeyPatch):
    out = Stderr()
    for word in ("one", "two"):
        now = io.StringIO()
        monkeypatch.setattr(sys, "stderr", now)
        assert out.write(word) == 3
        out.flush()
        assert now.getvalue() == word
