"""Untrusted files: only regular ones, and only up to the limit."""

import os
from pathlib import Path

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.files import check_replaceable, read_plain, write_atomically
from formalbench.store import Store, read_record


def test_a_regular_file_is_read_up_to_the_limit(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_plain(file, 5) == b"12345"
    with pytest.raises(RequestError, match="larger than 4 bytes, so not a record"):
        read_plain(file, 4, "a record")


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("link", "a link, and only plain files"),
        ("device", "a link, and only plain files"),
        ("pipe", "not a plain file"),
        ("folder", "not a plain file"),
        ("nothing", "No such file"),
    ],
)
def test_nothing_else_is_read(tmp_path, kind, says):
    """A device would never end, and a pipe never begin: the test would not either."""
    file = tmp_path / "x.json"
    if kind == "link":
        file.symlink_to("/etc/hostname")
    if kind == "device":
        file.symlink_to("/dev/zero")
    if kind == "pipe":
        os.mkfifo(file)
    if kind == "folder":
        file.mkdir()
    with pytest.raises(RequestError, match=says):
        read_plain(file, 100)
    with pytest.raises(RequestError, match=says):
        read_record(file)
    if kind != "nothing":
        with pytest.raises(RequestError, match=says):
            Store(tmp_path).all()


def test_a_device_itself_is_not_read():
    with pytest.raises(RequestError, match="not a plain file"):
        read_plain(Path("/dev/zero"), 100)


def test_what_changes_under_the_name_is_noticed(tmp_path, monkeypatch):
    file = tmp_path / "x.json"
    os.mkfifo(file)
    monkeypatch.setattr("formalbench.files.check_regular", lambda path: None)
    with pytest.raises(RequestError, match="not a plain file"):
        read_plain(file, 100)


def test_no_file_takes_the_place_of_a_device_or_a_pipe(tmp_path):
    pipe, link, fine = tmp_path / "pipe", tmp_path / "link", tmp_path / "fine"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for path in (pipe, link, Path("/dev/null"), Path("/dev/stdout")):
        with pytest.raises(RequestError, match="not a plain file"):
            write_atomically(path, "text")
        with pytest.raises(RequestError):
            check_replaceable(path)
    assert pipe.is_fifo()
    assert link.is_symlink()
    write_atomically(fine, "text")
    write_atomically(fine, "other")
    assert fine.read_text() == "other"
