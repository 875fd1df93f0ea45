"""fp16 and bf16 mean mixed precision: what is summed is summed in fp32, then rounded."""

from __future__ import annotations

import pytest
import torch
from formalbench.contracts.verification import MIXED
from formalbench.verification.judge import DTYPES
from formalbench_models.constructions.construction import Head
from formalbench_models.constructions.heads import AttentionHead
from formalbench_models.layers.feed_forward import layer_norm

LOW = pytest.mark.parametrize("name", sorted(MIXED))


def head_of(queries, keys):
    return AttentionHead(Head("h", {"out": {"a": 1.0}}, queries, keys), {"a": 0, "out": 1})


@LOW
@pytest.mark.parametrize("queries", [(), ({"a": 1.0},)], ids=["uniform", "reading"])
def test_a_mean_of_ones_is_one_however_many_there_are(name, queries):
    dtype = DTYPES[name]
    head = head_of(queries, queries).to(dtype)
    x_1MD = torch.tensor([1.0, 0.0], dtype=dtype).expand(1, 4096, 2)
    for span in ((0, 1), (4095, 4096), (0, 4096)):
        out_1QD = head(x_1MD, *span)
        assert out_1QD.dtype == dtype
        assert (out_1QD[..., 1] == 1).all()
    # A sum that is rounded after each summand comes to a halt.
    total = torch.zeros((), dtype=dtype)
    for _ in range(4096):
        total = total + 1
    assert total < 4096


@LOW
def test_attention_weights_are_fp32(name):
    head = head_of(({"a": 1.0},), ({"a": 1.0},)).to(DTYPES[name])
    x_1MD = torch.rand(1, 8, 2, dtype=DTYPES[name])
    assert head.weights(x_1MD, 0, 8).dtype == torch.float32


@LOW
def test_the_statistics_of_layer_norm_are_fp32(name):
    x_D = torch.tensor([40_000.0, -40_000.0, 0.0, 0.0], dtype=DTYPES[name])
    normed_D = layer_norm(x_D, 0.0)  # the squares are beyond what fp16 can hold
    assert normed_D.dtype == DTYPES[name]
    assert normed_D.tolist() == pytest.approx([2**0.5, -(2**0.5), 0, 0], rel=1e-2)
