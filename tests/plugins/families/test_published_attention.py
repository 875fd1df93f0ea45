"""Published position codes and kinds of attention, given the same weights, give the same numbers.

`make test-published` installs them; `make test` goes without.
"""

from __future__ import annotations

import math
from importlib import import_module

import pytest
import torch
from family_helpers import file_of
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.relative_positions import (
    AlibiAttention,
    PathAttention,
    T5Attention,
    XposAttention,
)
from model_helpers import shaken

# What they use may be deprecated.
pytestmark = [pytest.mark.published, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

LENGTH, WIDTH, HEADS, SIZE = 150, 16, 2, 8
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


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
