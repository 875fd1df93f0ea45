"""SLiCE's states have no size of their own: nothing they grow or shrink to is lost."""

from __future__ import annotations

import pytest
import torch
from family_helpers import SPECS
from formalbench import Batch
from formalbench.host.host import load
from formalbench.host.options import make_config
from model_helpers import fake_task

KINDS = [{}, {"block": 1}, {"transitions": "dense"}, {"transitions": "low-rank"}]
every_kind = pytest.mark.parametrize("options", KINDS, ids=str)


def at_first(options, **more):
    """Return a network as training begins, in single precision."""
    torch.manual_seed(0)
    spec = SPECS["slice"]
    return load(spec.factory)(fake_task(), make_config(spec, options | more))


def gradients_of(network, symbols):
    states = network(Batch(symbols))
    assert states.isfinite().all()
    return torch.autograd.grad(states.square().mean(), network.parameters())


@every_kind
@pytest.mark.parametrize("chunk", [1, 16, 64])
def test_long_strings_have_finite_gradients(options, chunk):
    network = at_first(options, chunk=chunk, layers=1, states=16)
    repeated = torch.ones(1, 700, dtype=torch.long)  # whose matrix grows or shrinks most
    assert all(part.isfinite().all() for part in gradients_of(network, repeated))


@every_kind
@pytest.mark.parametrize("chunk", [1, 16])
def test_a_state_of_zeros_has_finite_gradients(options, chunk):
    network = at_first(options, chunk=chunk, layers=1, states=16)
    mixer = network.blocks[0].mixer
    with torch.no_grad():  # I + A = 0, whatever the symbol
        mixer.choose.weight.zero_()
        mixer.choose.bias.zero_()
        if mixer.rank:
            mixer.choose.bias[:16] = -40.0
        else:
            blocks = mixer.choose.bias.view(-1, mixer.block, mixer.block)
            blocks.diagonal(dim1=1, dim2=2).fill_(-40.0)
    states = mixer.matrices(torch.randn(1, 3, 64))
    assert not states.any()
    assert all(part.isfinite().all() for part in gradients_of(network, torch.ones(2, 40).long()))


@every_kind
def test_networks_begin_near_the_identity_as_the_published_ones_do(options):
    """Entries of A have a spread of sqrt(W / E) / 40: of 0.1, say, for blocks of 4 and W = 64."""
    mixer = at_first(options).blocks[0].mixer
    symbols = torch.randn(1, 400, 64)
    matrices = mixer.matrices(symbols)[0]
    size = matrices.shape[-1]
    if mixer.rank:  # off the diagonal a sum of 4 products, each factor's spread sqrt(W / 4) / 40
        spread = matrices[..., ~torch.eye(size, dtype=torch.bool)].std().item()
        assert spread == pytest.approx(2 * (65 / 4) / 1600, rel=0.1)
    else:  # a constant of the same spread goes with the 64 numbers of the symbol
        spread = (matrices - torch.eye(size)).std().item()
        assert spread == pytest.approx((65 / mixer.block) ** 0.5 / 40, rel=0.1)
