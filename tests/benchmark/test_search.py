"""The beam search, against its slow reference and against saying the likeliest symbol each time."""

import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Batch, Stepwise, tensors
from formalbench.contracts.task import Task
from formalbench.evaluation.beam_search import Search, search, search_naive, searched
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import NotFiniteError, answered_freely, decode, evaluate
from formalbench.objectives.transduce import Decode
from torch import nn
from transductions import Reversed

OUTPUTS = 4
ROOM = 6


class Speaker(nn.Module):
    """Says what a table has for the sum of the string, the last symbol said and how many were."""

    def __init__(self, seed, outputs=OUTPUTS):
        super().__init__()
        torch.manual_seed(seed)
        self.register_buffer("table", 2 * torch.randn(5, outputs + 1, ROOM + 1, outputs))
        self.called = 0

    def rows(self, symbols, said, at):
        return self.table[symbols.sum(1) % 5, said, at]

    def forward(self, batch):
        self.called += 1
        begin = torch.full_like(batch.symbols[:, :1], self.table.shape[1] - 1)
        said = torch.cat((begin, batch.decoded), dim=1)
        rows = [self.rows(batch.symbols, said[:, at], at) for at in range(said.shape[1])]
        return torch.stack(rows, dim=1)


class Steps(Speaker):
    """The same, one symbol at a time."""

    def begin(self, batch):
        return batch.symbols, torch.zeros_like(batch.symbols[:, 0])

    def next(self, kept, said_B):
        symbols, at = kept
        if said_B is None:
            said_B = torch.full_like(at, self.table.shape[1] - 1)
        return self.rows(symbols, said_B, at), (symbols, at + 1)


def said_by(found):
    end = OUTPUTS - 1
    return [row[: row.index(end)] if end in row else row for row in found.said.tolist()]


def strings(count=12):
    return Batch(torch.arange(3 * count).view(count, 3) % 7)


@pytest.mark.parametrize("kind", [Speaker, Steps])
@pytest.mark.parametrize(("beam", "penalty"), [(1, 0.0), (2, 0.0), (4, 0.6), (7, 1.0), (40, 0.6)])
def test_it_finds_what_the_reference_finds(kind, beam, penalty):
    for seed in range(2):
        speaker = kind(seed).double()
        batch = strings()

        def say(said, row, speaker=speaker, batch=batch):
            so_far = torch.tensor([list(said)], dtype=torch.int64)
            one = Batch(batch.symbols[row : row + 1], decoded=so_far)
            return speaker.forward(one)[0, -1].log_softmax(-1).tolist()

        found = said_by(search(speaker, batch, ROOM, Search(beam, penalty)))
        want = [
            search_naive(lambda said, row=row: say(said, row), ROOM, beam, penalty)
            for row in range(len(found))
        ]
        assert found == want
    assert isinstance(speaker, Stepwise) == (kind is Steps)


def test_a_step_is_taken_once():
    steps = Steps(0)
    search(steps, strings(), ROOM, Search(4, 0.6))
    assert steps.called == 0


def test_a_wide_beam_finds_the_likeliest_of_all():
    speaker = Speaker(3, outputs=2).double()
    batch = strings(5)
    found = search(speaker, batch, ROOM, Search(64, 0.0))
    said = torch.zeros(5, ROOM, dtype=torch.int64)
    logs_BQK = speaker(batch._replace(decoded=said)).log_softmax(-1)
    # With one symbol and END, an answer is its length.
    on_BQ = torch.nn.functional.pad(logs_BQK[:, :ROOM, 0].cumsum(1), (1, 0))
    assert (found.said == 0).sum(1).tolist() == (on_BQ + logs_BQK[..., 1]).argmax(1).tolist()


def test_a_beam_of_one_says_the_likeliest_each_time():
    speaker = Speaker(1)
    said, over = decode(speaker, strings(), ROOM)
    greedy = [
        row[: int((~done).sum())] for row, done in zip(said.tolist(), over[:, 1:], strict=True)
    ]
    assert said_by(search(speaker, strings(), ROOM, Search())) == greedy


def test_what_is_found_as_logits():
    speaker = Speaker(1)
    targets = torch.zeros(12, 9, dtype=torch.int64)
    example = tensors(
        Task("reversed", 1, Reversed(), Decode()).examples(strings().symbols.numpy() % 2)
    )
    example = example._replace(inputs=strings().symbols, decoded=targets[:, :8])
    logits = searched(speaker, example, ROOM, OUTPUTS, Search())
    assert logits.shape == (12, 9, OUTPUTS)
    longest = answered_freely(speaker, example._replace(decoded=targets[:, :ROOM]))
    assert torch.equal(logits.argmax(-1)[:, :ROOM], longest.argmax(-1)[:, :ROOM])
    assert (logits.argmax(-1)[:, ROOM:] == OUTPUTS - 1).all()  # there it has to end


@pytest.mark.parametrize("how", [None, Search(3, 0.6)])
def test_one_that_would_go_on_is_wrong_where_it_should_have_ended(how):
    class GoesOn(nn.Module):
        def forward(self, batch):
            count, said = batch.decoded.shape
            return torch.tensor([5.0, 0.0, 1.0]).expand(count, said + 1, 3)

    task = Task("reversed", 1, Reversed(), Decode())
    cells = TestSet((Cell(2, 2, (task.examples(np.zeros((4, 2), dtype=np.int64)),)),))
    (score,) = evaluate(GoesOn(), task, cells, torch.device("cpu"), how=how)
    assert score.measures["string-accuracy"].total == 0
    assert score.measures["answer-accuracy"].total == 8


def test_a_logit_that_is_no_number_is_an_error():
    speaker = Speaker(1, outputs=3)
    speaker.table[2, :, 2:] = math.nan
    task = Task("reversed", 1, Reversed(), Decode())
    rows = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]])
    examples = task.examples(rows)
    with pytest.raises(NotFiniteError):
        evaluate(speaker, task, TestSet((Cell(3, 3, (examples,)),)), torch.device("cpu"))
    found = search(speaker, Batch(torch.from_numpy(rows)), ROOM, Search(2, 0.0))
    assert found.finite[1:].all()


def test_the_length_penalty_is_that_of_its_equation():
    lengths = torch.tensor([1, 7, 19])
    assert Search(4, 1.0).penalty(lengths).tolist() == [1.0, 2.0, 4.0]
    assert Search(4, 0.5).penalty(lengths).tolist() == pytest.approx([1.0, 2**0.5, 2.0])
