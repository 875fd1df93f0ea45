"""`formalbench new`: what it writes works, and nothing is overwritten."""

import ast
import json
from pathlib import Path

import pytest
from formalbench.checks import check_plugin
from formalbench.contracts.verification import parse_any


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("model", "my-network"),
        ("task", "my-language"),
        ("model", "x"),
        ("task", "a-1-b"),
        ("model", "none"),
        ("model", "model-spec"),
        ("model", "iterable"),
        ("model", "class"),
        ("task", "splits"),
        ("task", "true"),
        ("task", "language"),
    ],
)
def test_what_it_writes_keeps_the_contract(cli, kind, name):
    done = cli("new", kind, name)
    if done.code == 2:  # a name that cannot be one of Python's is refused
        assert len(done.err.splitlines()) == 1
        assert not list(Path().glob("*.py"))
        assert name not in ("my-network", "my-language", "x", "a-1-b")
        return
    assert (done.code, done.err) == (0, "")
    file, test = Path(f"{name.replace('-', '_')}.py"), Path(f"test_{name.replace('-', '_')}.py")
    assert str(file) in done.out
    assert str(test) in done.out
    ast.parse(test.read_text())
    told = next(line.split()[-1] for line in done.lines if "formalbench check" in line)
    assert Path(told.partition(":")[0]) == file
    checks = check_plugin(told)
    assert len(checks) > 5
    assert [check for check in checks if not check.passed] == []


@pytest.mark.parametrize("kind", ["model", "task"])
def test_what_it_writes_is_short_and_imports_the_facade_alone(cli, kind):
    cli("new", kind, "mine")
    text = Path("mine.py").read_text()
    tree = ast.parse(text)
    docstring, *_ = tree.body
    lines = [line for line in text.splitlines()[docstring.end_lineno :] if line.strip()]
    assert len(lines) <= 25
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) for node in imported}
    assert modules - {"torch", None} == ({"formalbench"} if kind == "task" else set())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "task"])
def test_its_test_passes(cli, python, kind):
    cli("new", kind, "my-own")
    out = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_own.py")
    assert "1 passed" in out


@pytest.mark.slow
def test_its_test_needs_no_more_than_the_install(cli, python):
    done = cli("new", "task", "my-language")
    assert "python -m unittest test_my_language" in done.out
    assert "pytest" not in Path("test_my_language.py").read_text().split('"""')[2]
    python("-m", "unittest", "test_my_language")
    Path("my_language.py").write_text("broken = True")
    with pytest.raises(AssertionError, match="FAILED"):
        python("-m", "unittest", "test_my_language")


def test_a_new_model_runs(cli, tiny):
    cli("new", "model", "my-network")
    done = cli(
        "run", "--model", "my_network.py:MyNetwork[width=8]", "--task", "parity",
        "--seeds", 1, "--protocol", "tiny", "--plugin", tiny, "--device", "cpu", "--json",
    )  # fmt: skip
    assert done.code == 0
    (row,) = done.data
    assert row["status"] == "finished"
    assert row["model"]["name"] == "my-network"
    assert parse_any(json.dumps(row), "row")


@pytest.mark.parametrize("existing", ["mine.py", "test_mine.py"])
def test_nothing_is_overwritten(refused, existing):
    Path(existing).write_text("precious")
    assert "already exists" in refused("new", "model", "mine")
    assert Path(existing).read_text() == "precious"
    assert [path.name for path in Path().glob("*.py")] == [existing]


@pytest.mark.parametrize(
    "name",
    ["Mine", "my_model", "my model", "../up", "a/b", "", "-x", "x-", "1st", "a{k}", "ü", "a.b",
     "x" * 65],
)  # fmt: skip
def test_bad_names_are_refused(refused, name):
    refused("new", "task", "--", name)
    assert not list(Path().rglob("*.py"))
