"""What every test may ask for: the shared data, a real Redis, and one hypothesis profile."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import structlog
from hypothesis import HealthCheck, settings

from tests.servers import RedisServer, in_ci

# Their fixtures: running_proxy, fake_upstream, running_desk, browser.
pytest_plugins = ["tests.upstream", "tests.proxy", "tests.desk", "tests.browser", "tests.command"]

ROOT = Path(__file__).parents[1]

# Two shared cores make any deadline a matter of luck; in CI the same commit must meet the same examples.
settings.register_profile(
    "house", deadline=None, derandomize=in_ci(), database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """Commands and servers say how the whole process logs: that ends with the test."""
    before, root = structlog.get_config(), logging.getLogger()
    yield
    structlog.configure(**before)
    for handler in [one for one in root.handlers if one.name == "elbowroom"]:
        root.removeHandler(handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded requests and bills that the project measures itself against.

    `ELBOWROOM_SHARED` names it, else it lies beside the checkout. Elsewhere than in CI a machine may lack it.
    """
    folder = Path(os.environ.get("ELBOWROOM_SHARED", ROOT.parent / "shared"))
    if folder.is_dir():
        return folder
    if in_ci():
        pytest.fail(f"no shared data at {folder}: set ELBOWROOM_SHARED")
    pytest.skip("no shared data on this machine: set ELBOWROOM_SHARED")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One real Redis for all tests of a worker. Who stops it starts a `RedisServer` of their own instead."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The address of an empty Redis whose statistics begin anew."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
        client.config_resetstat()
    return redis_server.url
