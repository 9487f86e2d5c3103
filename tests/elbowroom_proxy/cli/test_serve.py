"""The real command: it listens where it is told, and ends when it is told."""

from __future__ import annotations

from signal import SIGTERM

import httpx
import pytest

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


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "proxy.example"])
def test_without_keys_it_serves_nobody_but_this_machine(tmp_path, host):
    done = elbowroom("serve", "--host", host, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(host.encode() + b": without keys everybody who reaches this address")
    assert b"--open" in done.stderr


def test_unless_that_is_meant_and_then_it_says_so(tmp_path):
    with Elbowroom(tmp_path, "--host", "0.0.0.0", "--open", env=environment()) as server:
        assert httpx.get(f"{server.base_url}/models").status_code == 200
        server.stop()
    assert "open: no keys are configured" in "".join(server.output)


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_a_port_that_is_none_is_refused(tmp_path, port):
    done = elbowroom("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert b"must be a port, 0 to 65535" in done.stderr
