"""Tied embeddings and dropout of the encoder-decoder."""

from __future__ import annotations

import math

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host.options import make_config
from formalbench_models.families.encoder_decoder import EncoderDecoder
from formalbench_models.layers.feed_forward import WordDropout
from formalbench_models.plugin import formalbench_models
from model_helpers import fake_task, shaken, strings
from torch import nn

(SPEC,) = (spec for spec in formalbench_models() if spec.name == "encoder-decoder")
SYMBOLS = 3


def make(symbols=SYMBOLS, **options):
    config = make_config(SPEC, {"width": 8, "heads": 2, "layers": 2} | options)
    task = fake_task("decoded", symbols=symbols, outputs=SYMBOLS + 1)
    torch.manual_seed(0)
    return shaken(EncoderDecoder(task, config))


def example(seed=0):
    return Batch(strings(4, 7, seed=seed), decoded=strings(4, 5, seed=seed + 1))


@torch.no_grad()
def test_one_matrix_reads_says_and_answers():
    plain, tied = make(), make(tied=True)
    rows_VD = tied.read.symbol.weight
    assert rows_VD.shape == (SYMBOLS + 2, 8)  # END and begin are symbols, too
    assert len(list(tied.parameters())) == len(list(plain.parameters())) - 2
    # An untied network with these numbers in all three places says the same.
    shared = {name: value for name, value in tied.state_dict().items() if name != "bias_K"}
    begin = rows_VD[-1:]
    plain.load_state_dict(
        shared
        | {
            "read.symbol.weight": math.sqrt(8) * torch.cat((rows_VD[:SYMBOLS], begin)),
            "said.symbol.weight": math.sqrt(8) * rows_VD,
            "readout.weight": rows_VD[: SYMBOLS + 1],
            "readout.bias": tied.bias_K,
        }
    )
    torch.testing.assert_close(tied(example()), plain(example()), rtol=0, atol=1e-10)


def test_only_one_alphabet_can_be_tied():
    with pytest.raises(RequestError, match="the same input and output alphabet, not 2 symbols"):
        make(symbols=2, tied=True)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_whatever_the_published_code_drops_is_dropped(norm):
    network = make(dropout=0.5, norm=norm).train()
    want = network.eval()(example())
    network.train()
    dropouts = [module for module in network.modules() if isinstance(module, nn.Dropout)]
    # The embeddings; of 2 + 2 blocks weights, hidden units and branches; weights across.
    assert len(dropouts) == 1 + 3 * 4 + 2
    for module in dropouts:
        module.p = 0.0
    torch.testing.assert_close(network(example()), want, rtol=0, atol=1e-12)
    for module in dropouts:
        module.p = 0.5
        assert not torch.allclose(network(example()), want), module
        module.p = 0.0


def test_words_are_replaced_by_one_that_is_none():
    words = strings(50, 40)
    hide = WordDropout(0.25, 7)
    torch.manual_seed(0)
    hidden = hide(words)
    assert abs(float((hidden == 7).float().mean()) - 0.25) < 0.03
    assert bool(((hidden == words) | (hidden == 7)).all())
    assert hide.eval()(words) is words


@torch.no_grad()
def test_both_what_is_read_and_what_is_said_is_hidden():
    network = make(word_dropout=0.9).train()
    for one in (network.hide_read, network.hide_said):
        one.share = 0.0
    want = network(example())
    torch.testing.assert_close(network.eval()(example()), want, rtol=0, atol=0)
    network.train()
    for one in (network.hide_read, network.hide_said):
        one.share = 1.0
        hidden = network(example())
        assert not torch.allclose(hidden, want)
        one.share = 0.0
    network.hide_read.share = network.hide_said.share = 1.0
    # Nothing of the symbols is left: other ones say the same.
    torch.testing.assert_close(network(example()), network(example(5)), rtol=0, atol=0)
