from __future__ import annotations

import math

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.example import Batch
from formalbench.contracts.specs import Splits
from formalbench.host.options import make_config
from formalbench_models.families.transformer import Transformer
from formalbench_models.layers import attention as layers_attention
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.positions import sinusoids
from formalbench_models.layers.relative_positions import (
    AlibiAttention,
    RelativeAttention,
    RotaryAttention,
)
from formalbench_models.plugin import formalbench_models
from model_helpers import fake_task, padded, shaken, strings, transformer
from torch import nn

KINDS = (Attention, AlibiAttention, RotaryAttention, RelativeAttention)


def make(kind, *, causal=False, log_length=False):
    return shaken(kind(8, 2, causal=causal, log_length=log_length))


def projections(layer, x_ND):
    """Return queries, keys and values, each (H, N, E), of one string."""
    key_ND, value_ND = layer.key_value(x_ND).chunk(2, dim=-1)
    return [y.reshape(-1, 2, 4).transpose(0, 1) for y in (layer.query(x_ND), key_ND, value_ND)]


def naive_logit(layer, query_E, key_E, head, i, j):
    """One logit from its formula."""
    if isinstance(layer, RelativeAttention):
        code_D = sinusoids(torch.tensor([i - j]), 8, torch.float64)[0]
        distance_E = layer.distance(code_D)[4 * head : 4 * head + 4]
        content = (query_E + layer.content_bias_HE[head]) @ key_E
        return (content + (query_E + layer.position_bias_HE[head]) @ distance_E) / 2
    if isinstance(layer, RotaryAttention):
        turned = 0.0
        for pair, frequency in enumerate((1.0, 0.01)):
            a = torch.complex(query_E[2 * pair], query_E[2 * pair + 1])
            b = torch.complex(key_E[2 * pair], key_E[2 * pair + 1])
            turn = torch.polar(*torch.tensor([1.0, frequency * (i - j)], dtype=torch.float64))
            turned += (a * turn * b.conj()).real
        return turned / 2
    slope = 2 ** (-8 * (head + 1) / 2) if isinstance(layer, AlibiAttention) else 0.0
    return query_E @ key_E / 2 - slope * abs(i - j)


def naive(layer, x_ND):
    """Attend pair by pair."""
    query, key, value = projections(layer, x_ND)
    length = len(x_ND)
    answer_ND = []
    for i in range(length):
        seen = range(i + 1) if layer.causal else range(length)
        factor = math.log(len(seen)) if layer.log_length else 1.0
        heads = []
        for head in range(2):
            logits = [naive_logit(layer, query[head, i], key[head, j], head, i, j) for j in seen]
            weights = (torch.stack(logits) * factor).softmax(0)
            heads.append(weights @ value[head, : len(seen)])
        answer_ND.append(layer.merge_heads(torch.cat(heads)))
    return torch.stack(answer_ND)


@pytest.mark.parametrize("log_length", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_attention_equals_its_formula_pair_by_pair(kind, causal, log_length, monkeypatch):
    layer = make(kind, causal=causal, log_length=log_length)
    x_BND = torch.randn(3, 7, 8, dtype=torch.float64)
    want = torch.stack([naive(layer, x_ND) for x_ND in x_BND])
    monkeypatch.setattr(layers_attention, "MOST_BIASES", 2 * 2 * 7 * 7)  # two strings at a time
    for keep in (True, False):
        for first, stop in ((0, 7), (0, 1), (6, 7), (2, 5)):
            got, weights = layer(x_BND, Span(first, stop), keep_weights=keep)
            torch.testing.assert_close(got, want[:, first:stop], rtol=0, atol=1e-10)
            assert (weights is not None) == keep


@pytest.mark.parametrize("kind", [RotaryAttention, RelativeAttention, AlibiAttention])
@torch.no_grad()
def test_scores_depend_on_the_difference_of_positions_only(kind):
    layer = make(kind)
    same_1ND = torch.randn(1, 1, 8, dtype=torch.float64).expand(1, 9, 8)
    _, weights = layer(same_1ND, Span(0, 9), keep_weights=True)
    logits = weights.log()
    step = logits[..., 1:] - logits[..., :-1]
    torch.testing.assert_close(step[0, :, :-1, :-1], step[0, :, 1:, 1:], rtol=0, atol=1e-10)
    assert step.abs().max() > 1e-3


@torch.no_grad()
def test_log_length_counts_only_what_is_real():
    layer = make(Attention, log_length=True)
    x_BND = torch.randn(2, 9, 8, dtype=torch.float64)
    got, _ = layer(x_BND, Span(0, 1), torch.tensor([5, 9]))
    torch.testing.assert_close(got[0, 0], naive(layer, x_BND[0, :5])[0], rtol=0, atol=1e-10)
    torch.testing.assert_close(got[1, 0], naive(layer, x_BND[1])[0], rtol=0, atol=1e-10)


def test_logn_is_the_transformer_with_one_option():
    plain = transformer(fake_task(), log_length=True, positions="rope").double()
    (spec,) = (spec for spec in formalbench_models() if spec.name == "transformer-logn")
    config = make_config(spec, {"positions": "rope"})
    logn = Transformer(fake_task(), config).double()
    logn.load_state_dict(plain.state_dict())
    off = transformer(fake_task(), positions="rope").double()
    off.load_state_dict(plain.state_dict())
    batch = Batch(strings(3, 20))
    torch.testing.assert_close(plain(batch), logn(batch))
    assert not torch.allclose(plain(batch), off(batch))


@pytest.mark.parametrize("causal", [False, True])
def test_without_positions_order_is_lost_only_without_a_mask(causal):
    network = shaken(transformer(fake_task(), positions="none", causal=causal))
    symbols = strings(2, 12)
    order = torch.tensor([3, 0, 1, 2, *range(4, 12)])
    a, b = network(Batch(symbols)), network(Batch(symbols[:, order]))
    assert torch.allclose(a, b, atol=1e-10) == (not causal)


@pytest.mark.parametrize(
    "positions", ["sinusoidal", "learned", "scalar", "scalar-6000", "alibi", "rope", "relative"]
)
def test_with_positions_order_matters(positions):
    network = shaken(transformer(fake_task(), positions=positions))
    symbols = torch.tensor([[0, 1, 2, 2, 1]])
    assert not torch.allclose(network(Batch(symbols)), network(Batch(symbols.flip(1))))


def test_scalar_positions_are_one_input_dimension():
    batch = strings(2, 9)
    for positions, last in (("scalar", 9 / 10), ("scalar-6000", 9 / 6000)):
        network = transformer(fake_task(), positions=positions).double()
        state = network.trace(Batch(batch))["state.0"]
        torch.testing.assert_close(state[:, -1, -1], torch.full((2,), last).double())
        torch.testing.assert_close(state[:, 0, -1], torch.zeros(2).double())


def test_scalar_positions_would_leak_the_length_to_prefixes():
    for layout in ("each", "prefixes"):
        with pytest.raises(RequestError, match="scalar-6000"):
            transformer(fake_task(layout), positions="scalar")
        with pytest.raises(RequestError, match="positions=sinusoidal-from-end tells every prefix"):
            transformer(fake_task(layout), positions="sinusoidal-from-end")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("marker", "begins"), [("end", 0), ("both", 1)])
def test_an_empty_symbol_behind_the_string_can_be_read_instead(marker, begins, causal):
    task = fake_task()
    options = {"marker": marker, "causal": causal, "positions": "sinusoidal-from-end"}
    network = shaken(transformer(task, **options))
    batch, alone = padded([9, 1, 4, 8])
    together = network(batch)
    for row, single in enumerate(alone):
        torch.testing.assert_close(together[row], network(single)[0], rtol=0, atol=1e-10)
        trace = network.trace(single)
        end = single.symbols.shape[1] + begins
        assert trace["state.0"].shape[1] == end + 1
        assert trace["first.position"].tolist() == [begins]
        assert trace["answer.position"].tolist() == [end]
        read = network.readout(network.norm(trace["state.2"][:, end]))
        torch.testing.assert_close(read, network(single), rtol=0, atol=1e-10)
        # the read symbol has the code of position 0 at every length
        empty = network.embedding.symbol.weight[3 + begins] + sinusoids(
            torch.tensor([0]), 64, torch.float64
        )
        torch.testing.assert_close(trace["state.0"][0, -1], empty[0], rtol=0, atol=1e-12)


def test_nothing_stands_behind_a_string_that_is_answered_symbol_by_symbol():
    task = fake_task("each", sees_all=True)
    network = shaken(transformer(task, marker="end", causal=False))
    batch, alone = padded([9, 1, 4, 8])
    assert network.trace(alone[0])["state.0"].shape == (1, 9, 64)
    together = network(batch)
    for row, single in enumerate(alone):
        want = network(single)[0]
        torch.testing.assert_close(together[row, : len(want)], want, rtol=0, atol=1e-10)
    with pytest.raises(RequestError, match="no position for the empty prefix"):
        transformer(fake_task("prefixes"), marker="end")


@pytest.mark.parametrize("positions", ["learned", "none"])
def test_with_both_markers_the_longest_string_fits(positions):
    task = fake_task()
    network = shaken(transformer(task, marker="both", positions=positions))
    batch, alone = padded([max(task.splits.test), 1, 0])
    together = network(batch)
    for row, single in enumerate(alone):
        torch.testing.assert_close(together[row], network(single)[0], rtol=0, atol=1e-10)
    marked = network.traits.mechanisms
    assert "end-marker" in marked
    assert "no-begin-symbol" not in marked
    # Where there is an answer at every symbol, only the begin symbol is added.
    each = shaken(transformer(fake_task("each"), marker="both", positions=positions))
    assert each.trace(padded([5])[1][0])["state.0"].shape == (1, 6, 64)
    assert "end-marker" not in each.traits.mechanisms


def test_symbols_can_begin_smaller():
    def symbols(**options):
        torch.manual_seed(3)
        return transformer(fake_task(), **options).embedding.symbol.weight

    torch.testing.assert_close(symbols(embedding_scale=0.16), 0.16 * symbols())


@pytest.mark.parametrize("positions", ["sinusoidal", "scalar", "relative"])
@pytest.mark.parametrize("layout", ["each", "prefixes"])
def test_where_an_answer_may_see_the_whole_string_it_does(layout, positions):
    task = fake_task(layout, sees_all=True)
    network = shaken(transformer(task, positions=positions, causal=False))
    assert not network.traits.causal
    one = strings(4, 9)
    other = one.clone()
    other[:, 8] = (other[:, 8] + 1) % 3
    changed = (network(Batch(one)) - network(Batch(other))).abs().amax(-1)
    assert (changed > 1e-9).all()
    batch, alone = padded([9, 1, 4, 8])
    together = network(batch)
    for row, single in enumerate(alone):
        want = network(single)[0]
        torch.testing.assert_close(together[row, : len(want)], want, rtol=0, atol=1e-10)
    past = shaken(transformer(task, positions="sinusoidal"))
    before = (past(Batch(one)) - past(Batch(other))).abs()[:, :8]
    assert past.traits.causal
    assert before.max() < 1e-12


def test_learned_positions_reach_as_far_as_the_test_split():
    network = transformer(fake_task(longest=60), positions="learned")
    assert network(Batch(strings(1, 60))).isfinite().all()
    with pytest.raises(RequestError, match="up to 60 symbols, not 61"):
        network(Batch(strings(1, 61)))


def test_learned_positions_reach_as_far_as_the_training_split_if_that_is_longer():
    task = fake_task(longest=60)
    task.splits = Splits(train=(1, 80), test=(11, 60))
    network = transformer(task, positions="learned")
    assert network(Batch(strings(1, 80))).isfinite().all()
    with pytest.raises(RequestError, match="up to 80 symbols, not 81"):
        network(Batch(strings(1, 81)))


@torch.no_grad()
def test_linear_biases_in_bfloat16_are_rounded_once():
    # With three heads the slopes are no powers of two.
    layer = AlibiAttention(6, 3, causal=True, log_length=False)
    key_BHNE = torch.zeros(1, 3, 600, 2, dtype=torch.bfloat16)
    bias = layer.terms(key_BHNE[:, :, :1], key_BHNE, Span(599, 600)).bias
    slope = torch.tensor([2 ** (-8 * (head + 1) / 3) for head in range(3)], dtype=torch.float64)
    distance = 599 - torch.arange(600, dtype=torch.float64)
    want = (-slope[:, None] * distance).float().bfloat16()
    assert bias.dtype == torch.bfloat16
    assert (bias[0, :, 0] == want).float().mean() > 0.999  # float32 may fall on the other side


def test_options_that_do_not_go_together_are_one_line():
    (spec,) = (spec for spec in formalbench_models() if spec.name == "transformer")
    with pytest.raises(RequestError) as error:
        make_config(spec, {"width": 10, "heads": 4})
    told = "transformer: width must be divisible by heads: 10 is not by 4"
    assert str(error.value) == told
    with pytest.raises(RequestError, match="width / heads must be even here, not 3"):
        make_config(spec, {"width": 12, "heads": 4, "positions": "rope"})


def test_sinusoids_follow_the_formula_and_survive_bfloat16():
    codes = sinusoids(torch.tensor([257, 5, -5]), 6, torch.float64)
    for coordinate in range(6):
        angle = 257 / 10000 ** (2 * (coordinate // 2) / 6)
        want = math.sin(angle) if coordinate % 2 == 0 else math.cos(angle)
        assert codes[0, coordinate].item() == pytest.approx(want, abs=1e-12)
    torch.testing.assert_close(codes[1, 0::2], -codes[2, 0::2])
    half = sinusoids(torch.tensor([257]), 6, torch.bfloat16)
    assert (half.double() - codes[:1]).abs().max() < 0.01


@pytest.mark.parametrize("causal", [False, True])
def test_the_trace_ends_in_the_answer(causal):
    network = transformer(fake_task(), causal=causal).double()
    batch = Batch(strings(3, 10))
    trace = network.trace(batch)
    assert trace["block.1.attention"].shape == (3, 4, 11, 11)
    read = trace["state.2"][:, -1 if causal else 0]
    torch.testing.assert_close(network.readout(network.norm(read)), network(batch))
    above = torch.ones(11, 11).triu(1).bool()
    assert (trace["block.0.attention"][..., above].abs().max() == 0) == causal


@pytest.mark.parametrize("positions", ["first", "parity"])
def test_fixed_position_codes_stand_in_the_last_dimensions(positions):
    network = transformer(fake_task(), positions=positions, norm="none").double()
    symbols = strings(2, 5)
    state = network.trace(Batch(symbols))["state.0"]
    code = state - network.embedding.symbol(network.alphabet.prepend(symbols, "begin"))
    want = torch.zeros_like(code)
    if positions == "first":
        want[:, 1, -1] = 1
    else:
        want[..., -2] = torch.arange(6).double() / 6
        want[..., -1] = torch.tensor([1.0, -1.0] * 3)
        assert network.embedding.scale_P.tolist() == [1, 1]
    torch.testing.assert_close(code, want, rtol=0, atol=1e-12)


def test_layer_norm_can_be_left_out_or_have_any_epsilon():
    plain = transformer(fake_task(), norm="none", layers=1, causal=False).double()
    assert not [name for name, _ in plain.named_parameters() if "norm" in name]
    batch = Batch(strings(3, 6))
    block, state = plain.blocks[0], plain.trace(batch)["state.0"]
    change, _ = block.attention(state, Span(0, 7))
    after = state + change
    want = plain.readout((after + block.feed_forward(after))[:, 0])
    torch.testing.assert_close(plain(batch), want, rtol=0, atol=1e-12)
    for eps in (0.0, 0.5):
        network = transformer(fake_task(), norm="post", eps=eps).double()
        last = network.trace(batch)["state.2"]
        spread = last.var(-1, unbiased=False)
        assert torch.allclose(spread, torch.ones_like(spread)) == (eps == 0)


def test_hidden_units_can_be_counted_exactly():
    network = transformer(fake_task(), hidden=7)
    assert {block.feed_forward.up.out_features for block in network.blocks} == {7}
    assert transformer(fake_task()).blocks[0].feed_forward.up.out_features == 4 * 64


def test_a_network_may_begin_as_the_librarys():
    def draw(init):
        torch.manual_seed(7)
        return transformer(fake_task(), width=16, heads=2, layers=2, init=init)

    torch.manual_seed(0)
    library = torch.nn.MultiheadAttention(16, 2)
    bound = library.in_proj_weight.abs().max()  # of 768 numbers: close to Xavier's
    network, plain = draw("library"), draw("linear")
    for block in network.blocks:
        attention = block.attention
        for layer in (attention.query, attention.key_value):
            largest = layer.weight.abs().max()
            assert 0.97 * bound < largest < 1.03 * bound
        for layer in (attention.query, attention.key_value, attention.merge_heads):
            assert not layer.bias.any()
        assert attention.merge_heads.weight.abs().max() <= 0.25 >= library.out_proj.weight.max()
    first, second = (torch.nn.utils.parameters_to_vector(b.parameters()) for b in network.blocks)
    assert torch.equal(first, second)
    assert plain.blocks[0].attention.query.bias.any()
    assert plain.blocks[0].attention.query.weight.abs().max() <= 0.25


@pytest.mark.parametrize("positions", ["learned", "scalar-6000"])
def test_a_network_may_begin_as_gpt2(positions):
    torch.manual_seed(7)
    network = transformer(
        fake_task(), width=64, heads=2, layers=3, positions=positions, causal=True, init="gpt2"
    )
    for module in network.modules():
        if isinstance(module, torch.nn.Linear):
            assert not module.bias.any()
            if module.weight.numel() > 1000:
                assert 0.018 < module.weight.std() < 0.022
                assert module.weight.abs().max() > 0.05  # a normal distribution's tail
    scale = network.get_submodule(network.traits.symbol_embedding).weight.std()
    assert 0.5 < scale < 2 if positions == "scalar-6000" else 0.015 < scale < 0.025
    if positions == "learned":
        assert 0.018 < network.embedding.position.weight.std() < 0.022


@pytest.mark.parametrize(
    "kind", [{}, {"norm": "post"}, {"attention": "hard"}, {"attention": "stick-breaking"}]
)
def test_dropout_is_for_training_alone(kind):
    batch = Batch(strings(20, 9))
    options = {"width": 8, "heads": 2, **kind}
    plain = shaken(transformer(fake_task("each"), **options))
    dropping = transformer(fake_task("each"), **options, dropout=0.5).double()
    dropping.load_state_dict(plain.state_dict())
    assert plain.traits.vmap
    assert not dropping.traits.vmap
    want = plain(batch)
    torch.testing.assert_close(dropping.eval()(batch), want, rtol=0, atol=0)
    dropouts = [module for module in dropping.train().modules() if isinstance(module, nn.Dropout)]
    # The embeddings; of each of two blocks weights, hidden units and branches.
    assert len(dropouts) == 1 + 2 * 3
    for module in dropouts:
        module.p = 0.0
    torch.testing.assert_close(dropping(batch), want, rtol=0, atol=1e-12)
    for module in dropouts:
        module.p = 0.5
        assert not torch.allclose(dropping(batch), want), module
        module.p = 0.0
