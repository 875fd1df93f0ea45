"""Reading untrusted YAML."""

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.files import MAX_BYTES, MAX_KEYS, MAX_NODES, parse_yaml, read_yaml
from formalbench.host.registry import read_suite
from refusals import refusal


def problem(text):
    message = refusal(lambda: parse_yaml(text, "f.yaml"))
    assert "\n" not in message
    assert message.startswith("f.yaml")
    return message


def test_a_mapping_is_read():
    assert parse_yaml("a: 1\nb: {c: [x, 'y']}\n", "f") == {"a": 1, "b": {"c": ["x", "y"]}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [1, 2\n", 3),
        ("a: 1\nb: c: d\n", 2),
        ("a: 1\n\tb: 2\n", 2),
        ("a: 'open\n", 2),
        ("{", 1),
        ("a: !!python/object/apply:os.system [echo]\n", 1),
        ("a: 1\n---\nb: 2\n", 2),
    ],
)
def test_malformed_yaml_names_the_line(text, line):
    assert problem(text).startswith(f"f.yaml:{line}: malformed YAML: ")


def test_a_key_given_twice_is_refused():
    assert problem("a: 1\nb: 2\na: 3\n") == "f.yaml:3: malformed YAML: key 'a' is given twice"
    assert "key 'c' is given twice" in problem("a:\n  b: {c: 1, c: 1}\n")
    assert "given twice" in problem("1: x\n1: y\n")


BOMB = "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdef", "bcdefg", strict=True))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a: \x00\n", "a: \x07\n", "a: 2020-99-99\n"], "malformed YAML"),
        ([f"a: 1{':59' * 300}.5\n", "a: " + "[" * 3000], "malformed YAML"),
        (["a: &x [1]\nb: *x\n", f"a: &a [1]\n{BOMB}"], "aliases are not allowed"),
        (
            ["", "# nothing\n", "- a\n- b\n", "text\n", "3\n", "1: a\n", "~"],
            "must contain one mapping",
        ),
        (["? [a, b]\n: 1\n", "? {a: b}\n: 1\n", "a: {? [x] : 1}\n"], ""),
    ],
)
def test_what_is_no_mapping_of_names_is_one_line(texts, said):
    for text in texts:
        assert said in problem(text)


def test_too_many_keys_are_refused_before_anything_is_made_of_them():
    many = "a: [" + "x," * MAX_NODES + "]"
    assert f"more than {MAX_NODES} keys and values" in problem(many)
    assert f"at most {MAX_KEYS}" in problem("".join(f"k{n}: 1\n" for n in range(MAX_KEYS + 1)))
    assert len(parse_yaml("a: [" + "x," * (MAX_NODES - 10) + "]", "f.yaml")["a"]) == MAX_NODES - 10


def test_a_large_file_is_refused(write):
    path = write("f.yaml", "a: " + "x" * MAX_BYTES)
    with pytest.raises(RequestError, match="larger than"):
        read_yaml(path)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(RequestError, match="not UTF-8"):
        read_yaml(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RequestError, match="No such file"):
        read_yaml(tmp_path / "f.yaml")
    with pytest.raises(RequestError, match="directory"):
        read_yaml(tmp_path)


GOOD = {"name": "s", "tasks": ["parity", "first:tag"], "protocol": "quick"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"taks": []}, "unknown key 'taks'"),
        ({"tasks": "parity"}, "tasks=parity: must be a list"),
        ({"name": ""}, "bad name ''"),
    ],
    ids=str,
)
def test_a_bad_suite_is_one_line(tmp_path, change, said):
    assert said in refusal(lambda: read_suite(tmp_path, {**GOOD, **change}))


def test_every_mistake_of_a_suite_is_told_at_once(tmp_path):
    bad = {
        **{"name": "My Suite", "taks": [1], "vresion": 2, "zzz": 3},
        **{"version": -1, "summary": 3, "protocol": ["x"], "tasks": ["parity", 3]},
    }
    begin, *rest = refusal(lambda: read_suite(tmp_path, bad)).split("; ")
    assert begin.endswith("not a valid suite: unknown key 'taks': did you mean tasks?")
    assert rest == [
        "unknown key 'vresion': did you mean version?",
        "unknown key 'zzz': known: name, protocol, reference, summary, tasks, version",
        "version=-1: must be at least 0",
        "summary=3: must be text: put it in quotes",
        "tasks.1=3: must be text: put it in quotes",
        "protocol: must be text",
    ]


UNKNOWN = ("unknown task 'paritty': did you mean parity", "unknown objective of first 'tga'")


@pytest.mark.parametrize(
    "command",
    [("show", "suite", "mine"), ("run", "--suite", "mine", "--model", "rnn")],
    ids=["show", "run"],
)
def test_every_task_of_a_suite_that_there_is_not_is_told_at_once(refused, write, command):
    suite = write("mine.yaml", "name: mine\ntasks: [paritty, first, 'first:tga']\n")
    said = refused(*command, "--plugin", suite)
    assert all(text in said for text in UNKNOWN)


def test_every_name_of_a_request_that_there_is_not_is_told_at_once(refused):
    said = refused("run", "--model", "rnnn,gruu,rnn", "--task", "parity")
    assert "unknown model 'rnnn': did you mean rnn" in said
    assert "; unknown model 'gruu': did you mean gru" in said
