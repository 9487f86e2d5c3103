"""The real command: it listens where it is told, and ends when it is told."""

from __future__ import annotations

from signal import SIGTERM

import httpx

from tests.command import elbowroom, environment
from tests.servers import Elbowroom


def test_it_serves_the_built_in_models_until_it_is_ended(tmp_path):
    with Elbowroom(tmp_path, env=environment()) as server:
        models = httpx.get(f"{server.base_url}/models").json()
        assert [model["id"] for model in models["data"]] == ["demo-small", "demo-large"]
        assert server.stop() in (0, -SIGTERM)
    assert "Finished server process" in "".join(server.output)
    assert (tmp_path / ".elbowroom" / "secret").exists()


def test_a_configuration_of_ones_own_is_read(tmp_path):
    (tmp_path / "mine.yaml").write_text("model_list: 7\n")
    done = elbowroom("serve", "--config", "mine.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(b"mine.yaml:1: ")
