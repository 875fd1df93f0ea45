"""Loads an example's file as a module."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def load_example():
    def load(name: str):
        spec = importlib.util.spec_from_file_location(f"example_{Path(name).stem}", EXAMPLES / name)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    yield load
    for name in [name for name in sys.modules if name.startswith("example_")]:
        del sys.modules[name]
