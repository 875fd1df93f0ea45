"""SLiCE's states have no size of their own: nothing they grow or shrink to is lost."""

import pytest
import torch
from family_helpers import at_first
from formalbench import Batch

KINDS = [{}, {"block": 1}, {"transitions": "dense"}, {"transitions": "low-rank"}]
every_kind = pytest.mark.parametrize("options", KINDS, ids=str)


def gradients_of(network, symbols):
    states = network(Batch(symbols))
    assert states.isfinite().all()
    return torch.autograd.grad(states.square().mean(), network.parameters())


@every_kind
@pytest.mark.parametrize("chunk", [1, 16, 64])
def test_long_strings_have_finite_gradients(options, chunk):
    network = at_first("slice", options, chunk=chunk, layers=1, states=16)
    repeated = torch.ones(1, 700, dtype=torch.long)  # whose matrix grows or shrinks most
    assert all(part.isfinite().all() for part in gradients_of(network, repeated))


@every_kind
@pytest.mark.parametrize("chunk", [1, 16])
def test_a_state_of_zeros_has_finite_gradients(options, chunk):
    network = at_first("slice", options, chunk=chunk, layers=1, states=16)
    mixer = network.blocks[0].mixer
    with torch.no_grad():  # I + A = 0 for every symbol
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


@torch.no_grad()
def test_the_papers_block_adds_the_state_to_the_symbols():
    network = at_first("slice", {}, shell="slice", layers=1)
    (block,) = network.blocks
    x_BNW = torch.randn(2, 9, 64)
    y_BNW = x_BNW + block.mixer(x_BNW, ())[0]
    y_BNW = y_BNW + (y_BNW @ block.merge.weight.T + block.merge.bias).tanh()
    centred = y_BNW - y_BNW.mean(-1, keepdim=True)
    want = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(block(x_BNW, ())[0], want)
    assert not [name for name, _ in block.named_parameters() if "feed_forward" in name]


@pytest.mark.parametrize("chunk", [1, 16])
@torch.no_grad()
def test_a_block_that_shrinks_is_read_however_small_it_gets(chunk):
    mixer = at_first("slice", {}, normed="block", shell="slice", chunk=chunk).blocks[0].mixer
    mixer.choose.weight.zero_()
    bias = torch.zeros(16, 4, 4)
    bias[1].diagonal().fill_(-36.0)  # a tenth of it at every symbol, the others keep their size
    mixer.choose.bias.copy_(bias.flatten())
    states = mixer(torch.zeros(1, 300, 64), ())[0].unflatten(-1, (16, 4))
    start = mixer.start / mixer.start.square().mean(-1, keepdim=True).sqrt()
    torch.testing.assert_close(states[0, -1], start, rtol=1e-4, atol=1e-4)


@every_kind
def test_networks_begin_near_the_identity_as_the_published_ones_do(options):
    """Entries of A have a spread of sqrt(W / E) / 40: of 0.1, say, for blocks of 4 and W = 64."""
    mixer = at_first("slice", options).blocks[0].mixer
    symbols = torch.randn(1, 400, 64)
    matrices = mixer.matrices(symbols)[0]
    size = matrices.shape[-1]
    if mixer.rank:  # off the diagonal a sum of 4 products, each factor's spread sqrt(W / 4) / 40
        spread = matrices[..., ~torch.eye(size, dtype=torch.bool)].std().item()
        assert spread == pytest.approx(2 * (65 / 4) / 1600, rel=0.1)
    else:  # a constant of the same spread goes with the 64 numbers of the symbol
        spread = (matrices - torch.eye(size)).std().item()
        assert spread == pytest.approx((65 / mixer.block) ** 0.5 / 40, rel=0.1)
