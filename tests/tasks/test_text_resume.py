"""Training on a text that is killed between two evaluations goes on at the same token."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from formalbench.contracts.protocol import Protocol
from formalbench.host import PluginHost
from formalbench.training import run_state
from formalbench.training.gradients import OneByOne
from formalbench.training.resolved_protocol import make_recipe
from formalbench.training.run_state import Checkpointer, Member
from formalbench.training.step import Group
from formalbench.training.trainer import Cohort, train_cohort
from formalbench_text.corpus import TextPart

PROTOCOL = Protocol.model_validate(
    {
        "name": "resumed", "version": 1, "batch_tokens": 99, "accumulate": 2, "steps": 30,
        "evaluate_every": 10, "decay": {"steps": 10, "mastered": 0.0},
        "curriculum": {"kind": "uniform"}, "validation": {"every": 10, "strings": 8},
    }
)  # fmt: skip

KILLED_AT = 17
"""The optimiser step in which the process dies: seven after it was saved."""


def trained(checkpointer=None):
    """Train a small transformer on windows of `tiny`; return its weights."""
    host = PluginHost.load()
    task = host.task("tiny:causal-lm")

    def build():
        return host.network("transformer", task, {"width": 8, "layers": 1, "heads": 2})

    cohort = Cohort(
        *(build, task, PROTOCOL, [Member(0.01, 0)], torch.device("cpu")),
        make_recipe(host, PROTOCOL),
        lambda networks, task, device: OneByOne(networks, task),
        checkpointer,
    )
    (one,) = train_cohort(cohort)
    return list(one.network.parameters())


def saved_often():
    run_state.EVERY = 0.0
    return Checkpointer("text", [Member(0.01, 0)])


def die():
    """Train, and be killed in the middle of a step."""
    steps, take = [], Group.step

    def step(self, inputs, noise):
        steps.append(noise)
        if len(steps) == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        take(self, inputs, noise)

    Group.step = step
    trained(saved_often())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signal")
def test_a_killed_process_goes_on_at_the_same_token(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(run_state, "EVERY", 60.0)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", "import test_text_resume; test_text_resume.die()"],
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    checkpointer = saved_often()
    assert checkpointer.path.exists()

    drawn, sample = [], TextPart.sample

    def noted(self, stream, length, count):
        windows = sample(self, stream, length, count)
        if self.split == "train":
            drawn.append(windows)
        return windows

    monkeypatch.setattr(TextPart, "sample", noted)
    again = trained(checkpointer)
    resumed, drawn[:] = list(drawn), []
    undisturbed = trained()
    for mine, theirs in zip(again, undisturbed, strict=True):
        assert torch.equal(mine, theirs)
    assert len(drawn) == 30 * PROTOCOL.accumulate
    assert np.array_equal(resumed, drawn[10 * PROTOCOL.accumulate :])  # step 11 and its tokens
