"""The Redis that a ledger is kept in, single or a cluster: its connections, and whether it is fit for it.

Knows: that it must not evict, what its clock says, and how commands are sent to the node that has their keys.
Does not know: what is kept there, who waits for what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf
from typing import Any

from hiredis import pack_command
from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.connection import Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Broken
from redis.exceptions import RedisClusterException, RedisError, ResponseError
from redis.exceptions import TimeoutError as Late

from elbowroom_proxy.stores.scripts import Word

POLICY = "maxmemory-policy"
FIT = "noeviction"


class Server:
    """Connections are opened when they are needed. `timeout`: seconds for one answer."""

    def __init__(self, url: str, *, cluster: bool, timeout: float, connections: int = 4) -> None:
        # Callers give up after `timeout`. A connection is given twice that: where this process kept the loop busy, the
        # answer may have come in time.
        self._patience = patience = 2 * timeout
        self._client: Redis | RedisCluster
        if cluster:
            self._client = RedisCluster.from_url(
                url,
                max_connections=connections + 1,
                socket_timeout=patience,
                socket_connect_timeout=timeout,
                retry=Retry(NoBackoff(), 0),
            )
        else:
            options: dict[str, Any] = dict(parse_url(url))
            kind = options.pop("connection_class", Connection)
            self._client = Redis(
                connection_pool=BlockingConnectionPool(
                    connection_class=kind,
                    max_connections=connections + 1,  # `look` may come between
                    timeout=timeout,
                    socket_timeout=patience,
                    socket_connect_timeout=timeout,
                    retry=Retry(NoBackoff(), 0),
                    **options,
                )
            )
        self.looked = False  # whether it is known if it evicts, or that it will not say
        self.unfit: str | None = None  # why it may not be used
        self.unsaid: str | None = None  # what it does not let itself be asked

    async def send(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """One answer a command, errors among them. Raises `RedisError` or `OSError` where there is no server."""
        client = self._client
        if isinstance(client, Redis):
            return await self._sent(client, commands)
        pipeline = client.pipeline(transaction=False)
        for words in commands:
            pipeline.execute_command(*words)
        try:
            answers = await pipeline.execute(raise_on_error=False)
        except RedisClusterException as error:  # no node can be reached; it is no RedisError
            raise Broken(str(error)) from error
        if any(isinstance(one, (Broken, Late)) for one in answers):
            await client.aclose()  # its nodes may be others by now: they are asked for anew
        return list(answers)

    async def _sent(self, client: Redis, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """As a pipeline does it, but packed by hiredis, and with one limit of time for all answers: redis-py's own way
        takes longer than all else that a hold takes here.
        """
        pool: Any = client.connection_pool
        told = client.response_callbacks
        connection = await pool.get_connection()
        try:
            await connection.send_packed_command(b"".join([pack_command(tuple(words)) for words in commands]))
            answers: list[Any] = []
            async with asyncio.timeout(self._patience):
                for words in commands:
                    try:
                        answer = await connection.read_response(timeout=inf)
                    except ResponseError as error:
                        answers.append(error)
                        continue
                    read = told.get(words[0])
                    answers.append(answer if read is None else read(answer))
        except TimeoutError:  # whose reading was broken off has closed its connection
            raise Late("Timeout reading from socket") from None
        finally:
            await pool.release(connection)
        return answers

    async def look(self) -> None:
        """Asks whether it evicts. What cannot be reached is looked at another time."""
        try:
            said = await self._policies()
        except ResponseError as error:
            self.unsaid = f"whether it evicts cannot be told: {type(error).__name__}"
        except (RedisError, RedisClusterException, OSError):
            return
        else:
            bad = sorted(str(policy) for policy in said if policy != FIT)
            self.unfit = f"the Redis evicts by {bad[0]}: set {POLICY} to {FIT}" if bad else None
        self.looked = True

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()
        if isinstance(self._client, Redis):
            await self._client.connection_pool.aclose()

    async def _policies(self) -> set[str | None]:
        if isinstance(self._client, RedisCluster):
            await self._client.initialize()
            return {(await node.execute_command("CONFIG GET", POLICY))[POLICY] for node in self._client.get_primaries()}
        return {(await self._client.config_get(POLICY))[POLICY]}
