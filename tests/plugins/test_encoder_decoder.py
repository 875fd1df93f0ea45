"""The encoder-decoder against the library's, its options, and what it promises."""

import math

import pytest
import torch
from exact_helpers import get_host
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host.options import make_config, option_facts
from formalbench_models.families.encoder_decoder import EncoderDecoder
from formalbench_models.layers.feed_forward import WordDropout
from formalbench_models.plugin import formalbench_models
from model_helpers import fake_task, padded, shaken, strings
from torch import nn

(SPEC,) = (spec for spec in formalbench_models() if spec.name == "encoder-decoder")
POSITIONS = option_facts(SPEC)["positions"]["choices"]


def make(**options):
    config = make_config(SPEC, {"width": 8, "heads": 2} | options)
    return shaken(EncoderDecoder(fake_task("decoded"), config))


def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, ours.key_value.weight)))
    theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, ours.key_value.bias)))
    theirs.out_proj.load_state_dict(ours.merge_heads.state_dict())


def copy_shared(block, layer, norms):
    copy_attention(block.attention, layer.self_attn)
    layer.linear1.load_state_dict(block.feed_forward.up.state_dict())
    layer.linear2.load_state_dict(block.feed_forward.down.state_dict())
    for norm, name in zip(norms, ("norm1", "norm2", "norm3"), strict=False):
        getattr(layer, name).load_state_dict(norm.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_it_is_the_librarys(norm):
    network = make(norm=norm, positions="none", layers=1)
    sizes = {
        "d_model": 8,
        "nhead": 2,
        "dim_feedforward": 32,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": norm == "pre",
        "dtype": torch.float64,
    }
    encoder, decoder = nn.TransformerEncoderLayer(**sizes), nn.TransformerDecoderLayer(**sizes)
    (read,), (said,) = network.encoder, network.decoder
    copy_shared(read, encoder, (read.norm_attention, read.norm_feed_forward))
    block = said.said
    copy_shared(block, decoder, (block.norm_attention, said.norm_cross, block.norm_feed_forward))
    copy_attention(said.cross, decoder.multihead_attn)
    batch = Batch(strings(3, 7), torch.tensor([7, 4, 0]), strings(3, 5, 4))
    inputs = network.read.symbol(network.read_alphabet.prepend(batch.symbols, "begin"))
    outputs = network.said.symbol(network.said_alphabet.prepend(batch.decoded, "begin"))
    hidden = torch.arange(8) >= batch.lengths[:, None] + 1
    memory = network.norm_encoder(encoder(inputs, src_key_padding_mask=hidden))
    state = decoder(
        outputs,
        memory,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64),
        memory_key_padding_mask=hidden,
    )
    want = network.readout(network.norm_decoder(state))
    torch.testing.assert_close(network(batch), want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("log_length", [False, True])
@torch.no_grad()
def test_a_padded_string_and_a_longer_answer_change_nothing(positions, log_length):
    network = make(positions=positions, log_length=log_length)
    batch, alone = padded([9, 1, 0, 4])
    said = strings(4, 6, 4, seed=1)
    together = network(batch._replace(decoded=said))
    assert together.shape == (4, 7, 4)
    for row, single in enumerate(alone):
        for count in (0, 3, 6):
            want = network(single._replace(decoded=said[row : row + 1, :count]))[0]
            torch.testing.assert_close(together[row, : count + 1], want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_step_by_step_it_says_the_same(positions, norm):
    network = make(positions=positions, norm=norm, log_length=True)
    batch, _ = padded([9, 1, 0, 4])
    for one in (batch, Batch(strings(4, 7))):
        said = strings(4, 6, 4, seed=1)
        want = network(one._replace(decoded=said))
        logits, kept = network.next(network.begin(one), None)
        found = [logits]
        for column in said.T:
            logits, kept = network.next(kept, column)
            found.append(logits)
        torch.testing.assert_close(torch.stack(found, dim=1), want, rtol=0, atol=1e-10)
    # Rows may change places on the way, as hypotheses do.
    logits, _ = network.next(tuple(part.flip(0) for part in network.begin(one)), None)
    torch.testing.assert_close(logits, want[:, 0].flip(0), rtol=0, atol=1e-10)


@torch.no_grad()
def test_logits_of_all_attentions_grow_with_what_is_attended_to():
    plain, scaled = make(layers=1), make(layers=1, log_length=True)
    scaled.load_state_dict(plain.state_dict())
    batch = Batch(strings(2, 7), decoded=strings(2, 3, 4))
    assert not torch.allclose(plain(batch), scaled(batch))
    (block,) = plain.decoder
    (other,) = scaled.decoder
    # Of e positions the logarithm is 1; of 8, as many times the query gives the same.
    with torch.no_grad():
        block.cross.query.weight.mul_(torch.tensor(8.0).double().log())
        block.cross.query.bias.mul_(torch.tensor(8.0).double().log())
    x_BQD, memory = torch.randn(2, 4, 8).double(), torch.randn(2, 8, 8).double()
    torch.testing.assert_close(
        *(net.take(x_BQD, *net.keys_and_values(memory), None) for net in (block.cross, other.cross))
    )


def test_it_is_for_functions():
    with pytest.raises(RequestError, match="does not support classify: it supports decode"):
        get_host().network("encoder-decoder", get_host().task("parity"), {})


SYMBOLS = 3


def make_small(symbols=SYMBOLS, **options):
    config = make_config(SPEC, {"width": 8, "heads": 2, "layers": 2} | options)
    task = fake_task("decoded", symbols=symbols, outputs=SYMBOLS + 1)
    torch.manual_seed(0)
    return shaken(EncoderDecoder(task, config))


def example(seed=0):
    return Batch(strings(4, 7, seed=seed), decoded=strings(4, 5, seed=seed + 1))


@torch.no_grad()
def test_one_matrix_reads_says_and_answers():
    plain, tied = make_small(), make_small(tied=True)
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
        make_small(symbols=2, tied=True)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_whatever_the_published_code_drops_is_dropped(norm):
    network = make_small(dropout=0.5, norm=norm).train()
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
    network = make_small(word_dropout=0.9).train()
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
