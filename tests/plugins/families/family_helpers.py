"""The linear recurrences by name, small and with generic parameters."""

import importlib.util
from pathlib import Path

import torch
from formalbench.host.host import load
from formalbench.host.options import make_config
from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from model_helpers import fake_task, shaken

SPECS = {spec.name: spec for spec in LINEAR_RECURRENCES}


def at_first(name, options=(), **more):
    """Return a network as training begins, in single precision."""
    torch.manual_seed(0)
    spec = SPECS[name]
    return load(spec.factory)(fake_task(), make_config(spec, dict(options) | more))


def build(name, options, **more):
    torch.manual_seed(1)
    spec = SPECS[name]
    config = make_config(spec, {"width": 8, "chunk": 4} | options | more)
    return shaken(load(spec.factory)(fake_task(), config))


def file_of(package, path):
    """Load one file of a package, without what importing the package asks for."""
    folder = Path(importlib.util.find_spec(package).submodule_search_locations[0])
    name = f"published_{package}_{path.replace('/', '_').removesuffix('.py')}"
    spec = importlib.util.spec_from_file_location(name, folder / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
