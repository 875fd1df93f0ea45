"""Every gate on every input, and several in one layer."""

from __future__ import annotations

import itertools

import pytest
import torch
from formalbench_models.constructions import gates
from formalbench_models.constructions.construction import FeedForward, HiddenUnit, times
from formalbench_models.constructions.network import FeedForwardLayer

BITS = (0.0, 1.0)


def run(network, values, coordinates):
    """Return what a feed-forward network makes of a stream, as coordinate -> value."""
    place = {name: index for index, name in enumerate(coordinates)}
    x_D = torch.tensor([values.get(name, 0.0) for name in coordinates], dtype=torch.float64)
    with torch.no_grad():
        after_D = FeedForwardLayer(network, place)(x_D[None, None])[0, 0]
    return dict(zip(coordinates, after_D.tolist(), strict=True))


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_logic_gates_on_every_input(m):
    inputs = [f"x{i}" for i in range(m)]
    layer = (
        gates.and_gate(inputs, "and")
        + gates.or_gate(inputs, "or")
        + gates.and_gate([gates.negation(x) for x in inputs], "nor")
    )
    for bits in itertools.product(BITS, repeat=m):
        values = dict(zip(inputs, bits, strict=True))
        got = run(layer, values, (*inputs, "and", "or", "nor"))
        assert got == {
            **values,
            "and": float(all(bits)),
            "or": float(any(bits)),
            "nor": float(not any(bits)),
        }


@pytest.mark.parametrize("m", [0, 1, 2, 3, 4])
def test_same_on_every_pair_of_vectors(m):
    xs, ys = [f"x{i}" for i in range(m)], [f"y{i}" for i in range(m)]
    layer = gates.same_gate(xs, ys, "same")
    for bits in itertools.product(BITS, repeat=2 * m):
        got = run(layer, dict(zip(xs + ys, bits, strict=True)), (*xs, *ys, "same"))
        assert got["same"] == float(bits[:m] == bits[m:])


@pytest.mark.parametrize("gap", [1.0, 0.125])
def test_comparisons_on_a_grid(gap):
    layer = gates.greater_than_gate("x", "y", "more", gap)
    layer += gates.equal_gate("x", "y", "equal", gap)
    layer += gates.equal_gate("x", "y", "nearly", gap, slack=gap / 4)
    for i, j in itertools.product(range(-12, 13), repeat=2):
        x, y = i * gap / 4, j * gap / 4
        got = run(layer, {"x": x, "y": y}, ("x", "y", "more", "equal", "nearly"))
        if x >= y + gap:
            assert got["more"] == 1.0
        elif x <= y:
            assert got["more"] == 0.0
        else:
            assert 0.0 < got["more"] < 1.0
        assert (got["equal"] == 1.0) == (i == j)
        if abs(x - y) >= gap:
            assert got["equal"] == pytest.approx(0.0, abs=1e-12)
            assert got["nearly"] == pytest.approx(0.0, abs=1e-12)
        if abs(i - j) <= 1:
            assert got["nearly"] == pytest.approx(1.0, abs=1e-12)


def test_layer_norm_over_the_hidden_units():
    # Lemma B.1's step: (d, e, -d, -e) becomes sine and cosine, for any length.
    network = FeedForward(
        tuple(
            HiddenUnit(times(sign, name), {f"{name}'": sign * 0.5**0.5})
            for name in ("d", "e")
            for sign in (1.0, -1.0)
        ),
        norm=0.0,
    )
    got = run(network, {"d": 3e-6, "e": 4e-6}, ("d", "e", "d'", "e'"))
    assert got["d'"] == pytest.approx(0.6, rel=1e-12)
    assert got["e'"] == pytest.approx(0.8, rel=1e-12)
    with pytest.raises(ValueError, match="sees them all"):
        network + FeedForward()
