"""The objectives `transduce` and `decode`: a string for a string."""

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Batch, Traits
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import Cell, TestSet, saved_test_set
from formalbench.evaluation.evaluate import decode, evaluate
from formalbench.objectives.transduce import Decode, Transduce
from torch import nn
from transductions import Doubled, OnlyOnes, Reversed

CPU = torch.device("cpu")
REVERSED = Task("reversed", 1, Reversed(), Transduce())
DOUBLED = Task("doubled", 1, Doubled(), Transduce())
SHORTER = Task("only-ones", 1, OnlyOnes(), Decode())


def strings(*rows):
    return np.array(rows, dtype=np.int64)


# Into blanks.


def test_blanks_by_hand():
    assert REVERSED.alphabet == ("0", "1", "<blank>")
    assert REVERSED.outputs == 3
    assert REVERSED.layout == "each"
    example = REVERSED.examples(strings([1, 0, 0], [0, 1, 1]))
    assert example.inputs.tolist() == [[1, 0, 0, 2, 2, 2], [0, 1, 1, 2, 2, 2]]
    assert example.targets.tolist() == [[0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 0]]
    assert example.scored.tolist() == [[False] * 3 + [True] * 3] * 2
    assert REVERSED.to_json(example) == [[0, 0, 1], [1, 1, 0]]
    assert REVERSED.objective.show(REVERSED.source, np.array([1, 0, 0])) == "a a b"


def test_a_shorter_answer_ends():
    example = DOUBLED.examples(strings([1, 0], [1, 1], [0, 0]))
    assert example.inputs.tolist() == [[1, 0, 2, 2, 2, 2], [1, 1, 2, 2, 2, 2], [0, 0, 2, 2, 2, 2]]
    assert example.targets[:, 2:].tolist() == [[1, 1, 0, 2], [1, 1, 1, 1], [0, 0, 2, 0]]
    assert example.scored[:, 2:].tolist() == [[True] * 4, [True] * 4, [True] * 3 + [False]]
    assert DOUBLED.to_json(example) == [[1, 1, 0], [1, 1, 1, 1], [0, 0]]


def test_there_is_nothing_to_say_for_the_empty_string():
    assert REVERSED.lengths(0, 3) == [1, 2, 3]
    assert SHORTER.lengths(0, 3) == [0, 1, 2, 3]


def test_a_longer_answer_than_was_said_is_an_error():
    class Wrong(Doubled):
        def answer_length(self, length):
            return length + 1

    with pytest.raises(ValueError, match="an answer has 4 symbols, and answer_length says 3"):
        Task("wrong", 1, Wrong(), Transduce()).examples(strings([1, 1]))


def test_each_kind_of_source_is_told_what_fits(host):
    refused = Transduce().refusal(OnlyOnes())
    assert refused.startswith("transduce needs to know how long answers are, and OnlyOnes")
    assert "decode" in refused
    assert Decode().refusal(OnlyOnes()) is None
    assert Transduce().refusal(Doubled()) is Decode().refusal(Doubled()) is None
    language = host.task("parity").source
    assert "needs a Transduction, and Parity is none" in Transduce().refusal(language)
    assert "needs a Language" in host.task("parity").objective.refusal(Doubled())


@pytest.mark.parametrize("task", [REVERSED, DOUBLED, SHORTER], ids=lambda task: task.name)
def test_answers_are_held_against_the_oracle(task):
    example = task.sample(task.stream("oracle"), 5, 30)
    assert task.objective.contradicts(task.source, example) is None
    row = next(row for row, answer in enumerate(task.to_json(example)) if len(answer) > 1)
    place = int(example.scored[row].argmax())
    example.targets[row, place] = 1 - example.targets[row, place]
    assert task.objective.contradicts(task.source, example) == row


@pytest.mark.parametrize("task", [REVERSED, DOUBLED, SHORTER], ids=lambda task: task.name)
def test_chance_is_what_the_best_trivial_answers_get(task):
    lengths = [3, 6]
    chance = task.chance(lengths)
    shares, best = [], []
    for length in lengths:
        example = task.sample(task.stream("again"), length, 6000)
        targets, scored = example.targets, example.scored
        counts = np.array([((targets == k) & scored).sum(0) for k in range(task.outputs)])
        shares.append(counts.sum(1) / scored.sum())
        best.append(counts.max(0).sum() / scored.sum())
    assert chance.by_length == pytest.approx(best, abs=0.02)
    assert chance.constant == pytest.approx(np.mean(shares, axis=0).max(), abs=0.02)
    assert chance.constant <= chance.length_only
    assert task.chance(lengths) == chance


class Reverser(nn.Module):
    """Reverses strings of any length; wrong about the last symbol it says, if asked to be."""

    def __init__(self, slip=False):
        super().__init__()
        self.slip = slip

    def forward(self, batch):
        count, size = batch.symbols.shape
        length = size // 2
        logits = torch.zeros(count, size, 3, dtype=torch.float64)
        answers = batch.symbols[:, :length].flip(1).clone()
        if self.slip:
            answers[:, -1] = 1 - answers[:, -1]
        return logits.scatter(2, torch.cat((answers, answers), 1).unsqueeze(2), 9.0)


def test_accuracies_of_symbols_and_strings_side_by_side():
    protocol = Protocol.model_validate(
        {"name": "p", "version": 1, "test": {"lengths": (4, 8), "strings": 10}}
    )
    drawn = saved_test_set(REVERSED, "", protocol)
    assert drawn.lengths == [4, 8]  # of the strings, without blanks
    assert saved_test_set(REVERSED, "", protocol).fingerprint == drawn.fingerprint
    for slip, right, whole in ((False, (40, 80), 10), (True, (30, 70), 0)):
        scores = evaluate(Reverser(slip), REVERSED, drawn, CPU)
        assert [list(score.measures) for score in scores] == [
            ["answer-accuracy", "string-accuracy", "cross-entropy"]
        ] * 2
        assert [score.measures["answer-accuracy"] for score in scores] == [
            (right[0], 40),
            (right[1], 80),
        ]
        assert [score.measures["string-accuracy"] for score in scores] == [(whole, 10)] * 2
        assert [score.measures["cross-entropy"].count for score in scores] == [40, 80]


# Step by step.


def test_steps_by_hand():
    assert (SHORTER.layout, SHORTER.alphabet, SHORTER.outputs) == ("decoded", ("0", "1"), 3)
    example = SHORTER.examples(strings([1, 0, 1], [0, 0, 0], [0, 1, 0]))
    assert example.decoded.tolist() == [[1, 1], [0, 0], [1, 0]]
    assert example.targets.tolist() == [[1, 1, 2], [2, 0, 0], [1, 2, 0]]
    assert example.scored.tolist() == [[True] * 3, [True, False, False], [True, True, False]]
    assert SHORTER.to_json(example) == [[1, 1], [], [1]]


class CountsOnes(nn.Module):
    """Says a 1 for every 1, and END; how many it says besides is up to `more`."""

    traits = Traits(encoder_decoder=True, padding=True)

    def __init__(self, more=0):
        super().__init__()
        self.more = more

    def forward(self, batch):
        inside = torch.ones_like(batch.symbols, dtype=torch.bool)
        if batch.lengths is not None:
            inside = torch.arange(batch.symbols.shape[1]) < batch.lengths[:, None]
        wanted_B = (batch.symbols * inside).sum(1) + self.more
        said = torch.arange(batch.decoded.shape[1] + 1)
        # It continues from the given answers, correct or not.
        so_far = nn.functional.pad(batch.decoded.cumsum(1), (1, 0))
        next_BM = torch.where(so_far >= wanted_B[:, None], 2, 1)
        logits = torch.zeros(*next_BM.shape, 3, dtype=torch.float64)
        assert len(said) == next_BM.shape[1]
        return logits.scatter(2, next_BM.unsqueeze(2), 9.0)


def test_a_network_says_what_it_says():
    symbols = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1]])
    said, over = decode(CountsOnes(), Batch(symbols), 4)
    assert said.tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    assert over.sum(1).tolist() == [2, 4, 1]
    assert decode(CountsOnes(), Batch(symbols), 0)[0].shape == (3, 0)


def test_tests_are_of_what_a_network_says_itself():
    example = SHORTER.examples(strings([1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]))
    cell = TestSet((Cell(3, 3, (example,)),))
    (right,) = evaluate(CountsOnes(), SHORTER, cell, CPU)
    assert right.measures["string-accuracy"] == (4, 4)
    assert right.measures["answer-accuracy"] == (3 + 1 + 4 + 2, 10)
    (longer,) = evaluate(CountsOnes(1), SHORTER, cell, CPU)
    assert longer.measures["string-accuracy"] == (0, 4)
    assert longer.measures["answer-accuracy"] == (10 - 4, 10)  # each END is missed
    (shorter,) = evaluate(CountsOnes(-1), SHORTER, cell, CPU)
    # of "1 1 END" it says "1 END", and then nothing that could be right but that it has ended
    assert shorter.measures["answer-accuracy"] == (2 + 1 + 3 + 1, 10)
    assert shorter.measures["string-accuracy"] == (1, 4)


def test_cross_entropy_is_given_the_right_answers():
    example = SHORTER.examples(strings([1, 1, 1, 1]))
    (score,) = evaluate(CountsOnes(-1), SHORTER, TestSet((Cell(4, 4, (example,)),)), CPU)
    sure = float(torch.tensor([9.0, 0.0, 0.0]).double().log_softmax(0)[0])
    missed = float(torch.tensor([9.0, 0.0, 0.0]).double().log_softmax(0)[1])
    bits = -(4 * sure + missed) / np.log(2)
    assert score.measures["cross-entropy"] == (pytest.approx(bits), 5)


def test_padded_strings_are_decoded_as_alone():
    from formalbench.contracts.network import pad

    parts = [SHORTER.sample(SHORTER.stream("parts"), length, 6) for length in (3, 7)]
    alone = evaluate(CountsOnes(1), SHORTER, TestSet((Cell(3, 7, tuple(parts)),)), CPU)
    padded = TestSet((Cell(3, 7, (pad(parts, SHORTER.layout),)),))
    assert evaluate(CountsOnes(1), SHORTER, padded, CPU) == alone
