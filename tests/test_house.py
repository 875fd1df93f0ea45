"""The plan of the house: who may import whom, and what start-up must not import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WINGS = {
    "formalbench_tasks": ROOT / "tasks",
    "formalbench_text": ROOT / "tasks",
    "formalbench_models": ROOT / "plugins",
    "formalbench_papers": ROOT / "plugins",
    "formalbench_executors": ROOT / "plugins",
    "formalbench_trackers": ROOT / "plugins",
    "formalbench_leaderboard": ROOT / "leaderboard",
}
HOUSE = {"formalbench": ROOT / "benchmark", **WINGS}
HEAVY = {"torch", "numpy", "pandas", "automata"}
HEAVY |= {"distributed", "dask_jobqueue", "tensorboard", "wandb", "mlflow"}


def modules(package: str) -> dict[str, Path]:
    """Return every module of a package, by its full name."""
    found = {}
    for file in sorted((HOUSE[package] / package).rglob("*.py")):
        parts = file.relative_to(HOUSE[package]).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    assert found, package
    return found


def imports(file: Path, module: str, nodes: Iterator[ast.AST] | None = None) -> set[str]:
    """Return the full names a file imports, anywhere in it; `a.b.c` for `from a.b import c`."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree) if nodes is None else nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            parts = [*(above if node.level else []), *([node.module] if node.module else [])]
            found |= {".".join([*parts, alias.name]) for alias in node.names}
    return found


def at_start(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk what runs when a module is imported: no function bodies, no TYPE_CHECKING."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def package_of(name: str) -> str:
    return name.partition(".")[0]


EVERY_FILE = [
    pytest.param(package, module, file, id=module)
    for package in HOUSE
    for module, file in modules(package).items()
]


@pytest.mark.parametrize(("package", "module", "file"), EVERY_FILE)
def test_the_import_rule(package, module, file):
    met = {package_of(name) for name in imports(file, module)}
    allowed = {"formalbench"} if package == "formalbench" else {"formalbench", package}
    assert met & set(HOUSE) <= allowed


def test_the_import_rule_sees_every_kind_of_import(tmp_path):
    file = tmp_path / "probe.py"
    file.write_text(
        "import formalbench_tasks.parity\n"
        "from formalbench_models import plugin\n"
        "from . import sibling\n"
        "def late():\n    from ..up.there import thing\n"
    )
    assert imports(file, "a.b.probe") == {
        "formalbench_tasks.parity",
        "formalbench_models.plugin",
        "a.b.sibling",
        "a.up.there.thing",
    }


@pytest.mark.parametrize("module", modules("formalbench"))
def test_the_engine_names_no_wing_in_a_lazy_import(module):
    tree = ast.parse(modules("formalbench")[module].read_text(encoding="utf-8"))
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    lazy = re.compile(rf"({'|'.join(WINGS)})[.:]\S*")
    assert [text for text in texts if isinstance(text, str) and lazy.fullmatch(text)] == []


@pytest.mark.parametrize(
    "module", [name for name in modules("formalbench") if name.startswith("formalbench.contracts")]
)
def test_contracts_are_the_ground_floor(module):
    own = [
        name
        for name in imports(modules("formalbench")[module], module)
        if package_of(name) == "formalbench"
    ]
    assert [name for name in own if not name.startswith("formalbench.contracts")] == []


@pytest.mark.parametrize(("package", "module", "file"), EVERY_FILE)
def test_only_the_command_line_imports_from_the_command_line(package, module, file):
    own = "formalbench.cli"
    if module.startswith(own) or module == "formalbench.__main__":
        return
    assert [name for name in imports(file, module) if f"{name}.".startswith(f"{own}.")] == []


ROOMS = sorted({".".join(name.split(".")[:2]) for name in modules("formalbench") if "." in name})


def test_rooms_have_no_import_circles():
    """A room is a folder of the engine, or a file beside them; what runs at import counts."""
    graph: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, file in modules("formalbench").items():
        room = ".".join(module.split(".")[:2])
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for name in imports(file, module, at_start(tree)):
            other = ".".join(name.split(".")[:2])
            if room in graph and other in graph and other != room:
                graph[room].add(other)
    assert_no_circles(graph)


def assert_no_circles(graph: dict[str, set[str]]) -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for following in sorted(graph[module]):
                visit(following, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_a_class_name_stands_for_one_thing():
    places: dict[str, list[str]] = {}
    for package in HOUSE:
        for module, file in modules(package).items():
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(module)
    public = {name: where for name, where in places.items() if not name.startswith("_")}
    assert {name: where for name, where in public.items() if len(where) > 1} == {}


def test_the_engine_has_no_import_circles():
    known = modules("formalbench")

    def edges(module: str) -> set[str]:
        tree = ast.parse(known[module].read_text(encoding="utf-8"))
        named = imports(known[module], module, at_start(tree))
        # `from a.b import c` means the module a.b.c if there is one, else a name in a.b.
        return {n if n in known else n.rpartition(".")[0] for n in named} & set(known) - {module}

    graph = {module: edges(module) for module in known}
    assert any(graph.values())
    assert_no_circles(graph)


def loaded_after(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the packages it loaded."""
    script = (
        f"import sys\n{code}\n"
        "print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("run", "--help"),
        *(("list", kind) for kind in ("tasks", "models", "objectives", "protocols")),
        *(("list", kind) for kind in ("executors", "trackers")),
        ("plugins",),
    ],
    ids=" ".join,
)
def test_start_up_is_light(arguments):
    code = (
        "from formalbench.cli.main import run_command_line\n"
        f"assert run_command_line({list(arguments)!r}) == 0"
    )
    loaded = loaded_after(code)
    assert "formalbench_tasks" in loaded
    assert not loaded & HEAVY


ENTRY_POINTS = [
    point
    for point in metadata.entry_points(group="formalbench")
    if point.dist is not None and point.dist.name == "formalbench"
]


def test_each_wing_has_an_entry_point():
    assert {package_of(point.module) for point in ENTRY_POINTS} == set(HOUSE)


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_entry_modules_are_light(point):
    code = (
        f"import {point.module} as plugin\n"
        "for kind in ('tasks', 'models', 'suites', 'protocols', 'objectives', 'executors', "
        "'trackers'):\n"
        "    list(getattr(plugin, 'formalbench_' + kind, list)())"
    )
    loaded = loaded_after(code)
    assert package_of(point.module) in loaded
    assert not loaded & HEAVY


def test_importing_formalbench_is_light():
    assert not loaded_after("import formalbench; formalbench.hookimpl") & HEAVY
