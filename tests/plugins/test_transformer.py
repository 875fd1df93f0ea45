"""The transformer, and those that papers trained."""

import math

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.specs import Splits
from formalbench.running.plan import RunRequest, make_plan
from formalbench_models.catalogue.transformers import PAPERS
from formalbench_models.layers.attention import Span
from formalbench_models.layers.positions import sinusoids
from formalbench_models.layers.relative_positions import AlibiAttention
from formalbench_papers.chi.models import TRANSFORMER
from model_helpers import (
    assert_padding_changes_nothing,
    fake_task,
    padded,
    shaken,
    strings,
    transformer,
)
from torch import nn


@pytest.mark.parametrize("causal", [False, True])
def test_without_positions_order_is_lost_only_without_a_mask(causal):
    network = shaken(transformer(fake_task(), positions="none", causal=causal))
    symbols = strings(2, 12)
    order = torch.tensor([3, 0, 1, 2, *range(4, 12)])
    a, b = network(Batch(symbols)), network(Batch(symbols[:, order]))
    assert torch.allclose(a, b, atol=1e-10) == (not causal)


def test_scalar_positions_would_leak_the_length_to_prefixes():
    for layout in ("each", "prefixes"):
        with pytest.raises(RequestError, match="scalar-6000"):
            transformer(fake_task(layout), positions="scalar")
        with pytest.raises(RequestError, match="positions=sinusoidal-from-end reveals the length"):
            transformer(fake_task(layout), positions="sinusoidal-from-end")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("marker", "begins"), [("end", 0), ("both", 1)])
def test_an_empty_symbol_behind_the_string_can_be_read_instead(marker, begins, causal):
    task = fake_task()
    options = {"marker": marker, "causal": causal, "positions": "sinusoidal-from-end"}
    network = shaken(transformer(task, **options))
    assert_padding_changes_nothing(network, [9, 1, 4, 8])
    for single in padded([9, 1, 4, 8])[1]:
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
    assert network.trace(Batch(strings(1, 9)))["state.0"].shape == (1, 9, 64)
    assert_padding_changes_nothing(network, [9, 1, 4, 8])
    with pytest.raises(RequestError, match="no position for the empty prefix"):
        transformer(fake_task("prefixes"), marker="end")


@pytest.mark.parametrize("positions", ["learned", "none"])
def test_with_both_markers_the_longest_string_fits(positions):
    task = fake_task()
    network = shaken(transformer(task, marker="both", positions=positions))
    assert_padding_changes_nothing(network, [max(task.splits.test), 1, 0])
    marked = network.traits.mechanisms
    assert "end-marker" in marked
    assert "no-begin-symbol" not in marked
    # Where there is an answer at every symbol, only the begin symbol is added.
    each = shaken(transformer(fake_task("each"), marker="both", positions=positions))
    assert each.trace(Batch(strings(1, 5)))["state.0"].shape == (1, 6, 64)
    assert "end-marker" not in each.traits.mechanisms


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
    assert_padding_changes_nothing(network, [9, 1, 4, 8])
    past = shaken(transformer(task, positions="sinusoidal"))
    before = (past(Batch(one)) - past(Batch(other))).abs()[:, :8]
    assert past.traits.causal
    assert before.max() < 1e-12


def test_learned_positions_reach_as_far_as_the_test_split():
    for first, longest in ((10, 60), (80, 80)):  # or as the training split, if that is longer
        task = fake_task(longest=60)
        task.splits = Splits(train=(1, first), test=(11, 60))
        network = transformer(task, positions="learned")
        assert network(Batch(strings(1, longest))).isfinite().all()
        with pytest.raises(RequestError, match=f"up to {longest} symbols, not {longest + 1}"):
            network(Batch(strings(1, longest + 1)))


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


def built(host, name, task, **options):
    network = host.network(name, host.task(task), options)
    return network, sum(parameter.numel() for parameter in network.parameters())


def test_chis_transformer_is_the_size_of_table_4_and_has_no_biases_in_attention(host):
    network, size = built(host, "transformer-chi", "parity")
    assert size == pytest.approx(4.3e6, rel=0.01)
    assert network.traits.causal
    assert len(network.blocks) == 5
    for block in network.blocks:
        attention = block.attention
        assert type(attention).__name__ == "RelativeAttention"
        assert (attention.heads, block.pre_norm) == (8, False)
        for layer in (attention.query, attention.key_value, attention.merge_heads):
            assert layer.bias is None
        assert block.feed_forward.up.weight.shape == (1024, 256)
        assert block.feed_forward.activation is nn.functional.relu


def test_deletangs_transformer_is_read_at_an_empty_symbol_behind_and_has_no_mask(host):
    network, _ = built(host, "transformer-deletang", "even-pairs")
    assert not network.traits.causal
    assert len(network.blocks) == 5
    batch = Batch(torch.tensor([[0, 1, 1]]))
    assert network.trace(batch)["answer.position"].tolist() == [3]
    assert network.trace(batch)["block.4.attention"].shape == (1, 8, 4, 4)
    maps = [module for module in network.modules() if isinstance(module, nn.Linear)]
    for layer in maps:
        assert layer.weight.abs().max() <= 2 / layer.in_features**0.5  # cut off at two deviations
        assert layer.bias is None or not layer.bias.any()
    wide = torch.cat([layer.weight.flatten() * layer.in_features**0.5 for layer in maps])
    assert 0.86 < wide.std() < 0.90  # of a normal distribution that is cut off there: 0.880
    assert network.embedding.symbol.weight.std() < 0.25
    asked = RunRequest(models=("transformer-deletang",), tasks=("parity:tag",))
    with pytest.raises(RequestError, match="tag"):
        make_plan(host, asked)


def test_the_reproduction_of_chi_trains_the_same_network_at_paper_scale(host):
    named, _ = built(host, "transformer-chi", "parity")
    other, _ = built(host, TRANSFORMER.name, "parity", **TRANSFORMER.paper)
    assert repr(named) == repr(other)


@pytest.mark.parametrize(
    ("task", "heads", "positions"), [("first", 1, "first"), ("parity", 2, "parity")]
)
@pytest.mark.parametrize("log_length", [False, True])
def test_chiang_and_cholaks_network(host, task, heads, positions, log_length):
    name = f"transformer-chiang-cholak-{task}"
    network, _ = built(host, name, task, log_length=log_length)
    assert not network.traits.causal  # CLS, which is read, sees the whole string
    assert network.embedding.positions == positions
    assert len(network.blocks) == 2
    first, second = (block.state_dict() for block in network.blocks)
    assert all(torch.equal(first[key], second[key]) for key in first)  # copies of one layer
    for block in network.blocks:
        assert (block.attention.heads, block.attention.log_length) == (heads, log_length)
        assert block.pre_norm is False
        assert block.feed_forward.up.weight.shape == (64, 16)


def test_they_are_for_the_papers_tasks_and_only_asked_for_by_name(host):
    every = make_plan(host, RunRequest(models=("all",), tasks=("parity",)))
    names = {run.model.name for run in every.runs}
    assert "transformer" in names
    assert not names & {spec.name for spec in PAPERS}
    with pytest.raises(RequestError, match="classify"):
        make_plan(
            host,
            RunRequest(models=("transformer-chiang-cholak-parity",), tasks=("parity:tag",)),
        )
