"""A backbone and its readout: where answers are read, and that nothing of the engine minds."""

import copy

import pytest
import torch
from formalbench.contracts.network import Batch, ParameterGroup, Traceable, Traits, traits_of
from formalbench.readout import Readout, read_out
from torch import nn

WIDTH = 6


class Running(nn.Module):
    """The sum of embeddings so far; padding adds nothing."""

    def __init__(self, symbols=2):
        super().__init__()
        self.embed = nn.Embedding(symbols, WIDTH)
        self.scale = nn.Parameter(torch.ones(()))
        self.traits = Traits(
            backbone=WIDTH,
            padding=True,
            cpu_cohort=3,
            groups=(ParameterGroup(("scale", "embed.*"), rate=0.1, weight_decay=0.0),),
            symbol_embedding="embed",
            eigenvalues="[0, 1]",
            depth=1,
        )

    def forward(self, batch):
        assert batch.symbols.shape[1] > 0  # no batch of empty strings comes here
        return (self.scale * self.embed(batch.symbols)).cumsum(1)


class Traced(Running):
    def trace(self, batch):
        return {"state": self(batch)}


def network(host, name, backbone=Running, seed=0):
    torch.manual_seed(seed)
    task = host.task(name)
    built = read_out(backbone(), task)
    if hasattr(built, "empty"):
        nn.init.normal_(built.empty)  # zeros at the start would hide mistakes
    return built, task


def strings(count, length):
    return torch.randint(2, (count, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.parametrize("name", ["parity", "parity:tag", "parity:next-symbols"])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_answers_are_read_off_the_states_after_prefixes(host, name, length):
    built, task = network(host, name)
    symbols = strings(4, length)
    after = [built.empty.expand(4, -1)] if hasattr(built, "empty") else [torch.zeros(4, WIDTH)]
    after += [built.backbone(Batch(symbols))[:, place] for place in range(length)]
    every = built.read(torch.stack(after, dim=1))
    want = {"last": every[:, -1], "each": every[:, 1:], "prefixes": every}[task.layout]
    torch.testing.assert_close(built(Batch(symbols)), want)
    assert built(Batch(symbols)).shape[-1] == task.outputs


@pytest.mark.parametrize("name", ["parity", "parity:tag", "parity:next-symbols"])
def test_padded_strings_get_their_own_answers(host, name):
    built, task = network(host, name)
    lengths = torch.tensor([5, 0, 3, 1])
    symbols = strings(4, 5) * (torch.arange(5) < lengths[:, None])
    together = built(Batch(symbols, lengths))
    for row, length in enumerate(lengths.tolist()):
        alone = built(Batch(symbols[row : row + 1, :length]))[0]
        got = together[row] if task.layout == "last" else together[row, : len(alone)]
        torch.testing.assert_close(got, alone)


@pytest.mark.parametrize("name", ["parity", "parity:next-symbols"])
def test_what_stands_for_the_empty_string_is_learned(host, name):
    built, _ = network(host, name)
    built(Batch(strings(3, 0))).square().sum().backward()
    assert built.empty.grad.abs().max() > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("length", [0, 4])
@pytest.mark.parametrize("name", ["parity", "parity:tag", "parity:next-symbols"])
def test_it_answers_in_its_parameters_precision(host, dtype, length, name):
    built, _ = network(host, name)
    assert built.to(dtype)(Batch(strings(2, length))).dtype == dtype


def test_traits_are_the_backbones_with_names_that_hold(host):
    built, _ = network(host, "parity")
    traits = traits_of(built)
    assert (traits.backbone, traits.padding, traits.cpu_cohort) == (0, True, 3)
    assert (traits.eigenvalues, traits.depth) == ("[0, 1]", 1)
    assert built.get_submodule(traits.symbol_embedding) is built.backbone.embed
    (group,) = traits.groups
    assert group == ParameterGroup(("backbone.scale", "backbone.embed.*"), 0.1, 0.0)
    assert {"backbone.scale", "backbone.embed.weight"} <= set(dict(built.named_parameters()))


def test_a_backbone_that_can_be_looked_into_still_can(host):
    plain, _ = network(host, "parity")
    traced, _ = network(host, "parity", Traced)
    assert not isinstance(plain, Traceable)
    assert isinstance(traced, Traceable)
    batch = Batch(strings(2, 5))
    torch.testing.assert_close(traced.trace(batch)["state"], traced.backbone(batch))
    other = copy.deepcopy(traced)
    nn.init.zeros_(other.backbone.embed.weight)
    assert not other.trace(batch)["state"].any()  # its own backbone, not the first one's
    assert traced.trace(batch)["state"].any()


class Answering(Running):
    """Says that it is a backbone, and gives logits."""

    def forward(self, batch):
        return super().forward(batch)[:, -1]


def test_states_of_another_shape_are_refused_by_name(host):
    built, _ = network(host, "parity", Answering)
    told = r"Answering is a backbone and gave \(2, 6\), not states \(2, 5, 6\)"
    with pytest.raises(ValueError, match=told):
        built(Batch(strings(2, 5)))


def test_a_readout_asked_at_every_symbol_has_nothing_for_the_empty_prefix(host):
    built, _ = network(host, "parity:tag")
    assert isinstance(built, Readout)
    assert not hasattr(built, "empty")
    assert built(Batch(strings(3, 0))).shape == (3, 0, 2)
