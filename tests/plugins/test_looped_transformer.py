"""The looped transformer, round by round."""

import math

import pytest
import torch
from formalbench.contracts.network import Batch, traits_of
from formalbench.contracts.theory import Theory
from formalbench.host.options import make_config
from formalbench.theory.theorems import about, predict
from formalbench_models.families.looped_transformer import LoopedTransformer
from formalbench_models.layers.attention import Span
from formalbench_models.plugin import formalbench_models
from model_helpers import fake_task, padded, shaken, strings

(SPEC,) = (spec for spec in formalbench_models() if spec.name == "looped-transformer")
SMALL = {"width": 8, "heads": 2}


def looped(task, **options):
    return LoopedTransformer(task, make_config(SPEC, SMALL | options))


def naive(network, symbols_N, rounds):
    """The logits for one string, from the equation."""
    begun = torch.cat((torch.tensor([network.alphabet["begin"]]), symbols_N))
    input_1MD = network.embedding.symbol(begun)[None]
    state = torch.zeros_like(input_1MD) if network.inject else input_1MD
    for _ in range(rounds):
        state = state + input_1MD if network.inject else state
        for block in network.blocks:
            state, _ = block(state, Span(0, len(begun)), None)
        state = network.norm(state) if network.norm_rounds else state
    read = state[0, -1 if network.causal else 0]
    return network.readout(read if network.norm_rounds else network.norm(read))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("inject", [False, True])
@pytest.mark.parametrize(("rounds", "times"), [("log", 1), ("log", 2), ("length", 1), ("fixed", 3)])
@pytest.mark.parametrize("norm_rounds", [False, True])
@torch.no_grad()
def test_it_equals_its_equation(causal, inject, rounds, times, norm_rounds):
    options = {"causal": causal, "inject": inject, "rounds": rounds, "times": times, "layers": 2}
    options["norm_rounds"] = norm_rounds
    network = shaken(looped(fake_task(), **options))
    batch, alone = padded([9, 1, 0, 4, 8, 3])
    together = network(batch)
    for row, single in enumerate(alone):
        length = single.symbols.shape[1]
        each = {"log": math.ceil(math.log2(length + 1)), "length": length, "fixed": 1}[rounds]
        want = naive(network, single.symbols[0], times * max(1, each))
        torch.testing.assert_close(together[row], want, rtol=0, atol=1e-10)
        torch.testing.assert_close(network(single)[0], want, rtol=0, atol=1e-10)


@torch.no_grad()
def test_every_prefix_has_its_own_number_of_rounds():
    network = shaken(looped(fake_task("prefixes")))
    symbols = strings(2, 9)
    answers = network(Batch(symbols))
    for length in range(10):
        want = naive(network, symbols[0, :length], max(1, length.bit_length()))
        torch.testing.assert_close(answers[0, length], want, rtol=0, atol=1e-10)


def test_what_it_says_of_itself():
    log, fixed, linear = (
        traits_of(looped(fake_task(), rounds=rounds, times=2, layers=3))
        for rounds in ("log", "fixed", "length")
    )
    assert [log.depth(n) for n in (0, 1, 2, 3, 4, 500)] == [6, 6, 12, 12, 18, 54]
    assert (fixed.depth(500), linear.depth(500)) == (6, 3000)
    assert predict(log, Theory.least("regular"))[0] == "unknown"
    assert predict(fixed, Theory.least("regular"))[0] == "cannot"
    assert predict(linear, Theory.least("regular"))[0] == "unknown"


def test_theorems_on_universal_transformers_need_layers_behind_the_loop_and_hard_attention():
    assert not {"logarithmic-rounds", "padding-and-looping"} & {
        theorem.name for theorem in about(traits_of(looped(fake_task(), layers=8)))
    }
