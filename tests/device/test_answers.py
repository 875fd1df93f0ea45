"""What a network answers on a device is what it answers on a CPU."""

import copy

import torch
from formalbench.contracts.network import tensors

SMALL = {"width": 16}


def answers(network, task, example):
    """Return the loss of some strings and the gradient of every parameter."""
    loss = task.objective.loss(network(example.batch), example)
    return loss, torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)


def test_answers_and_gradients(host, task, model, device):
    torch.manual_seed(0)
    network = host.network(model, task, SMALL).double()
    moved = copy.deepcopy(network).to(device)
    sample = task.sample(task.stream("device"), 9, 16)
    here = answers(network, task, tensors(sample, torch.device("cpu")))
    there = answers(moved, task, tensors(sample, device))
    torch.testing.assert_close(there[0].cpu(), here[0], rtol=1e-9, atol=1e-9)
    for one, other in zip(there[1], here[1], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one.cpu(), other, rtol=1e-7, atol=1e-9)


def test_half_precision_gives_numbers(host, task, model, device):
    network = host.network(model, task, SMALL).to(device)
    sample = tensors(task.sample(task.stream("device"), 9, 16), device)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
        logits = network(sample.batch)
    assert logits.isfinite().all()
    assert logits.device.type == device.type
