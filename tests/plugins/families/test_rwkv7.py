"""RWKV-7's blocks, those of its paper and the shared ones, and how its code begins."""

from __future__ import annotations

import torch
from family_helpers import at_first, build
from formalbench import Batch
from formalbench_models.families.rwkv7 import naive_network
from formalbench_models.layers.residual import Backbone
from model_helpers import strings

OPTIONS = {"heads": 2, "layers": 3}


def test_the_papers_network_does_what_its_equations_say():
    network = build("rwkv-7", OPTIONS)
    symbols = strings(2, 11)
    states = network(Batch(symbols))
    for string, found in zip(symbols, states, strict=True):
        wanted = naive_network(network, string)
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        torch.autograd.grad(found.square().sum(), network.parameters()),
        torch.autograd.grad(wanted.square().sum(), network.parameters()),
        rtol=1e-8,
        atol=1e-8,
    )


def test_it_begins_as_its_code_does():
    """Figures of RWKV-LM's code at width 64, two blocks and one head."""
    network = at_first("rwkv-7")
    symbols = network.embedding.weight
    assert symbols.abs().max() <= 1e-4
    torch.testing.assert_close(
        at_first("rwkv-7", embedding_scale=10).embedding.weight, 10 * symbols
    )
    first, last = network.blocks
    mixer = last.mixer
    for zero in (mixer.merge, mixer.decay.down, mixer.first_share.down, last.feed_forward.down):
        assert not zero.weight.any()
    decays = mixer.decay.up.bias  # -6 + 6 (n / 63)^2 + 0.5 + 2.5 zigzag
    torch.testing.assert_close(decays[[0, 63]], torch.tensor([-8.0, 3.0]))
    torch.testing.assert_close(decays[21].item(), -6 + 6 / 9 + 0.5 - 2.5 / 9)
    torch.testing.assert_close(mixer.rate.up.bias[[0, 63]], torch.tensor([-0.69, 0.31]))
    torch.testing.assert_close(mixer.first_share.up.bias[[0, 63]], torch.tensor([0.93, 0.53]))
    torch.testing.assert_close(mixer.removal[[0, 63]], torch.tensor([0.76, 0.66]))
    torch.testing.assert_close(first.mixer.norm.weight, torch.full((64,), 0.5**0.7))
    assert (mixer.norm.weight == 1).all()
    # A ramp: the last channels of a string's symbol see mostly itself.
    torch.testing.assert_close(first.mixer.shift[1, 32].item(), 1 - 0.5**0.9)
    torch.testing.assert_close(last.feed_forward.shift[32].item(), 1 - 0.5 ** (1 / 16))
    assert mixer.key.weight.abs().max() <= 0.05 / 8 < 0.4 / 8 < mixer.value.weight.abs().max()
    up_WR = mixer.rate.up.weight
    torch.testing.assert_close(up_WR.T @ up_WR, 0.01 * torch.eye(32), rtol=0, atol=1e-6)


def test_the_shared_blocks_are_those_of_all_recurrences():
    network = at_first("rwkv-7", shell="shared", initial="torch", rank=16)
    assert type(network) is Backbone
    mixer = network.blocks[1].mixer
    assert mixer.first_share is None
    assert mixer.gate.up.bias is not None
    torch.testing.assert_close(mixer.decay.up.bias[[0, 63]], torch.tensor([-6.5, -1.5]))
