"""What `list` and `show` say of theory."""

import subprocess
import sys

import pytest

LAST_B = "name: last-b\nalphabet: ab\nregex: (a|b)*b\n"

MORE_ONES = """
    from formalbench import TaskSpec, Theory, hookimpl

    @hookimpl
    def formalbench_tasks():
        some = "formalbench_tasks.languages.modular_arithmetic:ModularArithmetic"
        theory = Theory.least("counter", "Fischer 1968")
        yield TaskSpec("more-ones", 1, "m", some, theory=theory)
        yield TaskSpec("unsaid", 1, "m", some)
"""


def row(cli, name, *arguments):
    rows = {row["name"]: row for row in cli("list", "tasks", "--json", *arguments).data}
    return rows[name]


def test_a_users_language_is_worked_out_once(cli, write, monkeypatch):
    path = write("ends.yaml", LAST_B)
    assert row(cli, "last-b", "--plugin", path)["theory"] is None
    shown = cli("show", "task", "last-b", "--json", "--plugin", path).data["theory"]
    assert shown["class"] == "c-rasp-last"
    monkeypatch.setattr("formalbench.theory.classes.classes_of", None)  # not called again
    assert cli("show", "task", "last-b", "--json", "--plugin", path).data["theory"] == shown
    assert row(cli, "last-b", "--plugin", path)["theory"] == shown


def test_what_was_worked_out_is_listed_without_numpy(cli, write):
    path = write("ends.yaml", LAST_B)
    assert cli("show", "task", "last-b", "--plugin", path).code == 0
    code = (
        "import sys; from formalbench.cli.main import run_command_line\n"
        f"assert run_command_line(['list', 'tasks', '--plugin', {str(path)!r}]) == 0\n"
        "heavy = [name for name in ('torch', 'numpy', 'pandas') if name in sys.modules]\n"
        "print(heavy, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.split()[:1] == ["last-b"]]
    assert line.split()[1] == "c-rasp-last"
    assert done.stderr == "[]\n"


@pytest.mark.slow
def test_what_a_plugin_states(cli, write):
    path = write("more_ones.py", MORE_ONES)
    theory = row(cli, "more-ones", "--plugin", path)["theory"]
    assert (theory["level"], theory["note"]) == ("counter", "Fischer 1968")
    assert "counter (Fischer 1968)" in cli("show", "task", "more-ones", "--plugin", path).out
    assert cli("show", "task", "unsaid", "--json", "--plugin", path).data["theory"] is None


def test_tasks_in_a_class(cli, write):
    path = write("ends.yaml", LAST_B)

    def names(wanted):
        done = cli("list", "tasks", "--class", wanted, "--json", "--plugin", path)
        return {row["name"] for row in done.data}

    assert {"even-pairs", "d12", "first", "last-b"} <= names("star-free")
    assert not {"parity", "last-b", "dyck-{k}", "marked-copy"} & names("c-rasp")
    assert {"anbn", "majority", "shuffle-dyck-{k}"} <= names("c-rasp") <= names("c-rasp-last")
    assert names("c-rasp-last") - names("c-rasp") == {
        "even-pairs",
        "blocks-ab",
        "ends-in-b",
        "last-b",
    }
    assert {"parity", "last-b", "dyck-{k}-{D}"} <= names("regular")
    assert "dyck-{k}" in names("context-free")


def test_levels_beyond_the_regular_ones(cli):
    """Those of the regular languages are left out, which would be in all."""

    def names(wanted):
        return {row["name"] for row in cli("list", "tasks", "--class", wanted, "--json").data}

    counter, free, all_of_them = map(names, ("counter", "context-free", "context-sensitive"))
    assert counter & free >= {"anbn", "majority", "boolean-{n}", "reset-dyck-1"}
    assert counter - free >= {"anbncn", "shuffle-dyck-{k}", "bucket-sort-check"}
    assert free - counter >= {"dyck-{k}", "marked-reversal", "hardest-cfl"}
    assert counter | free < all_of_them
    assert "marked-copy" in all_of_them - free - counter
    assert not names("regular") & all_of_them


UNKNOWN = """
    from formalbench import TaskSpec, Theory, hookimpl

    @hookimpl
    def formalbench_tasks():
        for name, theory in (("large", Theory("regular", c_rasp=False, note="too large")),
                             ("even", Theory("regular", c_rasp=False, star_free=False,
                                             solvable=True, finite=False, r_trivial=False)),
                             ("counters", Theory("counter"))):
            yield TaskSpec(name, 1, "m", "formalbench_tasks.tests:Nothing", theory=theory)
"""


def test_what_is_not_known_is_said(cli, write):
    path = write("unknown.py", UNKNOWN)
    lines = [line.split() for line in cli("list", "tasks", "--plugin", path).lines]
    classes = {words[0]: " ".join(words[1:]) for words in lines if words}
    assert classes["large"].startswith("regular or smaller ")
    assert classes["even"].startswith("solvable ")
    assert classes["counters"].startswith("counter ")
    told = {
        wanted: cli("list", "tasks", "--class", wanted, "--json", "--plugin", path)
        for wanted in ("star-free", "c-rasp", "context-free")
    }
    assert not {"large", "even", "counters"} & {row["name"] for row in told["star-free"].data}
    of = {
        wanted: done.err.removeprefix(f"formalbench: unknown whether in {wanted}: ").strip()
        for wanted, done in told.items()
    }
    assert "large" in of["star-free"].split(", ")
    assert not {"even", "counters"} & set(of["star-free"].split(", "))
    assert "counters" in of["c-rasp"].split(", ")
    assert "large" not in of["c-rasp"].split(", ")
    assert "counters" in of["context-free"].split(", ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["tasks", "--class", "starfree"], "unknown class 'starfree': did you mean star-free"),
        (["tasks", "--class", ""], "unknown class ''"),
        (["models", "--class", "star-free"], "--class applies to tasks only: formalbench list"),
    ],
)
def test_bad_requests(cli, arguments, line):
    done = cli("list", *arguments)
    assert (done.code, done.out) == (2, "")
    assert line in done.err
    assert len(done.err.splitlines()) == 1


def test_a_spec_states_a_theory_and_nothing_else(cli, write):
    text = MORE_ONES.replace('Theory.least("counter", "Fischer 1968")', '"counter"')
    done = cli("list", "tasks", "--plugin", write("more_ones.py", text))
    assert done.code == 3
    assert "bad theory=counter" in done.err
