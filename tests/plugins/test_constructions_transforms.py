"""Layer norm, the wanted cross-entropy and changed entries, on constructions of any kind."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench_models.constructions import transforms
from formalbench_models.constructions.construction import (
    Construction,
    FeedForward,
    Head,
    HiddenUnit,
    Layer,
    Position,
    alternating,
    constant,
    cosine,
    fraction,
    is_first_symbol,
    is_position,
    rounded,
    sine,
)
from formalbench_models.constructions.network import HandWritten
from formalbench_models.layers.feed_forward import LayerNorm, layer_norm

MAJORITY = Construction(
    coordinates=("a", "b", "BOS", "END", "i/n", "difference", "s"),
    symbols={name: {name: 1.0} for name in ("a", "b", "BOS", "END")},
    positions=(Position(fraction, {"i/n": 1.0}),),
    layers=(
        Layer(
            heads=(Head("count", {"difference": {"a": 1.0, "b": -1.0}}, mask="future"),),
            feed_forwards=(
                FeedForward((HiddenUnit({"difference": 1.0}, {"s": 1.0}),)),
                FeedForward(
                    (HiddenUnit({"difference": -1.0}, {"s": -1.0}),), replaces=("difference",)
                ),
            ),
        ),
    ),
    logits=({}, {"s": 1.0}),
    begin="BOS",
    end="END",
    read="last",
)


def run(construction, strings):
    with torch.no_grad():
        return HandWritten(construction, "ab")(Batch(strings))


def strings(count=30, length=9):
    return torch.randint(2, (count, length), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("width", [1, 2, 5, 6])
@pytest.mark.parametrize("epsilon", [0.0, 1e-5, 1.0])
def test_layer_norm_equals_its_formula(width, epsilon):
    x = torch.randn(50, width, dtype=torch.float64)
    spread = x.var(-1, unbiased=False, keepdim=True) + epsilon
    want = torch.nan_to_num((x - x.mean(-1, keepdim=True)) / spread.sqrt())
    torch.testing.assert_close(layer_norm(x, epsilon), want, rtol=1e-12, atol=1e-12)
    if epsilon and width > 1:
        library = torch.nn.functional.layer_norm(x, (width,), eps=epsilon)
        torch.testing.assert_close(layer_norm(x, epsilon), library, rtol=1e-10, atol=1e-12)


def test_layer_norm_of_zero_is_zero_and_has_a_gradient():
    x = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    norm = LayerNorm(4, eps=0.0).double()
    out = norm(x)
    out.sum().backward()
    assert torch.equal(out, torch.zeros(3, 4).double())
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_layer_norm_of_a_vector_and_its_negative_has_no_rounding_error_where_it_is_zero(dtype):
    x = torch.randn(1000, 9, dtype=torch.float64).to(dtype)
    x[:, 4] = 0.0
    out = layer_norm(torch.cat((x, -x), dim=-1), 0.0)
    assert out.dtype == dtype
    assert (out[:, [4, 13]] == 0).all()
    assert torch.equal(out[:, :9], -out[:, 9:])


def test_majority_reads_like_itself():
    x = strings()
    difference = (1.0 - 2.0 * x.double()).sum(1)
    got = run(MAJORITY, x)
    torch.testing.assert_close(got[:, 1], difference / 11, rtol=1e-14, atol=0)
    assert (got[:, 0] == 0).all()


@pytest.mark.parametrize("epsilon", [0.0, 1e-5, 0.1])
def test_layer_norm_keeps_decisions_and_every_mean_at_zero(epsilon):
    x = strings()
    normed = transforms.with_layer_norm(MAJORITY, epsilon)
    assert torch.equal(run(normed, x)[:, 1].sign(), run(MAJORITY, x)[:, 1].sign())
    trace = HandWritten(normed, "ab").trace(Batch(x))
    for point in ("input", "layer.1.attention", "layer.1.feed_forward.2"):
        for name in MAJORITY.coordinates:
            assert torch.equal(trace[f"{point}[{name}]"], -trace[f"{point}[-{name}]"])
    assert (trace["layer.1.feed_forward.2[difference]"] == 0).all()


def test_the_input_as_printed_would_be_recentred():
    # The paper prints (x, 0) for (x, -x). Then what should be 0 is not, after layer norm.
    normed = transforms.with_layer_norm(MAJORITY, 1e-5)
    printed = {
        symbol: {name: factor for name, factor in form.items() if not name.startswith("-")}
        for symbol, form in normed.symbols.items()
    }
    wrong = replace(normed, symbols=printed)
    balanced = torch.tensor([[0, 1, 1, 0]])
    for construction, is_zero in ((normed, True), (wrong, False)):
        trace = HandWritten(construction, "ab").trace(Batch(balanced))
        assert (trace["layer.1.attention[difference]"][0, -1] == 0) == is_zero


@pytest.mark.parametrize("eta", [1e-6, 0.001, 0.5])
def test_the_layer_of_proposition_2_reaches_the_wanted_cross_entropy(eta):
    x = strings()
    wanted = transforms.with_cross_entropy(transforms.with_layer_norm(MAJORITY, 0.0), eta)
    logit = run(wanted, x)[:, 1]
    assert torch.equal(logit.sign(), run(MAJORITY, x)[:, 1].sign())
    nats = torch.nn.functional.softplus(-logit.abs())
    torch.testing.assert_close(nats, torch.full_like(nats, eta), rtol=1e-12, atol=0)
    assert wanted.constants == {"eps": 0.0, "eta": eta}
    tie = run(wanted, torch.tensor([[0, 1]]))
    assert torch.equal(tie, torch.zeros(1, 2, dtype=torch.float64))


def test_one_entry_changes_one_number_and_nothing_else():
    normed = transforms.with_layer_norm(MAJORITY, 0.0)
    changed = transforms.with_value_entry(normed, 1, "count", ("difference", "a"), 1.25)
    before, after = (HandWritten(one, "ab").state_dict() for one in (normed, changed))
    differing = [name for name in before if not torch.equal(before[name], after[name])]
    assert differing == ["layers.0.heads.0.value.weight"]
    gap = after[differing[0]] - before[differing[0]]
    assert gap.count_nonzero() == 1
    assert gap.sum() == 0.25


def test_position_codes_are_exact():
    i = torch.arange(7)
    assert fraction(i, 7).tolist() == [k / 7 for k in range(7)]
    assert alternating(i, 7).tolist() == [1, -1, 1, -1, 1, -1, 1]
    assert is_first_symbol(i, 7).tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert is_position(3)(i, 7).tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert constant(2.5)(i, 7).tolist() == [2.5] * 7
    assert rounded(fraction, 2)(i, 7).tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
    assert cosine(fraction)(i, 7)[2].item() == pytest.approx(math.cos(4 * math.pi / 7))
    assert sine(fraction)(i, 7)[2].item() == pytest.approx(math.sin(4 * math.pi / 7))
    for code in (fraction, alternating, is_first_symbol, constant(1.0)):
        assert code(i, 7).dtype == torch.float64


def test_lengths_out_of_range_are_one_line():
    bounded = Construction(**{**vars(MAJORITY), "lengths": (1, 8)})
    with pytest.raises(RequestError, match="length 1 to 8, not 9"):
        run(bounded, strings())
    with pytest.raises(RequestError, match="at least 10, not 9"):
        run(Construction(**{**vars(MAJORITY), "lengths": (10, None)}), strings())
