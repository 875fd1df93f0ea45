"""Padded strings are judged as they are one length at a time, and what is not scored is not."""

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example, pad, split, stack, tensors
from formalbench.contracts.task import Task, expected_shape
from formalbench.objectives.transduce import Decode, Transduce
from transductions import Doubled, OnlyOnes

NAMES = ["cycle-navigation", "parity:tag", "tomita-3:next-symbols", "dyck-2-3:generate"]
TASKS = [*NAMES, "transduce", "decode"]


@pytest.fixture(params=TASKS)
def task(request, host):
    if request.param == "transduce":
        return Task("doubled", 1, Doubled(), Transduce())
    if request.param == "decode":
        return Task("only-ones", 1, OnlyOnes(), Decode())
    return host.task(request.param)


def answered(task, length, count):
    """Return strings of one length and random answers to them."""
    example = task.sample(task.stream("padded", length), length, count)
    generator = torch.Generator().manual_seed(length)
    shape = expected_shape(task, example.batch)
    logits = 3 * torch.randn(shape, generator=generator, dtype=torch.float64)
    if task.layout != "prefixes":  # so that some are right
        right = torch.from_numpy(example.targets)[: count // 2].unsqueeze(-1)
        logits[: count // 2].scatter_(-1, right, 20.0)
    return example, logits


@pytest.fixture
def parts(task):
    return [answered(task, length, count) for length, count in ((6, 5), (2, 8), (4, 7))]


def padded(task, parts):
    """Return all as one example, and their answers with noise in the places of padding."""
    example = tensors(pad([example for example, _ in parts], task.layout))
    rows = [logits for _, logits in parts]
    if task.layout == "last":
        return example, torch.cat(rows)
    most = max(logits.shape[1] for logits in rows)
    noise = 50 * torch.randn(len(example.inputs), most, task.outputs, dtype=torch.float64)
    first = 0
    for logits in rows:
        noise[first : first + len(logits), : logits.shape[1]] = logits
        first += len(logits)
    return example, noise


def answers_of(example):
    scored = example.scored
    if scored is not None:
        return int(scored.sum())
    return (
        example.targets[..., 0].numel()
        if example.targets.dtype == torch.bool
        else (example.targets.numel())
    )


def test_the_loss_is_the_mean_over_all_answers(task, parts):
    example, logits = padded(task, parts)
    loss = task.objective.loss(logits, example)
    moved = [(tensors(part), own) for part, own in parts]
    alone = [(task.objective.loss(own, part), answers_of(part)) for part, own in moved]
    mean = sum(nats * answers for nats, answers in alone) / sum(answers for _, answers in alone)
    assert loss.item() == pytest.approx(mean.item(), rel=1e-12)


def test_gradients_leave_padding_alone(task, parts):
    example, logits = padded(task, parts)
    task.objective.loss(logits.requires_grad_(), example).backward()
    if example.scored is not None:
        assert (logits.grad[~example.scored] == 0).all()
        assert (logits.grad[example.scored] != 0).any()


def test_each_string_is_judged_as_alone(task, parts):
    example, logits = padded(task, parts)
    objective, primary = task.objective, task.primary
    right = objective.right(logits, example, primary)
    margin = objective.margin(logits, example, primary)
    bits = task.metrics[1].bits(logits, example)
    assert right.shape == margin.shape == bits.shape == (20,)
    first = 0
    for alone, own in parts:
        rows, moved = slice(first, first + len(own)), tensors(alone)
        torch.testing.assert_close(right[rows], objective.right(own, moved, primary))
        torch.testing.assert_close(margin[rows], objective.margin(own, moved, primary))
        torch.testing.assert_close(bits[rows], task.metrics[1].bits(own, moved))
        first += len(own)
    assert right.double().sum() > 0 or task.layout == "prefixes"


def test_under_vmap_as_one_by_one(task, parts):
    example, logits = padded(task, parts)
    fields = [name for name in Example._fields[:5] if getattr(example, name) is not None]

    def judged(logits, parts, known):
        one = Example(**dict(zip(fields, parts, strict=True)), known=known)
        right = task.objective.right(logits, one, task.primary)
        return task.objective.loss(logits, one), right

    halves = example.map(lambda part: part.reshape(2, 10, *part.shape[1:]))
    loss_R, right_RB = torch.func.vmap(judged)(
        logits.reshape(2, 10, *logits.shape[1:]),
        [getattr(halves, name) for name in fields],
        dict(halves.known),
    )
    for run in range(2):
        rows = slice(10 * run, 10 * run + 10)
        own = example.rows(rows)
        alone = task.objective.loss(logits[rows], own)
        assert loss_R[run].item() == pytest.approx(alone.item())
        assert torch.equal(right_RB[run], task.objective.right(logits[rows], own, task.primary))


def test_split_undoes_padding(task, parts):
    examples = {example.length: example for example, _ in parts}
    whole = pad([example for example, _ in parts], task.layout)
    for taken in (whole, tensors(whole)):
        found = split(taken, task.layout)
        assert [example.length for example in found] == sorted(examples)
        for one in found:
            expected = examples[one.length]
            assert one.lengths is None
            assert np.array_equal(one.inputs, expected.inputs)
            if task.layout == "decoded":  # answers stay as long as the longest of all
                for name in ("targets", "scored", "decoded"):
                    own, was = (np.asarray(getattr(e, name)) for e in (one, expected))
                    assert np.array_equal(own[:, : was.shape[1]], was)
                    assert not own[:, was.shape[1] :].any()
                continue
            assert np.array_equal(one.targets, expected.targets)
            assert (one.scored is None) == (expected.scored is None)
            assert one.scored is None or np.array_equal(one.scored, expected.scored)
            assert one.known.keys() == expected.known.keys()
            for name, fact in one.known.items():
                assert np.array_equal(fact, expected.known[name])


def test_what_is_not_padded_is_not_split(task, parts):
    example, _ = parts[0]
    assert split(example, task.layout) == [example]


def test_runs_are_stacked_whatever_the_length_of_their_answers():
    task = Task("only-ones", 1, OnlyOnes(), Decode())
    runs = [task.examples(np.array(rows)) for rows in ([[0, 0, 1]], [[1, 1, 1]])]
    both = stack(runs)
    assert both.inputs.shape == (2, 1, 3)
    assert both.targets.tolist() == [[[1, 2, 0, 0]], [[1, 1, 1, 2]]]
    assert both.scored.tolist() == [[[True, True, False, False]], [[True] * 4]]
    assert both.decoded.tolist() == [[[1, 0, 0]], [[1, 1, 1]]]


def test_all_answers_count_of_an_example_that_names_none():
    every = Example(np.ones((1, 3), dtype=int), np.array([1]))
    some = Example(np.zeros((2, 3), dtype=int), np.array([1, 0]), scored=np.array([True, False]))
    assert pad([every, some], "last").scored.tolist() == [True, True, False]
    assert pad([some, every], "last").scored.tolist() == [True, False, True]
    assert stack([every, some.rows(slice(1, 2))]).scored.tolist() == [[True], [False]]
    assert pad([every, every], "last").scored is None
