"""Networks with a stack or a tape: the fast form against one cell at a time, and what they hold."""

from __future__ import annotations

import pytest
import torch
from formalbench.contracts.network import Batch, traits_of
from formalbench.objectives.transduce import BLANK
from formalbench_models.catalogue.recurrent_networks import StackRnnConfig, TapeRnnConfig
from formalbench_models.families import stack_rnn as naive_stack
from formalbench_models.families import tape_rnn as naive_tape
from formalbench_models.families.stack_rnn import StackRnn
from formalbench_models.families.tape_rnn import TapeRnn
from model_helpers import fake_task, shaken, strings

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
    width, parameters = network.width, list(network.parameters())
    slow = by_hand(network, symbols, lengths)
    weight = torch.randn_like(slow) * (slow != 0)
    batch = Batch(symbols, None if lengths is None else torch.tensor(lengths))
    fast = network.states(batch)[..., :width]
    inside = slow != 0 if lengths is not None else torch.ones_like(slow, dtype=torch.bool)
    torch.testing.assert_close(fast[inside], slow[inside], rtol=0, atol=1e-10)
    with torch.no_grad():  # two memories take turns
        torch.testing.assert_close(network.states(batch)[..., :width], fast, rtol=0, atol=1e-12)
    for mine, other in zip(
        *(
            torch.autograd.grad((states * weight).sum(), parameters, materialize_grads=True)
            for states in (fast, slow)
        ),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)


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
