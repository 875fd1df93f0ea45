"""Shared by the tests of the engine: plugins, and a host with everything that is installed."""

import sys
from pathlib import Path

import pytest
from formalbench.host import PluginHost

sys.path.insert(0, str(Path(__file__).parent))  # what tests share

PLUGINS = Path(__file__).parent / "plugins"


@pytest.fixture(autouse=True)
def _a_place_of_its_own(own_place: None, all_here: None) -> None:
    """Keep every test out of the user's folders, and in one process."""


@pytest.fixture
def odd_models() -> Path:
    """A plugin with the models ``bag``, ``stumbling``, ``not-a-number``, ``hungry`` …"""
    return PLUGINS / "odd_models.py"


@pytest.fixture
def backwards() -> Path:
    """A plugin with the tasks ``backwards:transduce`` and ``without-zeros:decode``."""
    return PLUGINS / "backwards.py"


@pytest.fixture
def host() -> PluginHost:
    """A host with everything that is installed."""
    return PluginHost.load()


@pytest.fixture
def functions(backwards: Path) -> PluginHost:
    """A host with two functions from strings to strings."""
    return PluginHost.load([backwards])


@pytest.fixture
def run(cli, tiny, odd_models):
    """Run a request here: by default a small model on one task, with a protocol of a blink."""

    def run(*arguments, plugins=(), **options):
        usual = {"model": "bag", "task": "first", "protocol": "tiny", "device": "cpu", "jobs": 1}
        asked = {f"--{key}": value for key, value in (usual | options).items()}
        words = [
            word
            for option, value in asked.items()
            if value is not None and option not in arguments
            for word in (option, value)
        ]
        files = [word for path in (tiny, odd_models, *plugins) for word in ("--plugin", path)]
        return cli("run", *words, *files, *arguments)

    return run
