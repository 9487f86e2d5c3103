from __future__ import annotations

import redis

from elbowroom_proxy.killword import Word
from elbowroom_proxy.stores.killkey import KEY, KillKey
from tests.servers import RedisServer, free_port


async def test_the_key_says_it_and_a_key_that_is_not_there_says_nothing(redis_url: str):
    switch = KillKey(redis_url)
    assert await switch.read() is None
    for word in (Word(on=True, reason="退款"), Word(on=False)):
        assert await switch.write(word) == ""
        assert await switch.read() == word
    await switch.close()


async def test_a_person_says_it_with_plain_words(redis_url: str):
    switch = KillKey(redis_url)
    for decode in (False, True):
        with redis.Redis.from_url(redis_url, decode_responses=decode) as client:
            client.set(KEY, "on")
        assert await switch.read() == Word(on=True, reason="on")
    await switch.close()
    answering_in_text = KillKey(f"{redis_url}?decode_responses=true")
    assert await answering_in_text.read() == Word(on=True, reason="on")
    await answering_in_text.close()


async def test_a_redis_that_cannot_be_reached_says_nothing_and_takes_nothing():
    switch = KillKey(f"redis://127.0.0.1:{free_port()}/0")
    assert await switch.read() is None
    assert "Redis did not take it" in await switch.write(Word(on=True))
    await switch.close()


async def test_a_redis_that_is_there_again_is_asked_again():
    with RedisServer() as server:
        switch = KillKey(server.url)
        assert await switch.write(Word(on=True)) == ""
        server.stop()
        assert await switch.read() is None
        server.start()
        assert await switch.write(Word(on=True)) == ""
        assert await switch.read() == Word(on=True)
        await switch.close()
