"""What holds for every command: help, wrong words, files that cannot be used, a reader who leaves."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from elbowroom_proxy.__main__ import COMMANDS, main
from tests.command import elbowroom, environment
from tests.servers import script


def test_without_a_command_the_commands_are_told(capsys):
    assert main([]) == 2
    told = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n    {name} " not in told] == []


def test_the_version_is_the_projects(capsys):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"elbowroom {project['version']}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_of_its_own(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: elbowroom {command}" in capsys.readouterr().out


def test_a_word_that_is_no_command_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bake"])
    assert ended.value.code == 2
    assert "bake" in capsys.readouterr().err


def test_a_configuration_that_cannot_be_used_is_one_line(tmp_path, capsys):
    file = tmp_path / "elbowroom.yaml"
    file.write_text("model_list: []\nrouter_settings: {}\n")
    assert main(["check", str(file)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{file}:2: ")
    assert told.count("\n") == 1


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path):
    request = b'{"model": "demo-small", "messages": [{"role": "user", "content": "%b"}]}\n' % (b"x" * 100_000)
    (tmp_path / "many.jsonl").write_bytes(request * 40)
    with subprocess.Popen(
        [script("elbowroom"), "pack", "--json", "many.jsonl"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_the_package_can_be_run(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "elbowroom_proxy", "traces", "list"],
        cwd=tmp_path, env=environment(), capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(b"time")


def test_text_that_a_terminal_cannot_show_is_escaped(tmp_path):
    request = '{"model": "demo-small", "messages": [{"role": "user", "content": "热泵"}]}'.encode()
    done = elbowroom("pack", "-", cwd=tmp_path, stdin=request, env={"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert b"\\u70ed\\u6cf5" in done.stdout
