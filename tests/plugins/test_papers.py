"""The transformers that papers trained: the sizes and parts that the papers and their code name."""

from __future__ import annotations

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host import PluginHost
from formalbench.running.plan import RunRequest, make_plan
from formalbench_models.catalogue.transformers import PAPERS
from formalbench_papers.chi.models import TRANSFORMER
from torch import nn


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def built(host, name, task, **options):
    network = host.network(name, host.task(task), options)
    return network, sum(parameter.numel() for parameter in network.parameters())


def test_chis_transformer_is_the_size_of_table_4_and_has_no_biases_in_attention(host):
    network, size = built(host, "transformer-chi", "parity")
    assert size == pytest.approx(4.3e6, rel=0.01)
    assert network.traits.causal
    assert len(network.blocks) == 5
    for block in network.blocks:
        attention = block.attention
        assert type(attention).__name__ == "RelativeAttention"
        assert (attention.heads, block.pre_norm) == (8, False)
        for layer in (attention.query, attention.key_value, attention.merge_heads):
            assert layer.bias is None
        assert block.feed_forward.up.weight.shape == (1024, 256)
        assert block.feed_forward.activation is nn.functional.relu


def test_deletangs_transformer_is_read_at_an_empty_symbol_behind_and_has_no_mask(host):
    network, _ = built(host, "transformer-deletang", "even-pairs")
    assert not network.traits.causal
    assert len(network.blocks) == 5
    batch = Batch(torch.tensor([[0, 1, 1]]))
    assert network.trace(batch)["answer.position"].tolist() == [3]
    assert network.trace(batch)["block.4.attention"].shape == (1, 8, 4, 4)
    maps = [module for module in network.modules() if isinstance(module, nn.Linear)]
    for layer in maps:
        assert layer.weight.abs().max() <= 2 / layer.in_features**0.5  # cut off at two deviations
        assert layer.bias is None or not layer.bias.any()
    wide = torch.cat([layer.weight.flatten() * layer.in_features**0.5 for layer in maps])
    assert 0.86 < wide.std() < 0.90  # of a normal distribution that is cut off there: 0.880
    assert network.embedding.symbol.weight.std() < 0.25
    asked = RunRequest(models=("transformer-deletang",), tasks=("parity:tag",))
    with pytest.raises(RequestError, match="tag"):
        make_plan(host, asked)


def test_the_reproduction_of_chi_trains_the_same_network_at_paper_scale(host):
    named, _ = built(host, "transformer-chi", "parity")
    other, _ = built(host, TRANSFORMER.name, "parity", **TRANSFORMER.paper)
    assert repr(named) == repr(other)


@pytest.mark.parametrize(
    ("task", "heads", "positions"), [("first", 1, "first"), ("parity", 2, "parity")]
)
@pytest.mark.parametrize("log_length", [False, True])
def test_chiang_and_cholaks_network(host, task, heads, positions, log_length):
    name = f"transformer-chiang-cholak-{task}"
    network, _ = built(host, name, task, log_length=log_length)
    assert not network.traits.causal  # CLS, which is read, sees the whole string
    assert network.embedding.positions == positions
    assert len(network.blocks) == 2
    first, second = (block.state_dict() for block in network.blocks)
    assert all(torch.equal(first[key], second[key]) for key in first)  # copies of one layer
    for block in network.blocks:
        assert (block.attention.heads, block.attention.log_length) == (heads, log_length)
        assert block.pre_norm is False
        assert block.feed_forward.up.weight.shape == (64, 16)


def test_they_are_for_the_papers_tasks_and_only_asked_for_by_name(host):
    every = make_plan(host, RunRequest(models=("all",), tasks=("parity",)))
    names = {run.model.name for run in every.runs}
    assert "transformer" in names
    assert not names & {spec.name for spec in PAPERS}
    with pytest.raises(RequestError, match="classify"):
        make_plan(
            host,
            RunRequest(models=("transformer-chiang-cholak-parity",), tasks=("parity:tag",)),
        )
