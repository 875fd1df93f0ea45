"""The plan of the house: what start-up must not import. Who may import whom, `make lint` checks."""

import ast
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from formalbench.host import PluginHost
from formalbench.host.host import load

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
HEAVY |= {"distributed", "tensorboard", "wandb", "mlflow"}

LAZY = ("factory", "config", "resources")
"""Fields of specs that may hold the name of an object, as "package.module:Name"."""


def modules(package: str) -> dict[str, Path]:
    """Return every module of a package, by its full name."""
    found = {}
    for file in sorted((HOUSE[package] / package).rglob("*.py")):
        parts = file.relative_to(HOUSE[package]).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    assert found, package
    return found


def package_of(name: str) -> str:
    return name.partition(".")[0]


def test_the_engine_names_no_wing_in_a_lazy_import():
    lazy = re.compile(rf"({'|'.join(WINGS)})[.:]\S*")
    for file in modules("formalbench").values():
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        assert [text for text in texts if lazy.fullmatch(text)] == [], file


def test_a_class_name_stands_for_one_thing():
    places: dict[str, list[str]] = {}
    for package in HOUSE:
        for module, file in modules(package).items():
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(module)
    public = {name: where for name, where in places.items() if not name.startswith("_")}
    assert {name: where for name, where in public.items() if len(where) > 1} == {}


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


def test_what_the_announcements_name_can_be_loaded():
    host = PluginHost.load()
    entries = [entry for registry in host.registries.values() for entry in registry.all()]
    names = [getattr(entry.spec, one, None) for entry in entries for one in LAZY]
    lazy = {name for name in names if isinstance(name, str)}
    assert len(lazy) > 150
    for name in lazy:
        load(name)


MOST_MODULES = 129
"""The most modules of formalbench, packages included, that a command with one run may load."""


def test_a_run_loads_few_modules(tmp_path):
    command = (
        "run --model regulargpt --task parity --protocol quick --seeds 1 --jobs 1 --device cpu "
        "--set protocol.steps=40 --set protocol.decay.steps=20 --set protocol.validation.every=20"
    )
    script = (
        "import sys\nfrom formalbench.cli.main import run_command_line\n"
        "assert run_command_line(sys.argv[1:]) == 0\n"
        "print('LOADED', *sorted(n for n in sys.modules if n.startswith('formalbench')))"
    )
    words = [*command.split(), "--results", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1].split()[1:]
    assert {"formalbench.training.trainer", "formalbench_leaderboard.session"} <= {*loaded}
    assert len(loaded) <= MOST_MODULES, loaded


ENTRY_POINTS = [
    point
    for point in metadata.entry_points(group="formalbench")
    if point.dist is not None and point.dist.name == "formalbench"
]


def test_each_wing_has_an_entry_point():
    assert {package_of(point.module) for point in ENTRY_POINTS} == set(HOUSE)
