"""The objective `generate`: what comes next, and which bracket is to be closed."""

import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import tensors
from formalbench.contracts.objective import add_up
from formalbench.metrics.close_brackets import CloseBrackets

STRINGS = "close-bracket-string-accuracy"
MICRO = "close-bracket-accuracy"
MACRO = "close-bracket-macro-accuracy"


def ids(task, text):
    return np.array([task.alphabet.index(symbol) for symbol in text], dtype=np.int64)


def drawn(host, name, length, count, seed=0):
    """Return a task, random logits and an example of its strings."""
    task = host.task(f"{name}:generate")
    example = tensors(task.sample(task.stream("test", seed), length, count))
    generator = torch.Generator().manual_seed(seed)
    shape = (count, length + 1, task.outputs)
    logits = 3 * torch.randn(shape, generator=generator, dtype=torch.float64)
    return task, logits, example


def known(example):
    """Return which close is expected after each prefix, and its distance."""
    return example.known[STRINGS]


def shares(task, row):
    """Return the probability of each close among the closes, in plain Python."""
    weights = [math.exp(row[symbol]) for symbol in task.source.closes]
    return [weight / sum(weights) for weight in weights]


def measured(task, logits, example):
    return task.primary.finish(task.primary.measure(logits, example).numpy())


def test_targets_by_hand(host):
    task = host.task("dyck-2-3:generate")
    assert task.outputs == 5
    example = task.examples(ids(task, "([])[]")[None])
    assert example.targets.tolist() == [[0, 2, 3, 1, 2, 3, 4]]
    # which close is expected, how far back its open stands
    assert known(example)[0].tolist() == [
        [-1, 0],
        [0, 1],
        [1, 1],
        [0, 3],
        [-1, 0],
        [1, 1],
        [-1, 0],
    ]
    empty = task.examples(np.zeros((1, 0), dtype=np.int64))
    assert (empty.targets.tolist(), known(empty).tolist()) == ([[4]], [[[-1, 0]]])


@pytest.mark.parametrize(("name", "length"), [("dyck-2-3", 20), ("dyck-1", 8), ("dyck-7-4", 30)])
def test_scores_against_a_slow_reference(host, name, length):
    task, logits, example = drawn(host, name, length, 40)
    expected = known(example)[..., 0].tolist()
    # so that some strings are right, and others in all but one place
    for string in range(30):
        for place, close in enumerate(expected[string]):
            if close >= 0 and (string, place) != (3, length // 2):
                logits[string, place, task.source.closes[close]] += 30.0
    right = task.objective.right(logits, example, task.primary)
    bits = task.metrics[1].bits(logits, example)
    for string in range(40):
        wrong, total = 0, 0.0
        following = example.targets[string].tolist()
        for row, symbol, close in zip(
            logits[string].tolist(), following, expected[string], strict=True
        ):
            total += math.log2(sum(map(math.exp, row))) - row[symbol] / math.log(2)
            wrong += close >= 0 and shares(task, row)[close] <= 0.8
        assert bool(right[string]) == (wrong == 0)
        assert bits[string].item() == pytest.approx(total / (length + 1))
    loss = task.objective.loss(logits, example).item()
    assert loss == pytest.approx(bits.mean() * math.log(2))
    assert measured(task, logits, example)[STRINGS] == (right.sum(), 40)
    assert name == "dyck-1" or 25 < right.sum() < 31


@pytest.mark.parametrize("name", ["dyck-2-3", "dyck-1-5", "dyck-9"])
def test_close_brackets_against_a_slow_reference(host, name):
    states, hits = [], {}
    for length, count in ((30, 12), (8, 20), (0, 3)):
        task, logits, example = drawn(host, name, length, count, seed=length)
        states.append(task.primary.measure(logits, example).numpy())
        for row, (expected, distance) in zip(
            logits.reshape(-1, logits.shape[-1]).tolist(),
            known(example).reshape(-1, 2).tolist(),
            strict=True,
        ):
            if expected >= 0:
                hits.setdefault(distance, []).append(shares(task, row)[expected] > 0.8)
    found = task.primary.finish(add_up(states))
    every = [hit for group in hits.values() for hit in group]
    assert found[MICRO] == (sum(every), len(every))
    assert len(every) > 100
    by_distance = [sum(group) / len(group) for group in hits.values()]
    assert found[MACRO].mean == pytest.approx(np.mean(by_distance))
    assert found[MACRO].count == len(hits)
    assert found[STRINGS].count == 35
    if name == "dyck-1-5":
        assert found[MICRO].mean == found[MACRO].mean == 1.0  # one type: always right
    else:
        assert 0 < found[MICRO].mean != found[MACRO].mean


def test_pinned_accuracies(host):
    """Numbers that records and reproductions hold."""
    states = []
    for length in (20, 36):
        task, logits, example = drawn(host, "dyck-3-4", length, 50, seed=length)
        states.append(task.primary.measure(logits, example).numpy())
    found = task.primary.finish(add_up(states))
    assert found[MICRO] == (498, 2549)
    assert found[MACRO].count == 18
    assert found[MACRO].mean == pytest.approx(0.18081294961705358, abs=1e-12)


def test_the_same_by_position(host):
    task, logits, example = drawn(host, "dyck-3", 12, 200)
    metric = CloseBrackets(task.source.closes, by="position")
    own = metric.precompute(task.source, example.inputs.numpy())
    of_position = tensors(example._replace(inputs=own, targets=own, known={})).inputs
    found = metric.finish(
        metric.measure(logits, example._replace(known={metric.name: of_position})).numpy()
    )
    assert metric.name == "close-bracket-accuracy-by-position"
    assert set(found) == {f"{MICRO}-at-{place}" for place in range(1, 12)}
    for place in range(1, 12):
        expected = known(example)[:, place, 0].tolist()
        hits = [
            shares(task, row)[close] > 0.8
            for row, close in zip(logits[:, place].tolist(), expected, strict=True)
            if close >= 0
        ]
        assert found[f"{MICRO}-at-{place}"] == (sum(hits), len(hits))
    total = measured(task, logits, example)[MICRO]
    assert sum(measure.total for measure in found.values()) == total.total
    assert sum(measure.count for measure in found.values()) == total.count


def test_nothing_asked_is_no_accuracy(host):
    found = measured(*drawn(host, "dyck-2", 0, 3))
    assert found[STRINGS] == (3, 3)
    assert math.isnan(found[MICRO].mean)
    assert math.isnan(found[MACRO].mean)


def test_just_above_the_threshold(host):
    """Four to one is not confident, a little more is."""
    task = host.task("dyck-2:generate")
    example = tensors(task.examples(ids(task, "()")[None]))
    for odds, confident in ((3.999, False), (4.001, True)):
        logits = torch.zeros(1, 3, 5, dtype=torch.float64)
        logits[0, 1, 1] = math.log(odds)
        logits[0, 1, [0, 2, 4]] = 50.0  # what is no close does not matter
        assert task.primary.right(logits, example).tolist() == [confident]
        gap = abs(math.log(odds) - math.log(4))
        margin = task.objective.margin(logits, example, task.primary)
        assert margin.item() == pytest.approx(gap)
        assert task.objective.decisive_logit(logits, example, task.primary) == pytest.approx(-gap)


def test_margins_against_a_slow_reference(host):
    task, logits, example = drawn(host, "dyck-5", 6, 10)
    margins = task.objective.margin(logits, example, task.primary).tolist()
    for string, margin in zip(logits.tolist(), margins, strict=True):
        best = [max(shares(task, row)) for row in string]
        gaps = [abs(math.log(share / (1 - share)) - math.log(4)) for share in best]
        assert margin == pytest.approx(min(gaps))
    task, logits, example = drawn(host, "dyck-1", 6, 10)
    margins = task.objective.margin(logits, example, task.primary)
    assert margins.tolist() == [math.inf] * 10  # nothing to decide


@pytest.mark.parametrize(("name", "types"), [("dyck-1", 1), ("dyck-2-2", 2), ("dyck-3", 3)])
def test_chance_is_that_of_guessing_every_type(host, name, types):
    task = host.task(f"{name}:generate")
    chance = task.chance([2, 4])
    assert chance.by_length == (types**-1, types**-2)
    assert chance.constant == chance.length_only == pytest.approx((1 / types + types**-2) / 2)
    # the best guess: one close, everywhere
    logits = torch.zeros(1, 5, task.outputs)
    logits[..., task.source.closes[-1]] = 9.0
    example = tensors(task.sample(task.stream("guess"), 4, 6000))
    right = task.primary.right(logits.expand(6000, -1, -1), example)
    assert right.double().mean().item() == pytest.approx(types**-2, abs=0.02)
    # no other guess does better
    generator = torch.Generator().manual_seed(1)
    for _ in range(20):
        closes = torch.randint(types, (5,), generator=generator)
        logits = torch.zeros(1, 5, task.outputs)
        logits[0, torch.arange(5), 2 * closes + 1] = 9.0
        right = task.primary.right(logits.expand(6000, -1, -1), example)
        assert right.double().mean().item() < types**-2 + 0.02


def test_many_types_and_long_strings_take_little_memory(host):
    task = host.task("dyck-128-10:generate")
    example = task.sample(task.stream("large"), 1398, 20)
    assert known(example).nbytes < example.inputs.nbytes
    logits = torch.zeros(20, 1399, 257)
    closes = torch.from_numpy(2 * known(example)[:, :, :1].clip(0) + 1).long()
    logits.scatter_(2, closes, 12.0)
    found = measured(task, logits, tensors(example))
    assert found[STRINGS].mean == found[MICRO].mean == found[MACRO].mean == 1.0


def test_distances_beyond_16_bits(host):
    task = host.task("dyck-2:generate")
    example = task.examples(np.repeat([0, 1], 20_000)[None])
    assert known(example)[0, -2].tolist() == [0, 39_999]
    assert known(example)[0, -1].tolist() == [-1, 0]


def test_without_closing_brackets_there_is_nothing_to_count():
    with pytest.raises(ValueError, match="closing brackets"):
        CloseBrackets(range(0))


# On the command line.


def test_the_check_notices_a_wrong_bracket(host, monkeypatch):
    from formalbench.checks.plugins import check_spec
    from formalbench_tasks.dyck.language import Dyck

    real = Dyck.open_brackets

    def first_type(self, strings):
        types, positions = real(self, strings)
        return np.where(types >= 0, 0, -1), positions

    def outermost(self, strings):
        types, positions = real(self, strings)
        return types, np.where(positions > 0, 0, positions)

    for wrong in (first_type, outermost):
        monkeypatch.setattr(Dyck, "open_brackets", wrong)
        failed = [c.promise for c in check_spec(host, "dyck-2-3:generate") if not c.passed]
        assert failed == ["names the one bracket that may be closed"]
