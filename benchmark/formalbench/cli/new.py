"""``formalbench new``: write a working model or task with its test."""

from __future__ import annotations

import keyword
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated, Literal

import typer

from formalbench.contracts.errors import RequestError
from formalbench.ui.terminal import host_of

SUMMARIES = {"model": "the mean of what was seen", "task": "reads the same backwards"}


NewKind = Literal["model", "task"]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def new(
        ctx: typer.Context,
        kind: Annotated[NewKind, typer.Argument(help="What to write.")],
        name: Annotated[str, typer.Argument(help="Its name: lower case with hyphens.")],
    ) -> None:
        """Write a working model or task and its test into this folder.

        A model is written as a class, a task as a plugin.

        \b
        formalbench new model my-network
        formalbench new task my-language
        """
        host = host_of(ctx)
        registry = host.models if kind == "model" else host.tasks
        if any(entry.spec.name == name for entry in registry.all()):
            raise RequestError(f"a {kind} {name!r} already exists: choose another name")
        file, test, argument = write_files(kind, name, Path())
        print(f"wrote {file} and {test}; next:")
        print(f"  formalbench check {argument}")
        print(f"  python -m unittest {test.stem}")
        if kind == "model":
            print(f"  formalbench run --model {argument} --task parity --seeds 1")
        else:
            print(f"  formalbench run --model lstm --plugin {file} --task {name} --seeds 1")


def write_files(kind: NewKind, name: str, folder: Path) -> tuple[Path, Path, str]:
    """Write a class or a plugin, and its test.

    Returns:
        Both files, and the argument for `formalbench check`.

    Raises:
        RequestError: if the name is invalid or a file exists; then nothing is written.
    """
    from formalbench.contracts.specs import check_name
    from formalbench.files import write_atomically

    try:
        check_name(name)
    except ValueError as error:
        raise RequestError(str(error)) from None
    if "{" in name or not name[0].isalpha():
        raise RequestError(f"bad name {name!r}: begin with a letter, and use no fields")
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names:
        raise RequestError(f"{module} is a keyword or a module of Python: choose another name")
    file, test = folder / f"{module}.py", folder / f"test_{module}.py"
    for path in (file, test):
        if path.exists():
            raise RequestError(f"{path} already exists")
    if PathFinder.find_spec(module):
        raise RequestError(f"{module} is an installed module: choose another name")
    camel = "".join(part.capitalize() for part in name.split("-"))
    # The suffix avoids clashes with keywords and the template's imports.
    class_name = camel if kind == "model" else f"{camel.removesuffix('Language')}Language"
    if keyword.iskeyword(class_name):
        raise RequestError(f"{class_name} is a keyword of Python: choose another name")
    argument = f"{file.name}:{class_name}" if kind == "model" else file.name
    words = {
        "name": name,
        "module": module,
        "file": file.name,
        "test_module": test.stem,
        "summary": SUMMARIES[kind],
        "checked": argument,
        "class_name": class_name,
    }
    templates = Path(__file__).parent.parent / "templates"
    for path, template in ((file, f"{kind}.py.txt"), (test, "test.py.txt")):
        text = (templates / template).read_text("utf-8").format(**words)
        write_atomically(path, text)
    return file, test, argument
