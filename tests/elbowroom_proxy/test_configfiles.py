from __future__ import annotations

import os
from pathlib import Path

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom_proxy.configfiles import Files


def test_what_was_read_is_what_is_there_until_a_byte_changes(tmp_path: Path):
    file, files = tmp_path / "a.yaml", Files()
    file.write_text("id: a")
    assert files.text(file) == "id: a"
    assert files.look() == files.digest
    times = file.stat()
    file.write_text("id: b")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as on a file system whose clock is coarse
    assert files.look() != files.digest
    file.write_text("id: a")
    assert files.look() == files.digest


def test_a_file_that_goes_or_comes_is_a_change(tmp_path: Path):
    here, there, files = tmp_path / "here", tmp_path / "there", Files()
    there.write_text("x")
    assert files.first(here, there) == there
    files.text(there)
    assert files.look() == files.digest
    here.write_text("y")
    assert files.look() != files.digest
    assert files.first(here, there) == here
    here.unlink()
    there.unlink()
    assert files.look() != files.digest


def test_what_could_not_be_read_is_looked_at_again(tmp_path: Path):
    file, files = tmp_path / "a.yaml", Files()
    with pytest.raises(InvalidConfig, match=r"a.yaml:1: No such file"):
        files.text(file)
    assert files.look() == files.digest
    file.write_bytes(b"\xff")
    assert files.look() != files.digest
    with pytest.raises(InvalidConfig, match=r"a.yaml:1: not UTF-8"):
        files.text(file)
    assert files.look() == files.digest


def test_a_name_that_no_file_can_have_is_one_that_is_not_there(tmp_path: Path):
    files = Files()
    with pytest.raises(InvalidConfig, match="cannot be read"):
        files.text(tmp_path / "a\0b")
    assert files.look() == files.digest


def test_a_folder_is_what_its_files_are_called(tmp_path: Path):
    (tmp_path / "b.yaml").touch()
    files = Files()
    assert files.listed(tmp_path, "*.yaml") == [tmp_path / "b.yaml"]
    (tmp_path / "notes.txt").touch()
    assert files.look() == files.digest
    (tmp_path / "a.yaml").touch()
    assert files.look() != files.digest


def test_a_folder_where_none_was_is_a_change_and_where_a_file_should_be_a_mistake(tmp_path: Path):
    folder, files = tmp_path / "classes", Files()
    assert files.first(folder, tmp_path) == tmp_path
    folder.mkdir()
    assert files.look() != files.digest
    other = Files()
    with pytest.raises(InvalidConfig, match=r"classes:1: Is a directory"):
        other.text(folder)
    assert other.look() == other.digest


def test_a_link_to_another_folder_is_a_change_of_what_lies_in_it(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(name)
    link, files = tmp_path / "now", Files()
    link.symlink_to("one")
    files.text(link / "a.yaml")
    new = tmp_path / "new"
    new.symlink_to("two")
    new.replace(link)
    assert files.look() != files.digest
