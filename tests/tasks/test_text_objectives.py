"""What is asked of texts: which token comes next, and which one was hidden."""

import math

import numpy as np
import pytest
import torch
from formalbench import Batch, Corpus, Example, RequestError, Stream
from formalbench.contracts.network import tensors
from formalbench.evaluation.cells import check_process
from formalbench.evaluation.cells import test_set as cells_of
from formalbench_text.language_modelling import CausalLM, MaskedLM
from formalbench_text.metrics import Perplexity

pytestmark = pytest.mark.usefixtures("own_place")


class Counting(Corpus):
    """Every window counts from 0 up."""

    alphabet = tuple(map(str, range(40)))

    def sample(self, stream, length, count):
        return np.tile(np.arange(length, dtype=np.int64), (count, 1))


def test_every_token_is_asked_for_in_training():
    source = Counting()
    asked = CausalLM().examples(source, source.sample(Stream("x"), 5, 2), Stream("x"))
    assert asked.targets[asked.scored].tolist() == [1, 2, 3, 4] * 2
    assert asked.inputs[asked.scored].tolist() == [0, 1, 2, 3] * 2


def test_only_the_last_token_is_asked_for_in_tests():
    source = Counting()
    source.last_only = True
    for length in (2, 5):
        asked = CausalLM().examples(source, source.sample(Stream("x"), length, 2), Stream("x"))
        assert asked.targets[asked.scored].tolist() == [length - 1] * 2
        assert np.argwhere(asked.scored)[:, 1].tolist() == [length - 2] * 2


def test_hidden_tokens():
    source = Counting()
    windows = source.sample(Stream("x"), 40, 4000)
    asked = MaskedLM().examples(source, windows, Stream("hide"))
    assert np.array_equal(asked.targets, windows)
    assert np.array_equal(asked.inputs[~asked.scored], windows[~asked.scored])
    assert asked.scored.any(1).all()
    share = asked.scored.mean()
    assert abs(share - (0.15 + 0.85 / 40)) < 0.005  # one of every window at least
    inputs, targets = asked.inputs[asked.scored], asked.targets[asked.scored]
    hidden = inputs == len(source.alphabet)
    same = inputs == targets
    assert abs(hidden.mean() - 0.8) < 0.01
    assert abs(same.mean() - (0.1 + 0.1 / 40)) < 0.01
    assert MaskedLM().alphabet(source) == (*source.alphabet, "<mask>")


def test_perplexity_is_that_of_even_odds():
    example = tensors(Example(np.zeros((3, 4), np.int64), np.zeros((3, 4), np.int64)))
    logits = torch.zeros(3, 4, 8)
    metric = Perplexity()
    state = metric.measure(logits, example).numpy()
    found = metric.finish(state)["perplexity"]
    assert found.count == 12
    assert math.isclose(found.mean, 8.0)
    # It is of the mean over all batches, and not the mean of theirs.
    sure = torch.zeros(3, 4, 8)
    sure[..., 0] = 100.0
    both = metric.finish(state + metric.measure(sure, example).numpy())["perplexity"]
    assert math.isclose(both.mean, math.sqrt(8.0), rel_tol=1e-6)


def test_chance_is_the_most_frequent_last_token(host):
    task = host.task("tiny:causal-lm")
    windows = task.of("test").source.fixed(512, "")
    share = np.bincount(windows[:, -1]).max() / len(windows)
    chance = task.chance([32, 512])
    assert chance.by_length == (share, share)
    assert chance.constant == share


def test_cells_are_windows_of_the_lengths_named(host):
    protocol = host.protocol("text-quick")
    cells = cells_of(host.task("tiny:causal-lm"), protocol).cells
    assert [(cell.last, cell.strings) for cell in cells] == [
        (length, 64) for length in (32, 64, 128, 256, 512)
    ]
    asked = [cell.examples[0] for cell in cells]
    assert all(one.scored.sum() == 64 for one in asked)
    assert len({tuple(one.targets[one.scored].tolist()) for one in asked}) == 1
    assert [cell.last for cell in cells_of(host.task("tiny:masked-lm"), protocol).cells] == [32]


def test_a_budget_of_tokens_takes_as_many_windows_of_each_length(host):
    plain = host.protocol("text-quick")
    few = plain.model_copy(update={"test": plain.test.model_copy(update={"tokens": 16 * 512})})
    task = host.task("tiny:causal-lm")
    check_process(task, few)
    found = cells_of(task, few).cells
    assert [(cell.last, cell.strings) for cell in found] == [
        (length, 16) for length in (32, 64, 128, 256, 512)
    ]
    # Every fourth of those without a budget: the same tokens at all lengths.
    for cell, every in zip(found, cells_of(task, plain).cells, strict=True):
        assert (cell.examples[0].inputs == every.examples[0].inputs[::4]).all()
    one = plain.model_copy(update={"test": plain.test.model_copy(update={"tokens": 3})})
    assert {cell.strings for cell in cells_of(task, one).cells} == {1}
    assert few.test_facts() != plain.test_facts()
    assert few.train_facts() == plain.train_facts()


def test_a_budget_of_tokens_takes_a_share_of_texts_of_all_lengths(host):
    plain = host.protocol("translate-quick")
    task = host.task("tiny-pairs:translate")
    every = cells_of(task, plain).cells
    few = plain.model_copy(update={"test": plain.test.model_copy(update={"tokens": 150})})
    for cell, whole in zip(cells_of(task, few).cells, every, strict=True):
        share = 150 / sum(whole.lengths)
        assert cell.strings == max(1, int(whole.strings * share))
        assert cell.group == whole.group
    training = plain.model_copy(
        update={"validation": plain.validation.model_copy(update={"tokens": 9})}
    )
    with pytest.raises(RequestError, match="a task with its own string process"):
        check_process(task, training)


def test_what_stands_behind_the_end_of_a_text_sees_what_stands_before_it(host):
    """Windows are full of tokens, also across texts, and nothing is hidden."""
    task = host.task("tiny:causal-lm")
    end = task.source.alphabet.index("<end>")
    drawn = task.of("train").source.sample(Stream("packed"), 32, 400)
    across = drawn[(drawn[:, 8:24] == end).any(1)]  # some begin in one text and end in another
    assert len(across)
    window = torch.from_numpy(across[:1])
    place = int((window[0] == end).nonzero()[0])
    other = window.clone()
    other[0, place - 1] = (other[0, place - 1] + 1) % end
    torch.manual_seed(0)
    network = host.network("transformer", task, {"width": 16})
    with torch.no_grad():
        before, after = network(Batch(window)), network(Batch(other))
    assert torch.equal(before[0, : place - 1], after[0, : place - 1])
    assert not torch.allclose(before[0, place + 1], after[0, place + 1])
