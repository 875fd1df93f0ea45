"""minLSTM's two kinds of gates: sums, which can count, and averages, which cannot."""

from __future__ import annotations

import pytest
import torch
from family_helpers import at_first


def mixer_at_first(**options):
    return at_first("minlstm", width=8, **options).blocks[0].mixer.double()


@pytest.mark.parametrize("normalised", [False, True])
@torch.no_grad()
def test_open_gates_count_only_if_they_are_not_normalised(normalised):
    mixer = mixer_at_first(normalised=normalised, candidate="linear")
    mixer.gates.weight.zero_()
    mixer.gates.bias.fill_(40.0)  # f = i = 1
    mixer.candidate.weight.zero_()
    mixer.candidate.bias.fill_(1.0)
    _, (state,) = mixer(torch.zeros(1, 50, 8, dtype=torch.float64), ())
    want = 1.0 if normalised else 50.0
    torch.testing.assert_close(state, torch.full_like(state, want), rtol=1e-9, atol=1e-9)


def test_the_forget_gate_begins_open_unless_normalised():
    free, normed = mixer_at_first().gates.bias, mixer_at_first(normalised=True).gates.bias
    assert (free[:16] == 3).all()
    assert torch.equal(free[16:], normed[16:])
    assert normed.abs().max() < 0.4
