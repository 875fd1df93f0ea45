"""The index of all tasks' specs, so that listings import no numpy.

A task in Python announces itself by `@task` on its class, or on a function that makes it; a regular
language by its YAML file in `regular/`. `index.json` contains all specs. After a change, ``python
-m formalbench_tasks.index`` writes it again; a test compares them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from formalbench import Splits, TaskSpec, Theory

if TYPE_CHECKING:
    from formalbench.contracts.source import Language

    from formalbench_tasks.configs import FileConfig

T = TypeVar("T", bound=Callable[..., Any])

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
SHORTCUTS = FOLDER / "shortcuts.json"
"""Accuracy of shortcuts by full name, written by speed/shortcuts.py."""

MODULES = ("dyck/language.py", "languages/*.py")
"""Where tasks in Python are."""

ANNOUNCED: dict[str, TaskSpec] = {}
"""Specs announced by the modules imported so far."""


def task(
    name: str, summary: str, *, version: int = 1, config: type | None = None, **facts: Any
) -> Callable[[T], T]:
    """Announce a class or a function as the factory of a task.

    Args:
        name: of the task; further arguments are as of `formalbench.TaskSpec`.
        summary: one line for listings.
        version: raise it whenever a symbol of any test set could change.
        config: the class of its options.
        **facts: others of a `formalbench.TaskSpec`.
    """

    def announce(factory: T) -> T:
        options = None if config is None else _place(config)
        ANNOUNCED[name] = TaskSpec(name, version, summary, _place(factory), config=options, **facts)
        return factory

    return announce


def _place(what: Any) -> str:
    return f"{what.__module__}:{what.__name__}"


@dataclass(frozen=True, slots=True)
class FileFactory:
    """A factory that reads a file.

    Attributes:
        path: a YAML file as `formalbench_tasks.automata.language_file` reads it.
    """

    path: Path

    def __call__(self, config: FileConfig) -> Language:
        """Return the language of the file."""
        factory = _read(self.path).factory
        assert callable(factory)
        language: Language = factory(config)
        return language


@cache
def announce() -> tuple[TaskSpec, ...]:
    """Return the specs of all tasks from the index, with the accuracies of shortcuts."""
    measured = _json(SHORTCUTS)
    return tuple(_spec(facts, measured) for facts in _json(INDEX))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _spec(facts: dict[str, Any], measured: dict[str, Any]) -> TaskSpec:
    name = re.compile(re.sub(r"\{\w+\}", r"\\d+", facts["name"]))
    shortcuts = {
        title: result["accuracy"]
        for title, result in measured.items()
        if result["version"] == facts["version"] and name.fullmatch(title)
    }
    arguments: dict[str, Any] = {
        key: tuple(one) if isinstance(one, list) else one for key, one in facts.items()
    }
    if ":" not in arguments["factory"]:
        arguments["factory"] = FileFactory(FOLDER / arguments["factory"])
    if "splits" in arguments:
        train, test = (tuple(arguments["splits"][key]) for key in ("train", "test"))
        arguments["splits"] = Splits(train, test, arguments["splits"]["step"])
    if "theory" in arguments:
        arguments["theory"] = Theory(**arguments["theory"])
    return TaskSpec(**arguments, shortcuts=shortcuts)


def index() -> list[dict[str, Any]]:
    """Return what the index has to hold, new tasks last, so that suites keep their order."""
    for path in sorted(file for pattern in MODULES for file in FOLDER.glob(pattern)):
        import_module(
            ".".join(("formalbench_tasks", *path.relative_to(FOLDER).with_suffix("").parts))
        )
    files = [_of_file(path) for path in sorted((FOLDER / "regular").glob("*.yaml"))]
    order = [facts["name"] for facts in _json(INDEX)]
    entries = {spec.name: _facts(spec) for spec in (*ANNOUNCED.values(), *files)}
    return [entries[name] for name in dict.fromkeys((*order, *entries)) if name in entries]


def _of_file(path: Path) -> TaskSpec:
    from formalbench import theory_of

    from formalbench_tasks.configs import FileConfig

    theory = theory_of(FileFactory(path)(FileConfig()))
    assert theory is not None
    assert theory.note == "", f"{path.name}: {theory.note}"
    return replace(_read(path), factory=f"regular/{path.name}", theory=theory)


def _facts(spec: TaskSpec) -> dict[str, Any]:
    """Return what differs from the defaults of a spec, as JSON has it."""
    bare = TaskSpec("", 0, "", "")
    names = [field.name for field in fields(spec)]
    changed = {name: one for name in names if (one := getattr(spec, name)) != getattr(bare, name)}
    if spec.theory is not None:
        changed["theory"] = {
            key: one for key, one in asdict(spec.theory).items() if one not in (None, "")
        }
    if "splits" in changed:
        changed["splits"] = asdict(spec.splits)
    facts: dict[str, Any] = json.loads(json.dumps(changed))
    return facts


def _read(path: Path) -> TaskSpec:
    from formalbench import read_yaml

    from formalbench_tasks.automata.language_file import read

    return read(path, read_yaml(path))


if __name__ == "__main__":
    from formalbench_tasks.index import index as every_task  # not of the module `__main__`

    lines = (json.dumps(facts, ensure_ascii=False) for facts in every_task())
    INDEX.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
