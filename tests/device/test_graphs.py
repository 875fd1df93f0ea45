"""Recorded steps give the numbers of plain ones; a run from the command line goes through."""

import pytest
import torch
from formalbench import api
from formalbench.contracts.network import tensors
from formalbench.training.configs import AdamConfig
from formalbench.training.gradients import BatchedGradients
from formalbench.training.optimisers import Adam
from formalbench.training.parameters import Rows, make_update, numbers_of_steps
from formalbench.training.step import WARM_UP, GraphedGroup, Group, StepInputs

STEPS = 2 * WARM_UP


def test_recorded_steps(host, task, model, device):
    if device.type == "cpu":
        pytest.skip("a CPU records no steps")
    adam = Adam(AdamConfig())
    networks = [host.network(model, task, {"width": 16}).double().to(device) for _ in range(2)]
    program = BatchedGradients(networks, task)
    rows = Rows.start(program.layout.stack(networks), adam)
    groups = [
        kind((0, 1), program, rows, make_update(adam, 1.0, networks[0]))
        for kind in (Group, GraphedGroup)
    ]
    numbers = numbers_of_steps([[1e-3] * 2] * STEPS, 0, adam, rows.parameters)
    for step, (rate, scalars) in enumerate(numbers):
        example = tensors(task.sample(task.stream(f"step {step}"), 7, 8), device)
        batch = example.map(lambda part: part.expand(2, *part.shape))
        for group in groups:
            group.step(StepInputs((batch,), rate, scalars), (0, 0))
    assert groups[1]._recordings, "no step was recorded"
    torch.testing.assert_close(
        groups[1].rows.parameters, groups[0].rows.parameters, rtol=0, atol=1e-10
    )


def test_a_run_from_the_command_line(model, device, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    few = {"steps": 20, "evaluate_every": 10, "batch": 8, "learning_rates": 0.001}
    few |= {"test.lengths": 50, "test.strings": 4, "validation.every": 20}
    task = "reverse-string:decode" if model.startswith("encoder") else "tomita-3"
    frame = api.run(
        [f"{model}[width=16]"],
        [task],
        protocol="quick",
        seeds=1,
        device=str(device),
        settings={f"protocol.{key}": value for key, value in few.items()},
        results=tmp_path / "results",
    )
    assert set(frame["status"]) == {"finished"}
