"""`elbowroom counts audit`: the differences that Redis or the traces know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elbowroom.records import Basis, Count, Model
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.calibration import LAST, Calibration
from elbowroom_proxy.stores.redis import RedisCounts
from tests.servers import free_port

MODEL = Model("m", "openai", "gpt-4o", 8192, 1024, "openai_chat", "gpt-4o", "o200k_base")


def story(error: int | None, at: int, **more: Any) -> str:
    return json.dumps(
        {
            "time": f"2026-01-01T00:00:{at:02}",
            "upstream": "openai",
            "upstream_model": "gpt-4o",
            "model": "m",
            "shape": "plain/4k",
            "counted": {"tokens": 9, "basis": "modelled", "margin": 0},
            "count_error": error,
            **more,
        }
    )


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REDIS_URL", raising=False)

    def run(*words: str) -> tuple[int, list[str]]:
        status = main(["counts", "audit", *words])
        return status, capsys.readouterr().out.splitlines()

    return run


def configured(redis_url: str) -> str:
    models = [{"model_name": "gpt-4o", "litellm_params": {"model": "openai/gpt-4o"}}]
    general = {"redis_url": redis_url, "secret": "a secret of the tests"}
    Path("elbowroom.yaml").write_text(json.dumps({"model_list": models, "general_settings": general}))
    return "elbowroom.yaml"


def test_traces_tell_how_far_counts_were(audit):
    folder = Path("traces")
    folder.mkdir()
    lines = [story(0, 1), story(3, 2), story(-2, 3), story(None, 4), story(1, 5, shape=None, upstream_model="x")]
    (folder / "2026-01-01-a.jsonl").write_text("".join(line + "\n" for line in lines))
    status, printed = audit("--traces", "traces")
    assert status == 0
    assert printed[1].split() == ["openai/gpt-4o", "m", "plain/4k", "modelled", "3", "1", "-3", "2"]
    assert printed[2].split() == ["openai/x", "m", "-", "modelled", "1", "0", "-1", "0"]
    assert len(printed) == 3


def test_without_redis_the_configured_traces_are_read_and_only_the_last_of_them(audit):
    folder = Path(".elbowroom/traces")
    folder.mkdir(parents=True)
    lines = [story(9, 0), *(story(0, 1 + at % 50) for at in range(LAST))]
    (folder / "2026-01-01-a.jsonl").write_text("".join(line + "\n" for line in lines))
    _, printed = audit("--json")
    assert json.loads(printed[0]) == {
        "upstream": "openai/gpt-4o",
        "model": "m",
        "shape": "plain/4k",
        "basis": "modelled",
        "billed_minus_counted": [0] * LAST,
    }


async def learn(url: str) -> None:
    store = RedisCounts(url, timeout=5)
    calibration = Calibration(store)
    calibration.billed(MODEL, "plain/4k", Count(100, Basis.CALIBRATED, 5), 107)
    calibration.refused(MODEL, "plain/4k", Count(100, Basis.CALIBRATED, 5), b"resulted in 140 tokens")
    await calibration.close()
    await store.close()


def test_redis_tells_what_all_instances_learned(audit, redis_url):
    import asyncio

    asyncio.run(learn(redis_url))
    status, printed = audit("--config", configured(redis_url))
    assert status == 0
    assert [line.split()[3:] for line in printed[1:]] == [
        ["calibrated", "1", "0", "-7", "0"],
        ["refused", "1", "-", "-40", "0"],
    ]


def test_a_redis_that_is_not_there_is_said(audit):
    status, printed = audit("--config", configured(f"redis://127.0.0.1:{free_port()}/0"))
    assert (status, printed) == (1, [])
