"""Parts of constructions: gates, heads, layer norm and changed entries, mixed precision."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.verification import MIXED
from formalbench.verification.judge import DTYPES
from formalbench_models.constructions import gates, network, transforms
from formalbench_models.constructions.construction import (
    ONE,
    Construction,
    FeedForward,
    Head,
    HiddenUnit,
    Layer,
    Position,
    fraction,
    times,
)
from formalbench_models.constructions.network import AttentionHead, FeedForwardLayer, HandWritten
from formalbench_models.layers.feed_forward import LayerNorm, layer_norm

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


PLACE = {"a": 0, "b": 1, "c": 2, "out": 3, "also": 4}
VALUES = {"out": {"a": 2.0, ONE: 1.0}, "also": {"b": -1.0}}
QUERIES = {
    "uniform": ((), ()),
    "constant": (({ONE: 2.0}, {ONE: -0.5}), ({"a": 1.0}, {"b": 1.0, ONE: 0.25})),
    "reading": (({"b": 1.5, ONE: 1.0},), ({"a": 1.0, "c": -2.0},)),
}


def cases():
    for query, attention, mask, strict, log_length in itertools.product(
        QUERIES, ("soft", "hard"), ("none", "future", "past"), (False, True), (False, True)
    ):
        if mask != "none" or not strict:
            yield query, attention, mask, strict, log_length


def make(query, attention="soft", mask="none", strict=False, log_length=False):
    queries, keys = QUERIES[query]
    return Head("h", VALUES, queries, keys, attention, mask, strict, 1.5, log_length)


def evaluate(form, x_D):
    return sum(v if name == ONE else v * x_D[PLACE[name]].item() for name, v in form.items())


def naive(head, x_MD, i):
    """One query, from the definition."""
    n = len(x_MD)
    seen = {"none": range(n), "future": range(i + 1), "past": range(i, n)}[head.mask]
    seen = [j for j in seen if not (head.strict and j == i)]
    if not seen:
        return [0.0] * len(VALUES)
    pairs = list(zip(head.query, head.key, strict=True))
    logits = [sum(evaluate(q, x_MD[i]) * evaluate(k, x_MD[j]) for q, k in pairs) for j in seen]
    if head.attention == "hard":
        weights = [float(place == logits.index(max(logits))) for place in range(len(seen))]
    else:
        factor = head.scale * (math.log(len(seen)) if head.log_length else 1.0)
        weights = [math.exp(factor * logit) for logit in logits]
    return [
        sum(w * evaluate(form, x_MD[j]) for w, j in zip(weights, seen, strict=True)) / sum(weights)
        for form in VALUES.values()
    ]


@pytest.mark.parametrize(("query", "attention", "mask", "strict", "log_length"), list(cases()))
@torch.no_grad()
def test_a_head_equals_its_definition(query, attention, mask, strict, log_length, monkeypatch):
    head = make(query, attention, mask, strict, log_length)
    module = AttentionHead(head, PLACE)
    generator = torch.Generator().manual_seed(1)
    # Few values, so that there are ties.
    x_BMD = torch.randint(-1, 2, (2, 7, 5), generator=generator).double()
    want = torch.zeros(2, 7, 5, dtype=torch.float64)
    for row, i in itertools.product(range(2), range(7)):
        want[row, i, 3:] = torch.tensor(naive(head, x_BMD[row], i), dtype=torch.float64)
    monkeypatch.setattr(network, "MOST_LOGITS", 2 * 7 * 3)  # three queries at a time
    for first, stop in ((0, 7), (0, 1), (6, 7), (2, 5)):
        got = module(x_BMD, first, stop).expand(2, stop - first, 5)
        torch.testing.assert_close(got, want[:, first:stop], rtol=0, atol=1e-12)
    weights = module.weights(x_BMD, 0, 7).expand(2, 7, 7)
    mixed = weights @ module.value(x_BMD) @ module.output.T
    torch.testing.assert_close(mixed, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@torch.no_grad()
def test_running_averages_survive_logits_of_any_size(dtype):
    # A sum of exp(logit), or of exp(logit - largest of all), would be inf or 0/0 at the start.
    head = Head("h", {"out": {"a": 1}}, ({ONE: 1.0},), ({"b": 1.0},), mask="future", scale=100.0)
    x_BMD = torch.zeros(1, 6, 5, dtype=dtype)
    x_BMD[0, :, 0] = torch.arange(6)
    x_BMD[0, :, 1] = torch.tensor([-900.0, -800.0, -800.0, 0.0, 900.0, -900.0])
    out = AttentionHead(head, PLACE).to(dtype)(x_BMD, 0, 6)[0, :, 3]
    assert out.tolist() == [0.0, 1.0, 1.5, 3.0, 4.0, 4.0]


@torch.no_grad()
def test_long_running_sums_are_exact_where_they_can_be():
    head = Head("depth", {"out": {"a": 1, "b": -1}}, mask="future")
    symbols = torch.randint(2, (1, 20_000), generator=torch.Generator().manual_seed(0))
    x_BMD = torch.zeros(1, 20_000, 5, dtype=torch.float32)
    x_BMD.scatter_(2, symbols[..., None], 1.0)
    out = AttentionHead(head, PLACE).float()(x_BMD, 0, 20_000)[0, :, 3]
    depth = (1 - 2 * symbols[0]).cumsum(0)
    assert torch.equal(out, depth.float() / torch.arange(1, 20_001))


def test_gradients_reach_the_parameters():
    for query, mask in itertools.product(QUERIES, ("none", "future")):
        module = AttentionHead(make(query, mask=mask), PLACE)
        x_BMD = torch.randn(2, 5, 5, dtype=torch.float64)
        module(x_BMD, 0, 5).square().sum().backward()
        for name, parameter in module.named_parameters():
            assert parameter.grad.isfinite().all(), name
            # A bias of the keys moves all logits of a query alike.
            assert name == "key.bias" or parameter.grad.abs().max() > 0, name


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


def logits_of(construction, strings):
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
    got = logits_of(MAJORITY, x)
    torch.testing.assert_close(got[:, 1], difference / 11, rtol=1e-14, atol=0)
    assert (got[:, 0] == 0).all()


@pytest.mark.parametrize("epsilon", [0.0, 1e-5, 0.1])
def test_layer_norm_keeps_decisions_and_every_mean_at_zero(epsilon):
    x = strings()
    normed = transforms.with_layer_norm(MAJORITY, epsilon)
    assert torch.equal(
        logits_of(normed, x)[:, 1].sign(),
        logits_of(MAJORITY, x)[:, 1].sign(),
    )
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
    logit = logits_of(wanted, x)[:, 1]
    assert torch.equal(logit.sign(), logits_of(MAJORITY, x)[:, 1].sign())
    nats = torch.nn.functional.softplus(-logit.abs())
    torch.testing.assert_close(nats, torch.full_like(nats, eta), rtol=1e-12, atol=0)
    assert wanted.constants == {"eps": 0.0, "eta": eta}
    tie = logits_of(wanted, torch.tensor([[0, 1]]))
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


def test_lengths_out_of_range_are_one_line():
    bounded = Construction(**{**vars(MAJORITY), "lengths": (1, 8)})
    with pytest.raises(RequestError, match="length 1 to 8, not 9"):
        logits_of(bounded, strings())
    with pytest.raises(RequestError, match="at least 10, not 9"):
        logits_of(Construction(**{**vars(MAJORITY), "lengths": (10, None)}), strings())


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
