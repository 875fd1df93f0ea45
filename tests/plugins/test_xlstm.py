"""xLSTM is what its blocks are, and which block is which follows from one option."""

from __future__ import annotations

import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench_models.catalogue.linear_recurrences import XlstmConfig
from formalbench_models.families import xlstm
from formalbench_models.families.xlstm import MlstmMixer, SlstmMixer, build_xlstm
from model_helpers import fake_task, shaken, strings


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
