"""The contract checks: what is built in passes, and what the command says."""

import sys

import pytest
from formalbench.checks import check_spec
from formalbench.host import PluginHost

HOST = PluginHost.load()
FAMILIES = ("dyck-1", "dyck-2-3", "shuffle-dyck-2", "boolean-3", "group-z6")
TASKS = [e.spec.name for e in HOST.tasks.all() if "{" not in e.spec.name] + [*FAMILIES]
MODELS = [
    e.spec.name.format(k=2, D=3)
    for e in HOST.models.all()
    if e.spec.name not in ("fla", "hf")  # these need an extra
]


@pytest.mark.parametrize("name", [*TASKS, *MODELS])
def test_what_is_built_in_keeps_its_promises(name):
    checks = check_spec(HOST, name)
    assert len(checks) >= 8
    assert [check for check in checks if not check.passed] == []


@pytest.mark.slow
def test_the_command_says_what_was_kept(cli):
    done = cli("check", "first:tag")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "task first:tag"
    assert all(line.startswith("  ok  ") for line in done.lines[1:-1])
    assert done.lines[-1] == f"{len(done.lines) - 2} checks passed, 0 failed"
    rows = cli("check", "first:tag", "--json").data
    assert all(row["passed"] for row in rows)


def test_options_behind_a_name(cli):
    done = cli("check", "parity:tag[p=0.3]")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "task parity:tag"
    assert cli("check", "parity[q=0.3]").code == 2


def test_a_broken_promise_exits_with_one(cli, write, odd_models):
    path = write(
        "mine.py",
        odd_models.read_text().replace(
            "(Bag, Stumbling, NotANumber, Hungry, Unspeakable, Quitting, Slow, Dying, Unbuildable)",
            "(Bag, Stumbling)",
        ),
    )
    done = cli("check", "stumbling", "--plugin", path)
    assert done.code == 1
    assert "FAIL" in done.out
    assert "ValueError: one foot over the other (mine.py:" in done.out
    assert "Traceback" not in done.err
    done = cli("check", path, "--json")
    assert done.code == 1
    assert {row["subject"].split()[1] for row in done.data if not row["passed"]} == {"stumbling"}


@pytest.mark.slow
def test_a_yaml_language_is_checked(cli, write):
    path = write("mine.yaml", "name: mine\nalphabet: ab\nregex: (ab)*\n")
    done = cli("check", path)
    assert done.code == 0, done.out
    assert "task mine:next-symbols" in done.lines


def test_a_language_without_test_strings_fails_one_check(cli, write):
    text = "name: four\nalphabet: ab\nregex: abab\nobjectives: [next-symbols]\n"
    done = cli("check", write("four.yaml", text))
    assert done.code == 1
    assert done.out.count("has no strings of length 41 to 500") == 1
    assert done.out.endswith("1 check passed, 1 failed\n")


def test_suites_and_protocols_are_checked(cli, write, tiny):
    assert cli("check", tiny).code == 0
    assert cli("check", write("good.yaml", "name: good\ntasks: [first]\n")).code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: bad\ntasks: ['parity[p=3]']\n", "parity: p=3: must be at most 1"),
        ("name: bad\ntasks: ['parity[q=1]']\n", "unknown option of parity 'q'"),
        (
            "name: bad\nversion: 1\nextends: quick\n"
            "watch: {lengths: [5], probes: [attention-on-frst]}\n",
            "unknown probe 'attention-on-frst': did you mean attention-on-first",
        ),
    ],
)
def test_what_a_run_refuses_of_a_suite_or_a_protocol_is_no_kept_promise(
    cli, refused, write, text, said
):
    path = write("bad.yaml", text)
    done = cli("check", path)
    assert (done.code, done.err) == (1, "")
    assert said in done.out
    asked = ("--suite", "bad") if "tasks" in text else ("--task", "first", "--protocol", "bad")
    assert said in refused("run", "--model", "transformer", *asked, "--plugin", path)


@pytest.mark.slow
def test_a_package_should_be_light(write, python, tmp_path):
    write("pack/__init__.py", "import torch\nfrom formalbench import hookimpl\n"
          "@hookimpl\ndef formalbench_tasks():\n    return []\n")  # fmt: skip
    code = (
        "from formalbench.checks import check_plugin\n"
        "print(*(check.problem for check in check_plugin('pack')))"
    )
    assert "importing it imports torch" in python("-c", code)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lstm", "encoder-decoder"])
def test_a_task_whose_package_is_missing_is_left_out_with_one_line(cli, monkeypatch, model):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    done = cli("check", model)
    assert done.code == 0, done.err
    assert done.err.splitlines() == [
        f"formalbench: {model} was not checked on tiny-pairs:translate: "
        "BLEU needs the package sacrebleu: pip install 'formalbench[text]'"
    ]
    assert done.lines[-1].endswith("checks passed, 0 failed")
