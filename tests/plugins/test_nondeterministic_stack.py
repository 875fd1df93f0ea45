"""Lang's algorithm against every stack that any run could have."""

from __future__ import annotations

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.evaluation.cells import check_lengths
from formalbench.host import PluginHost
from formalbench_models.catalogue.recurrent_networks import NondeterministicStackConfig
from formalbench_models.families import nondeterministic_stack
from formalbench_models.families.nondeterministic_stack import (
    NondeterministicStack,
    Operations,
    begin,
    go_on,
)
from model_helpers import fake_task, shaken, strings

ROOM = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3)]


def build(**options):
    config = NondeterministicStackConfig(**{"width": 4, "states": 2, "symbols": 2} | options)
    return NondeterministicStack(fake_task(), config)


def logits(states, symbols, seed, scale=1.0):
    size = states * symbols
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(2, size, 2 * size + states, generator=generator, dtype=torch.float64)
    return Operations(*(scale * drawn).split([size, size, states], -1))


@pytest.mark.parametrize(("states", "symbols"), ROOM)
def test_readings_are_those_of_every_stack(states, symbols):
    runs = begin(torch.zeros(2, dtype=torch.float64), states, symbols)
    one = torch.ones((), dtype=torch.float64)
    slow = [{(0, (0,)): one} for _ in range(2)]
    for step in range(5 if symbols > 2 else 6):
        weights = logits(states, symbols, step, 2.0)
        runs = go_on(runs, weights)
        for row in range(2):
            own = Operations(*(part[row] for part in weights))
            slow[row] = nondeterministic_stack.naive_go_on(slow[row], own, symbols)
            want = nondeterministic_stack.reading(slow[row], states, symbols)
            torch.testing.assert_close(runs.alpha[row], want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("normalise", [True, False])
def test_states_and_gradients_are_those_of_every_stack(normalise):
    network = shaken(build(normalise=normalise))
    symbols = strings(2, 5)
    fast = network(Batch(symbols))
    slow = torch.stack([nondeterministic_stack.naive_states(network, one) for one in symbols])
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-10)
    weight, wanted = torch.randn_like(slow), list(network.parameters())
    for mine, other in zip(
        *(torch.autograd.grad((y * weight).sum(), wanted) for y in (fast, slow)), strict=True
    ):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)


def test_a_pushdown_automaton_guesses_where_to_turn_round():
    """It pushes what it reads and, from any time on, pops: w wᴿ is what empties a stack."""
    states, symbols, never = 2, 3, -50.0

    def step(letter):
        """State 0 pushes a letter, or turns; state 1 pops it; 0 is the bottom."""
        push = torch.full((1, 6, 6), never, dtype=torch.float64)
        pop = torch.full((1, 6, 2), never, dtype=torch.float64)
        push[0, :3, letter] = 0.0
        pop[0, [letter, 3 + letter], 1] = 0.0
        return Operations(push, torch.full_like(push, never), pop)

    for word, emptied in (("abba", True), ("abab", False), ("aabbaa", True), ("aabbab", False)):
        runs = begin(torch.zeros(1, dtype=torch.float64), states, symbols)
        for letter in word:
            runs = go_on(runs, step("xab".index(letter)))
        assert (runs.alpha[0, 3].item() > 0.1) is emptied, word  # state 1 on the bottom


@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_no_number_is_lost_however_the_weights(scale):
    size = 6
    generator = torch.Generator().manual_seed(0)
    drawn = scale * torch.randn(20, 2, size, 2 * size + 2, generator=generator)
    drawn.requires_grad_()
    runs = begin(torch.zeros(2), 2, 3)
    readings = []
    for step in drawn:
        runs = go_on(runs, Operations(*step.split([size, size, 2], -1)))
        readings.append(runs.alpha)
    together = torch.stack(readings)
    torch.testing.assert_close(together.sum(-1), torch.ones(20, 2), rtol=0, atol=1e-5)
    (gradient,) = torch.autograd.grad(together.square().sum(), drawn)
    assert gradient.isfinite().all()


def test_what_is_longer_than_it_is_for_is_refused_by_name():
    host = PluginHost.load()
    task, protocol = host.task("parity"), host.protocol("quick")
    with pytest.raises(RequestError, match=r"model m supports .* 499 symbols, .* at 500"):
        check_lengths("m", (0, 499), task, protocol)
    check_lengths("m", (0, 500), task, protocol)
    check_lengths("m", (0, None), task, protocol)
    short = host.protocol("quick", {"test.lengths": "12,20"})
    check_lengths("m", (0, 40), task, short)
    with pytest.raises(RequestError, match=r"at most 39 symbols, .* trains at 40"):
        check_lengths("m", (0, 39), task, short)
