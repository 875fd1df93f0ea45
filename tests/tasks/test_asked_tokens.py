"""Networks that read only the answers that count say the same of them."""

import pytest
import torch
from formalbench import Batch
from formalbench.contracts.network import tensors
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import evaluate

MODELS = {
    "transformer": {"positions": "learned"},
    "looped-transformer": {},
    "regulargpt": {},
    "lstm": {},
    "stack-rnn": {},
    "mamba": {},
}


@pytest.fixture
def task(host):
    return host.task("tiny:masked-lm").at_lengths((24, 24), (24, 24))


def network_of(host, task, model):
    torch.manual_seed(0)
    return host.network(model, task, {"width": 16, **MODELS[model]}).double()


def asked_of(task):
    return tensors(task.sample(task.stream("asked"), 24, 3))


@pytest.mark.parametrize("model", MODELS)
def test_answers_and_gradients_are_the_same(host, task, model):
    network, example = network_of(host, task, model), asked_of(task)
    batch = task.objective.batch(example)
    assert batch == Batch(example.inputs, asked=example.scored)
    every, some = network(example.batch), network(batch)
    torch.testing.assert_close(some[example.scored], every[example.scored], rtol=0, atol=1e-12)
    assert not some[~example.scored].any()
    found = [
        torch.autograd.grad(task.objective.loss(logits, example), list(network.parameters()))
        for logits in (every, some)
    ]
    torch.testing.assert_close(*found, rtol=0, atol=1e-12)


def test_what_is_measured_is_the_same(host, task):
    network, example = network_of(host, task, "transformer"), asked_of(task)
    every, some = network(example.batch), network(task.objective.batch(example))
    for metric in task.metrics:
        measured = [metric.measure(logits, example) for logits in (every, some)]
        torch.testing.assert_close(*measured, rtol=1e-12, atol=0)


class Listening(torch.nn.Module):
    """Answers at random, and stores its inputs."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs, self.told = outputs, []

    def forward(self, batch):
        self.told.append(batch.asked)
        return torch.zeros(*batch.symbols.shape, self.outputs)


def test_no_test_tells_which_tokens_are_asked_for(task, monkeypatch, tmp_path):
    """A network that listens to it in training has nothing to listen to when it counts."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path))
    network = Listening(task.outputs)
    cell = Cell(24, 24, (task.sample(task.stream("asked"), 24, 3),))
    evaluate(network, task, TestSet((cell,)), torch.device("cpu"))
    assert network.told == [None]


def test_no_network_is_told_where_most_answers_count(host):
    task = host.task("tiny:causal-lm").at_lengths((24, 24), (24, 24))
    example = asked_of(task)
    assert example.scored is not None
    assert task.objective.batch(example) == example.batch
