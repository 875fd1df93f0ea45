from __future__ import annotations

import pytest
import torch
from formalbench_models.fused import fused_attention


def inputs(runs=3):
    query, key, value = (torch.randn(runs, 2, 4, 5, 8, dtype=torch.float64) for _ in range(3))
    return query, key, value


@pytest.mark.parametrize("shape", [(3, 2, 4, 5, 5), (3, 1, 1, 5, 5), (2, 4, 5, 5), (1, 1, 5, 5)])
@torch.no_grad()
def test_vmap_over_any_dimension_equals_run_by_run(shape):
    query, key, value = inputs()
    bias = torch.randn(shape, dtype=torch.float64)
    own = len(shape) == 5
    want = torch.stack(
        [fused_attention(query[r], key[r], value[0], bias[r] if own else bias) for r in range(3)]
    )
    got = torch.vmap(fused_attention, in_dims=(1, 0, None, 0 if own else None))(
        query.movedim(0, 1), key, value[0], bias
    )
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


@torch.no_grad()
def test_it_is_the_formula():
    query, key, value = (x[0] for x in inputs())
    want = (query @ key.mT).softmax(-1) @ value
    torch.testing.assert_close(fused_attention(query, key, value, None), want, rtol=0, atol=1e-12)
