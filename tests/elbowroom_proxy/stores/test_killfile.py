from __future__ import annotations

from pathlib import Path

from elbowroom_proxy.killword import Word
from elbowroom_proxy.stores.killfile import KillFile


async def test_the_switch_is_on_while_the_file_is_there(tmp_path: Path):
    file = tmp_path / "kill"
    switch = KillFile(file)
    assert await switch.read() == Word(on=False)
    file.touch()
    assert await switch.read() == Word(on=True)
    file.unlink()
    assert await switch.read() == Word(on=False)
    await switch.close()


async def test_what_is_said_is_written_whole_and_taken_away_again(tmp_path: Path):
    file = tmp_path / "folder" / "kill"
    switch = KillFile(file)
    assert await switch.write(Word(on=True, reason="bad answers")) == ""
    assert await switch.read() == Word(on=True, reason="bad answers")
    assert [one.name for one in file.parent.iterdir()] == ["kill"]
    assert await switch.write(Word(on=False)) == ""
    assert await switch.write(Word(on=False)) == ""
    assert not file.exists()


async def test_what_cannot_be_looked_for_says_nothing(tmp_path: Path):
    assert await KillFile(tmp_path / "gone" / "kill").read() is None
    (tmp_path / "kill").mkdir()
    assert await KillFile(tmp_path / "kill").read() is None


async def test_what_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "kill").mkdir()
    (tmp_path / "kill" / "inside").touch()
    switch = KillFile(tmp_path / "kill")
    assert "irectory" in await switch.write(Word(on=True))
    assert await switch.write(Word(on=False)) != ""
