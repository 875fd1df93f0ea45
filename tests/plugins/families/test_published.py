"""Published recurrences and attentions, given the same weights, give the same numbers."""

from __future__ import annotations

import math
from importlib import import_module

import pytest
import torch
from family_helpers import SPECS, file_of
from formalbench.host.host import load
from formalbench.host.options import make_config
from formalbench_models.catalogue.linear_recurrences import SlstmConfig
from formalbench_models.families.xlstm import SlstmMixer
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.relative_positions import (
    AlibiAttention,
    PathAttention,
    T5Attention,
    XposAttention,
)
from model_helpers import fake_task, shaken

# What they use may be deprecated.
pytestmark = [pytest.mark.published, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def mixer_of(name, **options):
    spec = SPECS[name]
    network = load(spec.factory)(fake_task(), make_config(spec, {"width": 16} | options))
    return network.blocks[0].mixer


def assert_same(mine, theirs):
    x = torch.randn(2, 37, 16)
    torch.testing.assert_close(mine(x, ())[0], theirs(x), **CLOSE)


def draw(*sizes):
    return torch.randn(2, 3, 37, *sizes)


def unit(x):
    return torch.nn.functional.normalize(x, dim=-1)


@torch.no_grad()
def test_mamba_is_that_of_mambapy():
    mambapy = import_module("mambapy.mamba")
    theirs = mambapy.MambaBlock(mambapy.MambaConfig(d_model=16, n_layers=1))
    mine = mixer_of("mamba")
    for one, other in (
        (mine.project, theirs.in_proj),
        (mine.select, theirs.x_proj),
        (mine.step, theirs.dt_proj),
        (mine.merge, theirs.out_proj),
    ):
        one.load_state_dict(other.state_dict())
    mine.convolution.weight.copy_(theirs.conv1d.weight.squeeze(1).mT)
    mine.convolution.bias.copy_(theirs.conv1d.bias)
    mine.log_rate.copy_(theirs.A_log)
    mine.skip.copy_(theirs.D)
    assert_same(mine, theirs)


@pytest.mark.parametrize(("kind", "options"), [("GRU", {}), ("LSTM", {"normalised": True})])
@torch.no_grad()
def test_minimal_networks_are_those_of_mingru_pytorch(kind, options):
    package = import_module(f"minGRU_pytorch.min{kind}")
    theirs = getattr(package, f"min{kind}")(16, expansion_factor=2)
    mine = mixer_of(f"min{kind.lower()}", **options)
    both = theirs.to_hidden_and_gate if kind == "GRU" else theirs.to_hidden_and_f_i_gate
    candidate, gates = both.weight.split([32, len(both.weight) - 32])
    for layer, weight in ((mine.candidate, candidate), (mine.gates, gates)):
        layer.weight.copy_(weight)
        layer.bias.zero_()
    mine.merge.load_state_dict(theirs.to_out.state_dict())
    assert_same(mine, theirs)


@pytest.mark.parametrize("heads", [1, 2, 4])
@torch.no_grad()
def test_slstm_is_that_of_xlstm(heads):
    package = import_module("xlstm.blocks.slstm.layer")
    config = package.sLSTMLayerConfig(
        embedding_dim=16, num_heads=heads, backend="vanilla", dropout=0.0
    )
    theirs = package.sLSTMLayer(config).eval()
    mine, size = SlstmMixer(SlstmConfig(width=16, heads=heads), 0.5), 16 // heads
    # Of their gates the one named f is read first, and is the input's.
    first, second = ((theirs.fgate, theirs.igate), (theirs.zgate, theirs.ogate))
    for parameter, layers in ((mine.of_mixed, first), (mine.of_symbol, second)):
        parameter.copy_(torch.cat([layer.weight.mT for layer in layers], -1))
    torch.nn.init.normal_(mine.recurrent, std=0.3)
    torch.nn.init.normal_(mine.bias, std=0.3)
    cell = theirs.slstm_cell
    kernel = mine.recurrent.unflatten(-1, (4, size)).permute(0, 2, 3, 1)
    cell._recurrent_kernel_.copy_(kernel.reshape(cell._recurrent_kernel_.shape))
    bias = mine.bias.unflatten(-1, (4, size)).transpose(0, 1)
    cell._bias_.copy_(bias.reshape(cell._bias_.shape))
    mine.convolution.weight.copy_(theirs.conv1d.conv.weight.squeeze(1).mT)
    mine.convolution.bias.copy_(theirs.conv1d.conv.bias)
    assert_same(mine, theirs)


@torch.no_grad()
def test_lru_is_that_of_lru_pytorch():
    theirs = import_module("LRU_pytorch").LRU(16, 16, 64, rmin=0.9, rmax=0.999)
    mine = mixer_of("lru")
    for one, other in (
        (mine.log_decay, theirs.nu_log),
        (mine.log_turn, theirs.theta_log),
        (mine.log_scale, theirs.gamma_log),
        (mine.write, torch.view_as_real(theirs.B)),
        (mine.read, torch.view_as_real(theirs.C)),
    ):
        one.copy_(other)
    theirs.D.copy_(mine.skip.diag())
    assert_same(mine, theirs)


@torch.no_grad()
def test_mlstm_is_that_of_xlstm():
    cell = file_of("xlstm", "blocks/mlstm/backends.py").parallel_stabilized_simple
    mine = mixer_of("mlstm", heads=2)
    torch.nn.init.normal_(mine.input_gate.weight, std=0.2)
    torch.nn.init.normal_(mine.forget_gate.weight, std=0.2)
    query, key, value = (torch.randn(2, 37, 32) for _ in range(3))
    every = torch.cat((query, key, value), dim=-1)
    parts = [x.unflatten(-1, (2, -1)).transpose(1, 2) for x in (query, key, value)]
    gates = [layer(every).mT[..., None] for layer in (mine.input_gate, mine.forget_gate)]
    want = cell(*parts, *gates).transpose(1, 2).flatten(2)
    torch.testing.assert_close(mine._cell(query, key, value, None, None)[0], want, **CLOSE)


@torch.no_grad()
def test_the_delta_rule_is_that_of_flash_linear_attention():
    theirs = file_of("fla", "ops/delta_rule/naive.py").delta_rule_recurrence
    query, key, value, rate = draw(8), unit(draw(8)), draw(4), draw().sigmoid()
    want, state = theirs(query, key, value, rate)
    rate = rate[..., None]
    mine, kept = remember(Steps(query, rate * key, value, None, -rate * key, key), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)
    torch.testing.assert_close(kept, state, **CLOSE)


@torch.no_grad()
def test_delta_products_are_those_of_flash_linear_attention():
    file = file_of("fla", "ops/gated_delta_product/naive.py")
    query, decay = draw(8), draw(1).sigmoid()
    key, value, rate = (
        unit(torch.randn(2, 3, 74, 8)),
        torch.randn(2, 3, 74, 4),
        2 * torch.rand(2, 3, 74),
    )
    places = [x.transpose(1, 2) for x in (query, key, value, decay[..., 0].log(), rate)]
    want, _ = file.naive_recurrent_gated_delta_product(*places, scale=1.0, num_householder=2)
    every = torch.cat((decay, torch.ones_like(decay)), dim=-1).flatten(2)[..., None]
    rate = rate[..., None]
    steps = Steps(query.repeat_interleave(2, 2), rate * key, value, every, -rate * every * key, key)
    mine, _ = remember(steps, None, 16)
    torch.testing.assert_close(mine[:, :, 1::2].transpose(1, 2), want, **CLOSE)


@torch.no_grad()
def test_rows_that_decay_with_low_rank_are_those_of_flash_linear_attention():
    theirs = file_of("fla", "ops/generalized_delta_rule/dplr/naive.py").dplr_recurrence
    query, key, value, decay = draw(8), draw(8), draw(4), draw(8).sigmoid()
    read, write = unit(draw(8)), -unit(draw(8))
    want, _ = theirs(query, key, value, read, write, decay.log())
    mine, _ = remember(Steps(query, key, value, decay, write, read), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)


@torch.no_grad()
def test_gates_of_rows_are_those_of_flash_linear_attention():
    theirs = file_of("fla", "ops/gla/naive.py").naive_recurrent_gla
    query, key, value, decay = draw(8), draw(8), draw(4), draw(8).sigmoid()
    places = [x.transpose(1, 2) for x in (query, key, value, decay.log())]
    want = theirs(*places)[0].transpose(1, 2)
    mine, _ = remember(Steps(query, key, value, decay), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)


@torch.no_grad()
def test_retention_is_that_of_flash_linear_attention():
    theirs = file_of("fla", "ops/retention/naive.py").naive_retention
    query, key, value = draw(8), draw(8), draw(4)
    decay = (1 - 2.0 ** (-5 - torch.arange(3)))[:, None, None].expand(2, 3, 37, 1)
    mine, _ = remember(Steps(query, key, value, decay), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, theirs(query, key, value), **CLOSE)


@torch.no_grad()
def test_the_delta_rule_with_a_decay_is_that_of_flash_linear_attention():
    theirs = file_of("fla", "ops/gated_delta_rule/naive.py").naive_recurrent_gated_delta_rule
    query, key, value = draw(8), unit(draw(8)), draw(4)
    decay, rate = draw(1).sigmoid(), draw(1).sigmoid()
    places = [x.transpose(1, 2) for x in (query, key, value, rate[..., 0], decay[..., 0].log())]
    want = theirs(*places)[0].transpose(1, 2)
    mine, _ = remember(Steps(query, rate * key, value, decay, -rate * decay * key, key), None, 16)
    torch.testing.assert_close(mine * 8**-0.5, want, **CLOSE)


@torch.no_grad()
def test_sums_and_their_normaliser_are_those_of_flash_linear_attention():
    theirs = file_of("fla", "ops/linear_attn/naive.py").naive_recurrent_linear_attn
    query, key, value = draw(8).exp(), draw(8).exp(), draw(4)
    places = [x.transpose(1, 2) for x in (query, key, value)]
    want = theirs(*places, normalize=True)[0].transpose(1, 2)
    ones = torch.ones_like(value[..., :1])
    mine, _ = remember(Steps(query, key, torch.cat((value, ones), -1)), None, 16)
    torch.testing.assert_close(mine[..., :-1] / mine[..., -1:], want, **CLOSE)


# What they use may be deprecated.

LENGTH, WIDTH, HEADS, SIZE = 150, 16, 2, 8


def make(kind, **options):
    """Return attention in fp32 that answers with its mixture: what merges heads is the identity."""
    torch.manual_seed(0)
    layer = shaken(kind(WIDTH, HEADS, causal=True, log_length=False, bias=False, **options)).float()
    layer.merge_heads.weight.data = torch.eye(WIDTH)
    return layer


def parts(layer, x_BND):
    """Return queries, keys and values, (B, N, H, E) each."""
    maps = (layer.query(x_BND), *layer.key_value(x_BND).chunk(2, dim=-1))
    return [part.unflatten(-1, (HEADS, SIZE)) for part in maps]


def compare(layer, theirs):
    x_BND = torch.randn(2, LENGTH, WIDTH)
    want = theirs(x_BND, *parts(layer, x_BND))
    found, _ = layer(x_BND, Span(0, LENGTH))
    torch.testing.assert_close(found, want.flatten(2), **CLOSE)


@torch.no_grad()
def test_forget_gates_are_those_of_flash_linear_attention():
    naive = file_of("fla", "ops/forgetting_attn/naive.py").naive_forgetting_attn
    layer = make(Attention, forget=True)
    compare(layer, lambda x, *qkv: naive(*qkv, layer.forget.gate(x).sigmoid().log()))


@pytest.mark.parametrize("forget", [False, True])
@torch.no_grad()
def test_path_is_that_of_flash_linear_attention(forget):
    naive = file_of("fla", "ops/path_attn/naive.py").naive_path_attn
    layer = make(PathAttention, forget=forget)
    if forget:  # single precision is for sums of logarithms that stay small
        layer.forget.gate.bias += 4

    def theirs(x_BND, query, key, value):
        w, beta = (part.transpose(1, 2) for part in layer.seen(x_BND)[-2:])
        # They divide gates by the root of the width as well.
        gates = layer.forget.gate(x_BND).sigmoid().log() * SIZE**0.5 if forget else 0 * beta[..., 0]
        return naive(query, key, value, w, beta[..., 0], gates, SIZE**-0.5)

    compare(layer, theirs)


@torch.no_grad()
def test_stick_breaking_is_that_of_flash_linear_attention():
    naive = file_of("fla", "ops/stickbreaking_attn/naive.py").naive_stickbreaking_attn

    def theirs(x_BND, query, key, value):
        answer, left = naive(query, key, value)
        return answer + left[..., None] * value  # what is left goes to the query's own position

    compare(make(Attention, stick_breaking=True), theirs)


@pytest.mark.parametrize("causal", [False, True])
@torch.no_grad()
def test_buckets_are_those_of_x_transformers(causal):
    package = import_module("x_transformers.x_transformers")
    theirs = package.RelativePositionBias(1.0, causal=causal, heads=HEADS)
    layer = T5Attention(WIDTH, HEADS, causal=causal, log_length=False)
    layer.bucket_bias.load_state_dict(theirs.relative_attention_bias.state_dict())
    key = torch.zeros(1, HEADS, 1000, SIZE)
    bias = layer.terms(key, key, Span(0, 1000)).bias[0]
    wanted = theirs(1000, 1000)
    if causal:  # what is behind a query means nothing
        bias, wanted = bias.tril(), wanted.tril()
    assert torch.equal(bias, wanted)


@torch.no_grad()
def test_linear_biases_are_those_of_x_transformers():
    theirs = import_module("x_transformers.x_transformers").AlibiPositionalBias(HEADS)
    layer = AlibiAttention(WIDTH, HEADS, causal=True, log_length=False)
    key = torch.zeros(1, HEADS, 1000, SIZE)
    bias = layer.terms(key, key, Span(0, 1000)).bias[0]
    torch.testing.assert_close(bias, theirs(1000, 1000), rtol=0, atol=0)


@torch.no_grad()
def test_decaying_rotations_are_those_of_x_transformers():
    package = import_module("x_transformers.x_transformers")
    layer = XposAttention(WIDTH, HEADS, causal=True, log_length=False).double()
    query, key = torch.randn(2, 1, HEADS, 1000, SIZE, dtype=torch.float64)
    mine = layer.terms(query, key, Span(0, 1000))
    found = mine.query @ mine.key.mT * math.sqrt(SIZE)
    angles, scale = package.RotaryEmbedding(SIZE, use_xpos=True).double()(torch.arange(1000))
    rotated = package.apply_rotary_pos_emb
    wanted = rotated(query, angles, scale) @ rotated(key, angles, scale**-1).mT
    torch.testing.assert_close(found.tril(), wanted.tril(), **CLOSE)
