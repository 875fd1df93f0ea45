"""Every command that a page shows is one: its options exist, and so do the names in it."""

import re
import shlex
from pathlib import Path

import documented_commands
import pytest
import typer
from formalbench.cli.main import build_app, take_plugins
from formalbench.contracts.errors import RequestError
from formalbench.host import PluginHost
from formalbench.host.options import parse_instance, split_list
from formalbench.host.plain_class import names_class

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [ROOT / "docs" / "tutorial.ipynb"]
PAGES += [ROOT / "speed" / "README.md", ROOT / "examples" / "README.md"]

NAMES = {  # parameters that hold names, and what these are names of
    "model": "models",
    "task": "tasks",
    "suite": "suites",
    "protocol": "protocols",
    "executor": "executors",
    "tracker": "trackers",
}


def shown(page):
    """Return the commands that a page shows, without what is piped into them or out of them."""
    for line in documented_commands.shown(page):
        command = re.sub(r"^(echo|printf) [^|]*\| *", "", documented_commands.bare(line))
        yield command.partition(" | ")[0]


EVERY = [
    pytest.param(line, id=f"{page.relative_to(ROOT)}: {line}")
    for page in PAGES
    for line in dict.fromkeys(shown(page))
]


@pytest.fixture(scope="module")
def host():
    return PluginHost.load([])


@pytest.fixture(scope="module")
def root(host):
    return typer.main.get_command(build_app(host))


def parsed(command, words):
    """Return the innermost command's parameters, parsed as on the command line."""
    context = command.make_context("formalbench", list(words))
    while (rest := [*context._protected_args, *context.args]) and hasattr(command, "commands"):
        _, command, rest = command.resolve_command(context, rest)
        context = command.make_context(command.name, rest, parent=context)
    return context.params


@pytest.mark.parametrize("line", EVERY)
def test_the_command_is_one(line, host, root):
    words, plugins = take_plugins(shlex.split(line)[1:])
    if words[0] == "hello" or {"--help", "--install-completion"} & set(words):
        return  # a plugin's, as the page says; or one that ends before anything is parsed
    asked = parsed(root, words)
    for key, kind in NAMES.items():
        for name in split_list(asked[key]) if asked.get(key) else ():
            bare = parse_instance(name)[0].partition(":")[0]
            if names_class(name) or bare.isupper() or plugins or (bare, kind) == ("all", "models"):
                continue
            if re.match("my-|mine|more-ones|NAME", bare) or kind == "protocols":
                continue
            host.registries[kind].get(bare)


def test_a_command_that_is_none_is_found(root):
    with pytest.raises(typer.TyperException, match="No such option"):
        parsed(root, ["run", "--modell", "lstm"])
    with pytest.raises((typer.TyperException, RequestError)):
        parsed(root, ["runs"])
