from __future__ import annotations

import json
from pathlib import Path

from elbowroom_proxy.__main__ import main
from tests.proxy import config
from tests.servers import free_port


def written(folder: Path, **general: object) -> list[str]:
    """The options for a configuration whose switch lies in `folder`."""
    value = json.loads(config("http://127.0.0.1:1/v1"))
    value["general_settings"] |= {"kill_file": str(folder / "kill"), **general}
    (folder / "elbowroom.yaml").write_text(json.dumps(value))
    return ["--config", str(folder / "elbowroom.yaml")]


def test_on_status_and_off_with_file_and_redis(tmp_path: Path, redis_url: str, capsys):
    options = written(tmp_path, redis_url=redis_url)
    assert main(["kill", "status", *options]) == 0
    assert capsys.readouterr().out.splitlines() == ["file    off", "redis   says nothing"]
    assert main(["kill", "on", "--reason", "bad \x1b answers", *options]) == 0
    assert capsys.readouterr().out.splitlines() == ["file    on", "redis   on"]
    assert main(["kill", "status", *options]) == 0
    out = capsys.readouterr().out
    assert [line.split()[:2] for line in out.splitlines()] == [["file", "on"], ["redis", "on"]]
    assert "\x1b" not in out
    assert main(["kill", "off", *options]) == 0
    assert not (tmp_path / "kill").exists()
    assert main(["kill", "status", *options]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["file    off", "redis   off"]


def test_one_source_suffices_and_none_is_a_failure(tmp_path: Path, capsys):
    options = written(tmp_path, redis_url=f"redis://127.0.0.1:{free_port()}/0", killed=True)
    assert main(["kill", "on", *options]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == ["config  on", "file    on"]
    assert told.err.startswith("redis   Redis did not take it")
    (tmp_path / "kill").unlink()
    (tmp_path / "kill").mkdir()
    assert main(["kill", "on", *options]) == 1
    assert main(["kill", "status", *options]) == 1
