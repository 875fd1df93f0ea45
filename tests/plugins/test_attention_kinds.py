"""Position codes and kinds of attention, pair by pair from the equations of their papers."""

import copy
import itertools
import math
from itertools import product

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.specs import Splits
from formalbench_models.layers import attention
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.positions import random_places, shifted_places, sinusoids
from formalbench_models.layers.relative_positions import (
    BUCKETS,
    AlibiAttention,
    FireAttention,
    KerpleLogAttention,
    KerplePowerAttention,
    PathAttention,
    RelativeAttention,
    RotaryAttention,
    T5Attention,
    XposAttention,
    bucket,
)
from model_helpers import fake_task, padded, shaken, strings, transformer
from torch.func import functional_call

BOTH_WAYS = (T5Attention, KerpleLogAttention, KerplePowerAttention, FireAttention)
FIRST = (Attention, AlibiAttention, RotaryAttention, RelativeAttention)
CASES = [
    *((kind, {"causal": causal}) for kind in BOTH_WAYS for causal in (False, True)),
    *(
        (kind, {"causal": causal, "log_length": log_length})
        for kind, causal, log_length in product(FIRST, (False, True), (False, True))
    ),
    (XposAttention, {"causal": True}),
    (PathAttention, {"causal": True}),
    (Attention, {"causal": True, "forget": True}),
    (Attention, {"causal": True, "stick_breaking": True}),
    (AlibiAttention, {"causal": True, "stick_breaking": True}),
    (PathAttention, {"causal": True, "forget": True}),
    (RotaryAttention, {"causal": True, "forget": True}),
    (T5Attention, {"causal": True, "log_length": True}),
]
every_case = pytest.mark.parametrize(
    ("kind", "options"),
    CASES,
    ids=[
        f"{kind.__name__} {' '.join(k for k in options if options[k])}" for kind, options in CASES
    ],
)
PLACES = torch.tensor([[0, 3, 4, 9, 30, 200, 601], [2, 3, 5, 7, 11, 13, 17], [1, 2, 3, 4, 5, 6, 8]])


def make(kind, options):
    options = {"log_length": False} | options
    layer = shaken(kind(8, 2, **options))
    if isinstance(layer, (KerpleLogAttention, KerplePowerAttention)):
        with torch.no_grad():
            layer.scale_H.copy_(torch.tensor([0.3, 0.9]))
            layer.shape_H.copy_(torch.tensor([0.7, 1.6]))
    return layer


def about_positions(layer, query_E, key_E, head, i, j):
    """The logit, times sqrt(E) = 2, of a query at i and a key at j."""
    plain = query_E @ key_E
    if isinstance(layer, T5Attention):
        return plain + 2 * layer.bucket_bias.weight[logarithmic_bucket(i - j, layer.causal), head]
    if isinstance(layer, KerplePowerAttention):
        return plain - 2 * layer.scale_H[head] * abs(i - j) ** layer.shape_H[head]
    if isinstance(layer, KerpleLogAttention):
        return plain - 2 * layer.scale_H[head] * (1 + layer.shape_H[head] * abs(i - j)).log()
    if isinstance(layer, FireAttention):
        c, threshold = abs(float(layer.slope)), abs(512 * float(layer.threshold))
        share = math.log(1 + c * abs(i - j)) / (math.log(1 + c * max(threshold, i, j)) + 1e-6)
        hidden = (layer.up.weight[:, 0] * share + layer.up.bias).relu()
        return plain + 2 * (layer.down.weight[head] @ hidden + layer.down.bias[head])
    if isinstance(layer, RelativeAttention):
        code_D = sinusoids(torch.tensor([i - j]), 8, torch.float64)[0]
        distance_E = layer.distance(code_D)[4 * head : 4 * head + 4]
        content = (query_E + layer.content_bias_HE[head]) @ key_E
        return content + (query_E + layer.position_bias_HE[head]) @ distance_E
    if isinstance(layer, AlibiAttention):
        return plain - 2 * 2.0 ** (-4 * (head + 1)) * abs(i - j)
    if isinstance(layer, RotaryAttention | XposAttention):
        total = 0.0
        for pair, frequency in enumerate((1.0, 0.01)):
            a = torch.complex(query_E[2 * pair], query_E[2 * pair + 1])
            b = torch.complex(key_E[2 * pair], key_E[2 * pair + 1])
            turn = torch.polar(*torch.tensor([1.0, frequency * (i - j)], dtype=torch.float64))
            zeta = ((2 * pair / 4 + 0.4) / 1.4) ** ((i - j) / 512)
            total += (a * turn * b.conj()).real * (zeta if isinstance(layer, XposAttention) else 1)
        return total
    return plain


def logarithmic_bucket(offset, causal):
    """T5's, with logarithms that are nudged over exact boundaries."""
    buckets, extra = (32, 0) if causal else (16, 16 if offset < 0 else 0)
    distance = max(offset, 0) if causal else abs(offset)
    half = buckets // 2
    if distance < half:
        return distance + extra
    grown = math.log(distance / half) / math.log(128 / half) * half
    return min(buckets - 1, half + math.floor(grown + 1e-9)) + extra


def reflected(layer, x_ND, query_E, head, i, j):
    """H_{j+1} … H_i q_i, one reflection after another."""
    for t in range(i, j, -1):
        direction_D = torch.zeros(8, dtype=torch.float64)
        for tap, weight_D in enumerate(layer.tap_TD):
            source = t + tap - 2
            if source >= 0:
                direction_D += layer.widen(layer.narrow(x_ND[source])) * weight_D
        w_E = (direction_D * direction_D.sigmoid())[4 * head : 4 * head + 4]
        w_E = w_E / w_E.norm()
        beta = 2 * layer.strength(x_ND[t]).sigmoid()[head]
        query_E = query_E - beta * w_E * (w_E @ query_E)
    return query_E


def naive_weights(layer, logits, i):
    """The weights of the keys that query i sees."""
    if not layer.stick_breaking:
        return torch.stack(logits).softmax(0)
    rest, weights = torch.tensor(1.0, dtype=torch.float64), [None] * (i + 1)
    for j in range(i - 1, -1, -1):
        weights[j] = rest * logits[j].sigmoid()
        rest = rest * (1 - logits[j].sigmoid())
    weights[i] = rest
    return torch.stack(weights)


def naive(layer, x_ND, places):
    """Attend pair by pair."""
    key_ND, value_ND = layer.key_value(x_ND).chunk(2, dim=-1)
    query, key, value = (
        y.reshape(-1, 2, 4).transpose(0, 1) for y in (layer.query(x_ND), key_ND, value_ND)
    )
    answer_ND = []
    for i in range(len(x_ND)):
        seen = range(i + 1) if layer.causal else range(len(x_ND))
        heads = []
        for head in range(2):
            logits = []
            for j in seen:
                query_E = query[head, i]
                if isinstance(layer, PathAttention):
                    query_E = reflected(layer, x_ND, query_E, head, i, j)
                at = int(places[i]), int(places[j])
                if isinstance(layer, RelativeAttention):  # as far apart as the first so far apart
                    at = int(places[abs(i - j)]) * ((i > j) - (i < j)), 0
                logit = about_positions(layer, query_E, key[head, j], head, *at) / 2
                if layer.forget is not None:
                    for t in range(j + 1, i + 1):
                        logit = logit + layer.forget.gate(x_ND[t])[head].sigmoid().log()
                logits.append(logit * (math.log(len(seen)) if layer.log_length else 1))
            heads.append(naive_weights(layer, logits, i) @ value[head, : len(seen)])
        answer_ND.append(layer.merge_heads(torch.cat(heads)))
    return torch.stack(answer_ND)


@every_case
@pytest.mark.parametrize("numbered", [False, True])
@torch.no_grad()
def test_attention_equals_its_equation_pair_by_pair(kind, options, numbered, monkeypatch):
    layer = make(kind, options)
    x_BND = torch.randn(3, 7, 8, dtype=torch.float64)
    places = PLACES if numbered else torch.arange(7).expand(3, 7)
    want = torch.stack([naive(layer, *row) for row in zip(x_BND, places, strict=True)])
    monkeypatch.setattr(attention, "MOST_BIASES", 2 * 2 * 7 * 7)  # two strings at a time
    for keep, (first, stop) in itertools.product((True, False), ((0, 7), (0, 1), (6, 7), (2, 5))):
        span = Span(first, stop, PLACES if numbered else None)
        got, weights = layer(x_BND, span, keep_weights=keep)
        torch.testing.assert_close(got, want[:, first:stop], rtol=0, atol=1e-10)
        if weights is not None:
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))


@every_case
def test_gradients_are_those_of_finite_differences(kind, options):
    layer = make(kind, options)
    names, values = zip(*layer.named_parameters(), strict=True)
    generator = torch.Generator().manual_seed(2)
    x_BND = torch.randn(1, 5, 8, dtype=torch.float64, generator=generator).requires_grad_()
    span = Span(1, 5)

    def answer(x_BND, *values):
        parameters = dict(zip(names, values, strict=True))
        return functional_call(layer, parameters, (x_BND, span))[0]

    assert torch.autograd.gradcheck(answer, (x_BND, *values), fast_mode=True)


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(causal):
    offsets = range(-700, 701)
    found = [bucket(offset, causal) for offset in offsets]
    assert found == [logarithmic_bucket(offset, causal) for offset in offsets]
    assert set(found) == (set(range(BUCKETS)) if causal else set(range(BUCKETS)) - {16})
    assert bucket(16, False) == 10  # a boundary: log_16(16 / 8) · 8 is 2, and not a little less


@pytest.mark.parametrize("positions", ["t5", "kerple-log", "kerple-power"])
@pytest.mark.parametrize("init", ["linear", "library"])
def test_layers_share_their_parameters_of_positions(positions, init):
    options = {"positions": positions, "width": 8, "heads": 2, "layers": 3, "init": init}

    def made(**more):
        torch.manual_seed(5)
        return transformer(fake_task(), **options, **more).double()

    shared, apart = made(), made(shared_positions=False)
    few, many = (sum(p.numel() for p in one.parameters()) for one in (shared, apart))
    each = 2 * (BUCKETS if positions == "t5" else 2)
    assert many - few == 2 * each
    first = {
        name: value
        for name, value in apart.blocks[0].attention.state_dict().items()
        if name in ("bucket_bias.weight", "scale_H", "shape_H")
    }
    for block in apart.blocks:  # the same numbers in every layer, and the networks are the same
        block.attention.load_state_dict(first, strict=False)
    batch = Batch(strings(3, 9))
    torch.testing.assert_close(shared(batch), apart(batch), rtol=0, atol=1e-12)
    # also where parameters come from outside, as in a cohort, and of a copy
    other = {name: value + 0.1 for name, value in shared.named_parameters()}
    found = functional_call(copy.deepcopy(shared), other, (batch,))
    assert not torch.allclose(found, shared(batch))
    changed = made()
    changed.load_state_dict(other, strict=False)
    torch.testing.assert_close(changed(batch), found, rtol=0, atol=1e-12)


def test_fire_begins_to_interpolate_at_a_quarter_of_the_training_lengths():
    options = {"positions": "fire", "width": 8, "heads": 2}
    task = fake_task()
    task.splits = Splits(train=(1, 40), test=(41, 60))
    for more, want in (({}, 10), ({"threshold": 512}, 512)):
        layer = transformer(task, **options, **more).blocks[1].attention
        far, near = torch.tensor([8, want]), torch.tensor([4, 4])
        share = layer.share(near, far)  # up to there, what counts is the distance alone
        torch.testing.assert_close(share[0], share[1])
        assert layer.share(near, 2 * far)[1] < share[1]


def test_kernels_stay_positive_and_can_come_back():
    layer = make(KerplePowerAttention, {"causal": False})
    with torch.no_grad():
        layer.scale_H.fill_(-3.0)
        layer.shape_H.fill_(9.0)
    key = torch.zeros(1, 2, 5, 4, dtype=torch.float64)
    bias = layer.terms(key, key, Span(0, 5)).bias
    want = -0.01 * torch.arange(5.0).double() ** 2
    torch.testing.assert_close(bias[0, 0, 0], want)
    bias.sum().backward()
    assert (layer.scale_H.grad < 0).all()
    assert (layer.shape_H.grad < 0).all()


def test_random_places_are_a_rising_draw_that_depends_on_the_string_alone():
    symbols = strings(200, 12)
    places = random_places(symbols, None, 40)
    assert places.shape == (200, 12)
    assert places.min() == 0
    assert places.max() == 39
    assert (places.diff(dim=1) > 0).all()
    assert torch.equal(random_places(symbols[3:5], None, 40), places[3:5])
    assert len(places.unique(dim=0)) == len(symbols.unique(dim=0))
    # Any number is as likely as another: 200 draws of 12 out of 40 are 60 of each, with 6.5 spread.
    assert places.flatten().bincount(minlength=40).sub(60).abs().max() < 30
    batch, alone = padded([9, 1, 4, 8])
    together = random_places(batch.symbols, batch.lengths, 40)
    for row, single in enumerate(alone):
        own = random_places(single.symbols, None, 40)[0]
        assert torch.equal(together[row, : len(own)], own)
    full = random_places(symbols, None, 12)
    assert torch.equal(full, torch.arange(12).expand(200, 12))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rope", "alibi", "relative"])
@pytest.mark.parametrize("causal", [False, True])
def test_randomised_positions_are_read_off_the_longer_range(positions, causal):
    options = {"positions": positions, "causal": causal, "width": 8, "heads": 2, "layers": 1}
    network = shaken(transformer(fake_task(), randomised=100, **options))
    symbols = strings(3, 6)
    places = random_places(network.alphabet.prepend(symbols, "begin"), None, 100)
    trace = network.trace(Batch(symbols))
    plain, span = network.embedding.symbol(network.alphabet.prepend(symbols, "begin")), Span(0, 7)
    if positions == "learned":
        assert network.embedding.position.num_embeddings == 100
        plain = plain + network.embedding.position.weight[places]
    torch.testing.assert_close(
        trace["state.0"], plain, rtol=0, atol=1e-12 if positions != "sinusoidal" else 2.0
    )
    block = network.blocks[0]
    _, want = block.attention(
        block.norm_attention(trace["state.0"]), span._replace(places=places), keep_weights=True
    )
    torch.testing.assert_close(trace["block.0.attention"], want, rtol=0, atol=1e-12)
    if positions in ("sinusoidal", "learned"):
        return
    _, counted = block.attention(block.norm_attention(trace["state.0"]), span, keep_weights=True)
    assert (counted - want).abs().max() > 1e-3


@torch.no_grad()
def test_shifted_positions_begin_anywhere_and_go_on_one_by_one():
    network = shaken(transformer(fake_task(), positions="learned", shifted=30, width=8, heads=2))
    assert network.embedding.position.num_embeddings == 60 + 30  # of 60 symbols and the first
    symbols = network.alphabet.prepend(strings(300, 6), "begin")
    places = shifted_places(symbols, None, 30)
    assert torch.equal(places.diff(dim=1), torch.ones(300, 6, dtype=torch.int64))
    # Any first one is as likely as another: of 300, ten each, with 3.1 spread.
    counted = places[:, 0].bincount(minlength=30)
    assert len(counted) == 30
    assert 0 < counted.min() <= counted.max() < 25
    plain = network.embedding.symbol(symbols) + network.embedding.position.weight[places]
    torch.testing.assert_close(network.trace(Batch(symbols[:, 1:]))["state.0"], plain)
    batch, alone = padded([9, 1, 4, 8])
    together = shifted_places(batch.symbols, batch.lengths, 40)
    for row, single in enumerate(alone):
        own = shifted_places(single.symbols, None, 40)[0]
        assert torch.equal(together[row, : len(own)], own)


@pytest.mark.parametrize(
    ("layout", "options", "told"),
    [
        ("last", {"causal": False, "positions": "path"}, "positions=path needs a causal mask"),
        ("last", {"causal": False, "positions": "xpos"}, "positions=xpos needs a causal mask"),
        (
            "last",
            {"causal": False, "forget": True},
            "forget=true needs .* mask: do not set causal=false",
        ),
        (
            "last",
            {"causal": False, "attention": "stick-breaking"},
            "attention=stick-breaking needs a causal mask",
        ),
        ("each", {"randomised": 99}, "randomised needs an objective with one answer per string"),
        (
            "each",
            {"positions": "learned", "shifted": 9},
            "shifted needs an objective with one answer per string",
        ),
        ("last", {"randomised": 60}, "up to 59 symbols, not 60: take randomised=61 or more"),
    ],
)
def test_what_a_task_has_no_use_for_is_one_line(layout, options, told):
    with pytest.raises(RequestError, match=told) as error:
        transformer(fake_task(layout), **options)
    assert "\n" not in str(error.value)


@torch.no_grad()
def test_the_farthest_positions_of_xpos_stay_finite():
    config = {"positions": "xpos", "randomised": 32768, "causal": True, "width": 8, "heads": 1}
    network = transformer(fake_task(), **config)
    for block in network.blocks:
        places = torch.tensor([[0, 1, 32766, 32767]])
        query, key = (torch.ones(1, 1, 4, 8) for _ in range(2))
        span = Span(0, 4, places=places)
        assert all(part.isfinite().all() for part in block.attention.terms(query, key, span)[:2])


def test_theorems_are_told_what_it_is_built_of():
    def of(**options):
        return set(transformer(fake_task(), causal=True, **options).traits.mechanisms)

    assert of(positions="none") >= {"softmax-attention", "no-positions", "future-masked"}
    assert "no-positions" not in of(positions="none", forget=True)
    assert "softmax-attention" not in of(positions="path") | of(attention="stick-breaking")
