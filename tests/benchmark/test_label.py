"""`formalbench label`: what it prints for each objective, and what is no string."""

from types import SimpleNamespace

import pytest


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("parity", "0110", "0"),
        ("parity", "0 1 1 1", "1"),
        ("parity", " 01  1\t0 ", "0"),
        ("cycle-navigation", "++.++", "4"),
        ("modular-arithmetic", "3+2*4-1", "0"),
        ("d2", "aabb", "1"),
        ("parity:tag", "0111", "0 1 0 1"),
        ("parity:tag", "", ""),
        ("tomita-2:next-symbols", "10", "1,$ 0 1,$"),
        ("tomita-2:next-symbols", "0", "1,$ !"),
    ],
)
def test_by_hand(cli, name, text, label):
    done = cli("label", name, stdin=text + "\n")
    assert (done.code, done.out, done.err) == (0, label + "\n", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("parity", "012"),
        ("parity", "０"),
        ("modular-arithmetic", ""),
        ("modular-arithmetic", "1+"),
        ("parity:tag", "2"),
    ],
)
def test_what_is_no_string_is_invalid_and_the_rest_goes_on(cli, name, text):
    done = cli("label", name, stdin=f"1\n{text}\n1\n")
    assert done.lines == ["1", "invalid", "1"]
    assert (done.code, done.err) == (1, "")


def test_no_line_no_label(cli):
    done = cli("label", "parity", stdin="")
    assert (done.code, done.out) == (0, "")


@pytest.mark.parametrize("text", ["1\n\n0", "1\r\n\r\n0\r\n", "1\n\n0\n"])
def test_files_standard_input_and_line_ends(cli, tmp_path, text):
    (tmp_path / "strings.txt").write_bytes(text.encode())
    for done in (
        cli("label", "parity", "strings.txt"),
        cli("label", "parity", "-", stdin=text),
        cli("label", "parity", stdin=text),
    ):
        assert (done.code, done.out) == (0, "1\n0\n0\n")


def test_a_file_that_cannot_be_read(refused, tmp_path):
    assert "No such file" in refused("label", "parity", "nowhere.txt")
    assert "directory" in refused("label", "parity", tmp_path)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\n")
    assert "not UTF-8" in refused("label", "parity", "bytes.txt")


def test_standard_input_that_is_not_utf_8(refused):
    assert "not text in utf-8" in refused("label", "parity", stdin=b"\xff\n")


def test_a_byte_order_mark_is_no_symbol_and_a_closed_input_is_said(
    cli, refused, monkeypatch, tmp_path
):
    (tmp_path / "strings.txt").write_text("\ufeff1\n", "utf-8")
    for done in (
        cli("label", "parity", "strings.txt"),
        cli("label", "parity", stdin="\ufeff1\n".encode()),
    ):
        assert (done.code, done.out) == (0, "1\n")
    monkeypatch.setattr("formalbench.cli.data.sys", SimpleNamespace(stdin=None))
    assert "standard input is closed" in refused("label", "parity")


def test_symbols_of_several_characters(cli, write):
    path = write(
        "turns.yaml",
        """
        name: turns
        alphabet: [left, right]
        states: [even, odd]
        start: even
        accept: [even]
        transitions:
          even: {left: odd, right: even}
          odd: {left: even, right: odd}
        """,
    )
    text = "left right left\n\nleft\nleftleft\nup\n"
    done = cli("label", "turns", "--plugin", path, stdin=text)
    assert done.lines == ["1", "1", "0", "invalid", "invalid"]
    done = cli("label", "turns:next-symbols", "--plugin", path, stdin="left\n")
    assert done.lines == ["left,right,$ left,right"]


def test_a_function_is_labelled_by_its_answers(cli, backwards):
    done = cli("label", "backwards", "--plugin", backwards, stdin="aab\n\nb a\nac\n")
    assert done.lines == ["B A A", "", "A B", "invalid"]
    assert done.code == 1
    done = cli("label", "without-zeros", "--plugin", backwards, stdin="0120\n000\n")
    assert (done.code, done.lines) == (0, ["1 2", ""])


def test_answers_for_programs(cli):
    done = cli("label", "parity", "--json", stdin="0110\n\n2\n")
    assert done.code == 1
    assert done.data == [
        {"string": "0110", "answer": "0"},
        {"string": "", "answer": "0"},
        {"string": "2", "answer": None},
    ]
    assert cli("label", "parity:tag", "--json", stdin="01\n").data == [
        {"string": "01", "answer": "0 1"}
    ]
