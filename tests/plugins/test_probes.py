"""What probes read in a transformer: the very weights, and each head's of each layer."""

from __future__ import annotations

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host import PluginHost
from formalbench.host.host import load
from formalbench.probes import attention_entropy, attention_on_first, count_series, read_probe
from model_helpers import strings
from torch import nn

PROBES = {"attention-on-first": attention_on_first, "attention-entropy": attention_entropy}


def transformer(task="parity", **options):
    host = PluginHost.load()
    return host.network("transformer", host.task(task), options).double()


def read(name, network, batch):
    return read_probe(name, PROBES[name], network, batch)


def test_the_host_knows_the_probes():
    probes = PluginHost.load().probes
    for name, read in PROBES.items():
        assert load(probes.get(name)[0].spec.factory) is read


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_the_answer_on_the_first_symbol(causal):
    network = transformer(causal=causal)
    batch = Batch(strings(3, 10, symbols=2))
    trace = network.trace(batch)
    series = read("attention-on-first", network, batch)
    assert len(series) == 2 * 4
    for layer in range(2):
        for head in range(4):
            weights_BMM = trace[f"block.{layer}.attention"][:, head]
            want_B = weights_BMM[:, -1 if causal else 0, 1]
            assert torch.equal(series[f"block.{layer}.head.{head}"], want_B)


def test_padding_moves_the_position_that_is_answered_from():
    network = transformer(causal=True)
    symbols = strings(2, 10, symbols=2)
    padded = Batch(symbols * (torch.arange(10) < 6), torch.tensor([6, 6]))
    alone = read("attention-on-first", network, Batch(symbols[:, :6]))
    for place, values_B in read("attention-on-first", network, padded).items():
        torch.testing.assert_close(values_B, alone[place])


def test_entropy_of_even_attention():
    network = transformer(heads=1, layers=1)
    with torch.no_grad():
        network.blocks[0].attention.query.weight.zero_()
        network.blocks[0].attention.query.bias.zero_()
    (entropy_B,) = read("attention-entropy", network, Batch(strings(2, 7, symbols=2))).values()
    torch.testing.assert_close(entropy_B, torch.full((2,), 3.0).double())


def test_series_are_counted_on_one_string():
    host = PluginHost.load()
    task = host.task("parity")
    network = host.network("transformer", task, {"heads": 2, "layers": 3})
    assert count_series(PROBES, network, task, 5) == 2 * 2 * 3
    assert count_series({}, network, task, 5) == 0


def test_no_single_answer_is_one_line():
    network = transformer("parity:tag")
    for name in PROBES:
        with pytest.raises(RequestError, match=r"Transformer has no answer.position"):
            read(name, network, Batch(strings(2, 7, symbols=2)))


def test_a_network_that_cannot_be_looked_into_is_one_line():
    with pytest.raises(RequestError, match="probe mine looks into a network: Linear has no trace"):
        read_probe("mine", dict, nn.Linear(2, 2), Batch(strings(2, 7)))
