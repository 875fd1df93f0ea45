"""xLSTM: sLSTM by its equations, which block is which, and what blocks are."""

import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench_models.catalogue.linear_recurrences import SlstmConfig, XlstmConfig
from formalbench_models.families import xlstm
from formalbench_models.families.xlstm import MlstmMixer, SlstmMixer, build_xlstm
from model_helpers import assert_same_gradients, fake_task, shaken, strings


def mixer(**options):
    torch.manual_seed(0)
    return shaken(SlstmMixer(SlstmConfig(**{"width": 6, "heads": 2} | options), 0.5))


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("convolution", [0, 1, 4])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_states_and_gradients_are_those_of_the_equations(heads, convolution, length):
    network = mixer(heads=heads, convolution=convolution)
    x = torch.randn(3, length, 6, dtype=torch.float64, requires_grad=True)
    fast, _ = network(x, ())
    slow = torch.stack([xlstm.naive_slstm(network, one) for one in x])
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-10)
    assert_same_gradients(fast, slow, [x, *network.parameters()])


def test_exponentials_of_a_thousand_stay_within_range():
    network = mixer().float()
    with torch.no_grad():
        network.bias[:, :3] += torch.tensor([1000.0, -1000.0, 0.0])
    x = torch.randn(2, 50, 6, requires_grad=True)
    answer, _ = network(x, ())
    answer.square().sum().backward()
    assert answer.isfinite().all()
    assert all(p.grad.isfinite().all() for p in network.parameters())


@pytest.mark.parametrize(
    ("every", "layers", "kinds"), [(1, 2, "ss"), (2, 5, "msmsm"), (3, 4, "mmsm"), (3, 3, "mms")]
)
def test_which_block_is_which(every, layers, kinds):
    network = build_xlstm(fake_task(), XlstmConfig(width=8, layers=layers, every=every))
    of = {"s": SlstmMixer, "m": MlstmMixer}
    assert [type(block.mixer) for block in network.blocks] == [of[kind] for kind in kinds]
    # An mLSTM's block has no MLP.
    assert ["s" if block.feed_forward else "m" for block in network.blocks] == list(kinds)


def test_it_says_what_its_blocks_are():
    both, one = (build_xlstm(fake_task(), XlstmConfig(width=8, every=every)) for every in (2, 1))
    assert set(both.traits.mechanisms) == {"fixed-depth", "slstm-recurrence", "matrix-memory"}
    assert set(one.traits.mechanisms) == {"fixed-depth", "slstm-recurrence"}


def test_blocks_follow_each_other():
    network = shaken(build_xlstm(fake_task(), XlstmConfig(width=8, heads=2, chunk=4)))
    symbols = strings(3, 9)
    x = network.embedding(symbols)
    first, second = network.blocks
    x = x + first.mixer(first.norm_mixer(x), ())[0]
    x = x + torch.stack([xlstm.naive_slstm(second.mixer, one) for one in second.norm_mixer(x)])
    x = x + second.feed_forward(second.norm_feed_forward(x))
    torch.testing.assert_close(network(Batch(symbols)), network.norm(x), rtol=0, atol=1e-10)
