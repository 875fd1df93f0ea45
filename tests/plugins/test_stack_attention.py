"""Stack attention, action by action."""

from __future__ import annotations

import itertools

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host.options import make_config
from formalbench_models.families.stack_attention import StackAttention, StackTransformer, tops
from formalbench_models.layers.attention import Span
from formalbench_models.plugin import formalbench_models
from model_helpers import fake_task, shaken, strings

(SPEC,) = (spec for spec in formalbench_models() if spec.name == "stack-attention")


def make(task, **options):
    return StackTransformer(task, make_config(SPEC, {"width": 8, "heads": 2, "cell": 3} | options))


def hard_top(actions, values):
    """The top of a stack on which every action is really carried out."""
    stack = []
    for action, value in zip(actions, values, strict=True):
        if action == 0:
            stack.append(value)
        elif action == 2 and stack:
            stack.pop()
    return stack[-1] if stack else torch.zeros_like(values[0])


def test_a_superposition_is_the_mean_over_all_sequences_of_actions():
    generator = torch.Generator().manual_seed(0)
    share = torch.randn(1, 5, 3, dtype=torch.float64, generator=generator).softmax(-1)
    value = torch.randn(1, 5, 2, dtype=torch.float64, generator=generator)
    want = torch.zeros(5, 2, dtype=torch.float64)
    for actions in itertools.product(range(3), repeat=5):
        for end in range(1, 6):
            # The share of a prefix of actions is that of all its continuations.
            chance = torch.stack([share[0, t, actions[t]] for t in range(5)]).prod()
            want[end - 1] += chance * hard_top(actions[:end], value[0, :end])
    torch.testing.assert_close(tops(share, value)[0], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("squashed", [False, True])
@torch.no_grad()
def test_the_layer_shows_its_top(squashed):
    layer = shaken(StackAttention(8, 3, bias=True, squashed=squashed))
    x_BND = torch.randn(2, 6, 8, dtype=torch.float64)
    value = layer.pushed(x_BND).sigmoid() if squashed else layer.pushed(x_BND)
    top = tops(layer.action(x_BND).softmax(-1), value)
    for first, stop in ((0, 6), (2, 5), (5, 6)):
        got, weights = layer(x_BND, Span(first, stop))
        torch.testing.assert_close(got, layer.merge(top)[:, first:stop], rtol=0, atol=1e-12)
        assert weights is None


@pytest.mark.parametrize(("options", "index"), [({}, 1), ({"stack_block": 1}, 0)])
def test_one_block_has_the_stack(options, index):
    network = make(fake_task(), **options)
    kinds = [isinstance(block.attention, StackAttention) for block in network.blocks]
    assert [place for place, kind in enumerate(kinds) if kind] == [index]
    trace = network.trace(Batch(strings(2, 5)))
    assert f"block.{index}.attention" not in trace
    assert network.traits.mechanisms == ("stack-attention", "future-masked")


def test_bad_requests_are_one_line():
    for options, told in (
        ({"stack_block": 4}, "stack_block is 4, of 3 layers"),
        ({"init": "library"}, "init=library makes all blocks alike"),
        ({"heads": 3}, "width must be divisible by heads"),
    ):
        with pytest.raises(RequestError, match=told) as error:
            make(fake_task(), **options)
        assert "\n" not in str(error.value)
    with pytest.raises(RequestError, match="do not set causal=false"):
        make(fake_task(), causal=False)
