"""The device matrix: every model where ``--device`` names one, a few on a CPU otherwise."""

import pytest
import torch
from formalbench.host import PluginHost
from formalbench_models.plugin import formalbench_models

FEW = ("rnn", "deltanet")
LEARNED = tuple(
    spec.name
    for spec in formalbench_models()
    if spec.kind == "learned" and spec.name not in ("fla", "hf")  # whose package an extra installs
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask every learned model where a device is named, and a few where none is."""
    if "model" in metafunc.fixturenames:
        named = metafunc.config.getoption("--device")
        metafunc.parametrize("model", LEARNED if named else FEW, ids="{}-".format)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> torch.device:
    """The device that was asked for."""
    return torch.device(request.config.getoption("--device") or "cpu")


@pytest.fixture
def task(host: PluginHost, model: str):
    """A task that a model answers."""
    (spec,) = (spec for spec in formalbench_models() if spec.name == model)
    return host.task("reverse-string:decode" if "decode" in spec.objectives else "cycle-navigation")
