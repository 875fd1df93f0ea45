"""Automata from files on the command line."""


def test_a_folder_of_automata(cli, tmp_path):
    (tmp_path / "dfas").mkdir()
    (tmp_path / "dfas" / "04.02.SL.1.att").write_text("0 1 a a\n1 0 b b\n0\n")
    (tmp_path / "dfas" / "Last.B.att").write_text("0 0 a\n0 1 b\n1 0 a\n1 1 b\n1\n")
    folder = tmp_path / "dfas"
    done = cli("list", "tasks", "--class", "star-free", "--json", "--plugin", folder)
    rows = {row["name"]: row["theory"]["class"] for row in done.data}
    assert (rows["04-02-sl-1"], rows["last-b"]) == ("c-rasp", "c-rasp-last")
    label = cli("label", "04-02-sl-1", "-", "--plugin", folder, stdin="abab\naba\n")
    assert label.lines == ["1", "0"]
    shown = cli("show", "task", "04-02-sl-1:next-symbols", "--plugin", folder)
    assert "the language of an automaton with 3 states" in shown.out


def test_a_bad_line_is_one_line(cli, write):
    done = cli("list", "tasks", "--plugin", write("bad.att", "0 1 a a\n0 2 a a\n"))
    assert (done.code, done.out) == (2, "")
    assert "bad.att:2: a second way on from state 0 with 'a'" in done.err
    assert len(done.err.splitlines()) == 1
