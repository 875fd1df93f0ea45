"""`formalbench label`: every registered task against a definition written here."""

import re
from itertools import groupby, pairwise, product

import numpy as np
import pytest
from formalbench.host import PluginHost


def depth_within(most):
    def depths(text):
        found = [0]
        for symbol in text:
            found.append(found[-1] + (1 if symbol == "a" else -1))
        return found

    def alive(text):
        return all(0 <= depth <= most for depth in depths(text))

    return (lambda text: int(alive(text) and depths(text)[-1] == 0)), alive


def tomita_3_broken(text, closed):
    runs = [(symbol, len(list(run))) for symbol, run in groupby(text)]
    bad = [
        index
        for index, ((one, ones), (_, zeros)) in enumerate(pairwise(runs))
        if one == "1" and ones % 2 and zeros % 2
    ]
    return any(not closed or index + 2 < len(runs) for index in bad)


def arithmetic(text):
    return eval(text) % 5 if re.fullmatch(r"[0-4]([+*-][0-4])*", text) else "invalid"


def always(text):
    return True


# For each task: the class of a string, and whether a string can still become a member.
DEFINITIONS = {
    "parity": (lambda w: w.count("1") % 2, always),
    "first": (lambda w: int(w[:1] == "1"), lambda w: w[:1] != "0"),
    "even-pairs": (lambda w: int(w[:1] != w[-1:]), always),
    "cycle-navigation": (lambda w: (w.count("+") - w.count("-")) % 5, None),
    "modular-arithmetic": (arithmetic, None),
    "tomita-1": (lambda w: int("0" not in w), lambda w: "0" not in w),
    "tomita-2": (
        lambda w: int(re.fullmatch("(10)*", w) is not None),
        lambda w: ("10" * len(w)).startswith(w),
    ),
    "tomita-3": (
        lambda w: int(not tomita_3_broken(w, closed=False)),
        lambda w: not tomita_3_broken(w, closed=True),
    ),
    "tomita-4": (lambda w: int("000" not in w), lambda w: "000" not in w),
    "tomita-5": (lambda w: int(w.count("0") % 2 == 0 == w.count("1") % 2), always),
    "tomita-6": (lambda w: int((w.count("0") - w.count("1")) % 3 == 0), always),
    "tomita-7": (
        lambda w: int(re.fullmatch("0*1*0*1*", w) is not None),
        lambda w: re.fullmatch("0*1*0*1*", w) is not None,
    ),
    **{f"d{depth}": depth_within(depth) for depth in (1, 2, 3, 4, 12)},
}

ASKED = {  # which symbols end a prefix whose class is asked for
    "flip-flop": lambda word: [symbol == "r" for symbol in word],
    "mqar": lambda word: [int(s) < 64 and s in word[:at] for at, s in enumerate(word)],
}

HOST = PluginHost.load()
TASKS = [
    f"{entry.spec.name}:{objective}"
    for entry in HOST.tasks.all()
    if "{" not in entry.spec.name
    for objective in entry.spec.objectives
    if objective != "translate"  # it knows the translations of its own texts, and no others
]


def strings_of(task):
    """Return all short strings, and longer ones: drawn, and uniform."""
    symbols = task.source.alphabet
    size = len(symbols)
    longest = max(length for length in range(1, 8) if size**length <= 600)
    short = [
        list(word) for length in range(longest + 1) for word in product(symbols, repeat=length)
    ]
    rng = np.random.default_rng(size)
    drawn = []
    for length in task.lengths(*task.splits.train)[3::4]:
        rows = task.strings(task.stream("label test", length), length, 4)
        drawn += [[symbols[i] for i in row] for row in rows]
        drawn.append([symbols[i] for i in rng.integers(0, size, length)])
    return short + drawn


def expected(task, word):
    language = task.source
    if task.source_name not in DEFINITIONS:  # a newer task: its oracle, written from the paper
        ids = [task.alphabet.index(symbol) for symbol in word]
        if not language.in_domain(np.array([ids], dtype=np.int64).reshape(1, -1))[0]:
            return "invalid"

        def member(prefix):
            return language.oracle(ids[: len(prefix)])

        alive = None
    else:
        member, alive = DEFINITIONS[task.source_name]
        word = "".join(word)
    prefixes = [word[:end] for end in range(len(word) + 1)]
    if task.objective.name == "classify":
        return str(member(word))
    if task.objective.name == "tag":
        answers = [str(member(prefix)) for prefix in prefixes[1:]]
        asked = ASKED.get(task.source_name, lambda word: [True] * len(word))
        return " ".join(
            answer if is_asked else "-"
            for answer, is_asked in zip(answers, asked(word), strict=True)
        )
    if alive is None:
        return None
    sets = []
    for prefix in prefixes:
        names = [symbol for symbol in task.alphabet if alive(prefix + symbol)]
        sets.append(",".join(names + ["$"] * member(prefix)) or "!")
    return " ".join(sets)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_agrees_with_its_definition(cli, name):
    task = HOST.task(name)
    words = strings_of(task)
    joint = "" if all(len(symbol) == 1 for symbol in task.alphabet) else " "
    done = cli("label", name, stdin="".join(joint.join(word) + "\n" for word in words))
    assert done.err == ""
    assert len(done.lines) == len(words)
    for word, line in zip(words, done.lines, strict=True):
        right = expected(task, word)
        assert right is None or line == right, word
    assert done.code == int("invalid" in done.lines)


def test_the_definitions_name_registered_tasks():
    assert set(DEFINITIONS) <= {name.partition(":")[0] for name in TASKS}


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("parity", "", "0"),
        ("parity", "1", "1"),
        ("parity", "0110", "0"),
        ("parity", "0 1 1 1", "1"),
        ("parity", " 01  1\t0 ", "0"),
        ("first", "", "0"),
        ("first", "10", "1"),
        ("even-pairs", "", "0"),
        ("even-pairs", "1", "0"),
        ("even-pairs", "0111", "1"),
        ("cycle-navigation", "", "0"),
        ("cycle-navigation", "---", "2"),
        ("cycle-navigation", "++.++", "4"),
        ("modular-arithmetic", "3+2*4-1", "0"),
        ("modular-arithmetic", "0-1", "4"),
        ("modular-arithmetic", "4", "4"),
        ("modular-arithmetic", "2*2*2-4*4", "2"),
        ("d2", "", "1"),
        ("d2", "aabb", "1"),
        ("d2", "aaabbb", "0"),
        ("d12", "a" * 12 + "b" * 12, "1"),
        ("d12", "a" * 13 + "b" * 13, "0"),
        ("tomita-3", "10", "0"),
        ("tomita-3", "1001", "1"),
        ("parity:tag", "0111", "0 1 0 1"),
        ("parity:tag", "", ""),
        ("tomita-2:next-symbols", "10", "1,$ 0 1,$"),
        ("tomita-2:next-symbols", "0", "1,$ !"),
        ("tomita-2:next-symbols", "", "1,$"),
        ("tomita-6:next-symbols", "01", "0,1,$ 0,1 0,1,$"),
    ],
)
def test_by_hand(cli, name, text, label):
    done = cli("label", name, stdin=text + "\n")
    assert (done.code, done.out, done.err) == (0, label + "\n", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("parity", "012"),
        ("parity", "0 x"),
        ("parity", "０"),
        ("modular-arithmetic", ""),
        ("modular-arithmetic", "1+"),
        ("modular-arithmetic", "12"),
        ("modular-arithmetic", "+1-"),
        ("modular-arithmetic", "5"),
        ("d2", "01"),
        ("parity:tag", "2"),
        ("tomita-2:next-symbols", "2"),
    ],
)
def test_what_is_no_string_is_invalid_and_the_rest_goes_on(cli, name, text):
    good = {"modular-arithmetic": ("1", "1"), "d2": ("ab", "1"), "parity": ("1", "1"),
            "parity:tag": ("1", "1"), "tomita-2:next-symbols": ("", "1,$")}[name]  # fmt: skip
    done = cli("label", name, stdin=f"{good[0]}\n{text}\n{good[0]}\n")
    assert done.lines == [good[1], "invalid", good[1]]
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


def test_the_space_is_no_symbol(cli, write):
    """It stands between symbols, and between what is said of prefixes."""
    path = write("gap.yaml", 'name: gap\nalphabet: "a "\nregex: "a( a)*"\n')
    done = cli("label", "gap", "--plugin", path, stdin="a a\n")
    assert (done.code, done.out) == (2, "")
    assert "gap.yaml: alphabet: ' ' holds white space or cannot be printed" in done.err
    assert len(done.err.splitlines()) == 1


def test_yaml_languages(cli, write):
    path = write("stars.yaml", 'name: stars\nalphabet: "ab"\nregex: "(ab)*(a|())"\n')
    done = cli("label", "stars", "--plugin", path, stdin="\nab\naba\nb\nabb\n")
    assert done.lines == ["1", "1", "1", "0", "0"]
    done = cli("label", "stars:next-symbols", "--plugin", path, stdin="ab\nb\n")
    assert done.lines == ["a,$ b,$ a,$", "a,$ !"]


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
