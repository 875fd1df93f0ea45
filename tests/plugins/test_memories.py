"""Networks with a stack or a tape, against one cell, action or run at a time."""

import itertools

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, traits_of
from formalbench.evaluation.cells import check_lengths
from formalbench.host import PluginHost
from formalbench.host.options import make_config
from formalbench.objectives.transduce import BLANK
from formalbench_models.catalogue.recurrent_networks import (
    NondeterministicStackConfig,
    StackRnnConfig,
    TapeRnnConfig,
)
from formalbench_models.families import nondeterministic_stack
from formalbench_models.families import stack_rnn as naive_stack
from formalbench_models.families import tape_rnn as naive_tape
from formalbench_models.families.nondeterministic_stack import (
    NondeterministicStack,
    Operations,
    begin,
    go_on,
)
from formalbench_models.families.stack_attention import StackAttention, StackTransformer, tops
from formalbench_models.families.stack_rnn import StackRnn
from formalbench_models.families.tape_rnn import TapeRnn
from formalbench_models.layers.attention import Span
from formalbench_models.plugin import formalbench_models
from model_helpers import assert_same_gradients, fake_task, shaken, strings

LENGTHS = (1, 2, 3, 12)
BLANK_ID = 2


def stack(controller="relu", stacks=1, cell=3, width=6, **task):
    config = StackRnnConfig(width=width, controller=controller, stacks=stacks, cell=cell)
    return shaken(StackRnn(fake_task(**task), config))


def tape(controller="relu", tapes=1, cell=3, width=6, hidden=5, jumps=True, blanks=False):
    task = fake_task("each" if blanks else "last", sees_all=True)
    if blanks:
        task.alphabet = (*task.alphabet[:BLANK_ID], BLANK)
    config = TapeRnnConfig(
        width=width, controller=controller, tapes=tapes, cell=cell, hidden=hidden, jumps=jumps
    )
    return shaken(TapeRnn(task, config))


def by_hand(network, symbols, lengths=None):
    """Return the states of strings as the slow form computes them, zeros behind their ends."""
    rows = []
    for row, string in enumerate(symbols):
        own = string if lengths is None else string[: lengths[row]]
        if isinstance(network, StackRnn):
            found = naive_stack.naive_states(network, own)
        else:
            blanks = 0 if network.blank is None else int((own == network.blank).sum())
            found = naive_tape.naive_states(network, own, len(own) - blanks)
        rows.append(torch.nn.functional.pad(found, (0, 0, 0, len(string) - len(own))))
    return torch.stack(rows)


def agree(network, symbols, lengths=None):
    """Compare states and gradients of a batch with the slow form's."""
    width = network.width
    slow = by_hand(network, symbols, lengths)
    batch = Batch(symbols, None if lengths is None else torch.tensor(lengths))
    fast = network.states(batch)[..., :width]
    inside = slow != 0 if lengths is not None else torch.ones_like(slow, dtype=torch.bool)
    torch.testing.assert_close(fast[inside], slow[inside], rtol=0, atol=1e-10)
    with torch.no_grad():  # two memories take turns
        torch.testing.assert_close(network.states(batch)[..., :width], fast, rtol=0, atol=1e-12)
    assert_same_gradients(fast[inside], slow[inside], list(network.parameters()))


@pytest.mark.parametrize("controller", ["relu", "elman", "lstm"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_stack_is_its_cells_moved_one_by_one(controller, count, length):
    agree(stack(controller, count), strings(3, length))


@pytest.mark.parametrize("controller", ["relu", "lstm"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("jumps", [True, False])
@pytest.mark.parametrize("blanks", [True, False])
def test_a_tape_is_its_cells_moved_one_by_one(controller, count, jumps, blanks):
    for length in LENGTHS:
        agree(tape(controller, count, jumps=jumps, blanks=blanks), strings(3, length))


@pytest.mark.parametrize("blanks", [True, False])
def test_padded_strings_have_tapes_of_their_own_length(blanks):
    agree(tape("elman", 2, blanks=blanks), strings(4, 7), [7, 2, 4, 1])


def test_answers_after_blanks_jump_by_what_stands_before_them():
    network = tape(blanks=True)
    symbols = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 0, 1, 2], [2, 2, 2, 2, 2]])
    lengths, rings = network.lengths(Batch(symbols))
    assert lengths.tolist() == [3, 4, 0]
    assert rings.tolist() == [6, 6, 6]
    lengths, rings = network.lengths(Batch(symbols, torch.tensor([4, 5, 2])))
    assert lengths.tolist() == [3, 4, 0]
    assert rings.tolist() == [5, 6, 3]


@pytest.mark.parametrize("make", [StackRnn, TapeRnn])
@pytest.mark.parametrize("controller", ["relu", "elman", "lstm"])
def test_can_begin_as_the_published_code(make, controller):
    """Weights of the size that haiku gives them: 0.88 is the deviation of a normal cut off at 2."""
    config = {StackRnn: StackRnnConfig, TapeRnn: TapeRnnConfig}[make]
    torch.manual_seed(0)
    options = {"width": 200, "cell": 100, "controller": controller, "initial": "haiku"}
    network = make(fake_task(), config(**options))
    symbols, width = network.embedding.num_embeddings, 200
    seen = symbols + 100
    of_input, of_state = (seen + width,) * 2 if controller == "lstm" else (seen, width)
    inputs = {"cell.weight_ih": of_input, "cell.weight_hh": of_state}
    for name, parameter in network.named_parameters():
        weight = parameter.detach()
        if name == "embedding.weight":
            lengths = weight.square().sum(1).sqrt()
            assert torch.all((lengths - 1).abs() < 0.2)
        elif weight.dim() == 1:
            expected = torch.zeros_like(weight)
            if name == "cell.bias_ih" and controller == "lstm":
                expected[width : 2 * width] = 1  # the gates are i, f, g, o
            assert torch.equal(weight, expected), name
        else:
            count = inputs.get(name, weight.shape[1])
            assert weight.abs().max() <= 2 * count**-0.5, name
            assert abs(float(weight.std()) * count**0.5 - 0.88) < 0.08, name


def act(network, table):
    """Make a network push, wait or pop by the symbol alone, and write it as it is."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        size = len(table)
        network.embedding.weight[:size, :size] = torch.eye(size)
        network.cell.weight_ih[:size, :size] = torch.eye(size)
        network.says[0].weight[: len(table[0]), :size] = 1000.0 * torch.tensor(table).t()
        for symbol in range(size):
            network.says[0].weight[3 + symbol, symbol] = 1.0
    return network


@pytest.mark.parametrize("length", [40, 500, 2048])
def test_a_stack_gives_back_a_string_of_any_length(length):
    """The symbols 0 and 1 are pushed, 2 pops; reading is last in, first out, to the bottom."""
    network = act(stack(width=4, cell=3), [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    word = strings(2, length, symbols=2)
    pops = torch.full_like(word, 2)
    with torch.no_grad():
        reading = network.trace(Batch(torch.cat((word, pops), 1)))["reading"]
    # After the last push the top is the last symbol; each pop shows the one before it.
    shown = reading[:, length - 1 : 2 * length - 1, :2].argmax(-1)
    assert torch.equal(shown, word.flip(1))
    assert torch.equal(reading[:, -1], torch.zeros(2, 3, dtype=torch.float64))


def test_jumps_are_left_out_where_an_answer_may_not_see_its_string():
    for layout, sees_all, jumps in (("last", False, True), ("each", True, True)):
        made = TapeRnn(fake_task(layout, sees_all=sees_all), TapeRnnConfig(width=4))
        assert made.jumps is jumps
        assert not traits_of(made).causal
    made = TapeRnn(fake_task("prefixes"), TapeRnnConfig(width=4))
    assert not made.jumps
    assert traits_of(made).causal


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


def test_a_stack_does_not_look_ahead():
    with pytest.raises(RequestError, match="do not set causal=false"):
        make(fake_task(), causal=False)


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
    assert_same_gradients(fast, slow, list(network.parameters()))


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
