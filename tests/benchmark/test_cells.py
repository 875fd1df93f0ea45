"""Test and validation sets: the same strings for everyone, and never each other's."""

import dataclasses

import numpy as np
import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import pad
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.source import HasFixedStrings
from formalbench.contracts.specs import Splits
from formalbench.evaluation import cells

SMALL = Protocol.model_validate(
    {"name": "small", "version": 1, "test": {"lengths": 4, "strings": 8},
     "validation": {"lengths": 4, "strings": 8}}
)  # fmt: skip


@pytest.mark.parametrize(
    ("lengths", "count", "expected"),
    [
        (range(1, 10), 3, [1, 5, 9]),
        (range(1, 10), 2, [1, 9]),
        (range(1, 10), 1, [9]),
        (range(1, 10), 9, list(range(1, 10))),
        (range(1, 10), 99, list(range(1, 10))),
        (range(1, 10), "all", list(range(1, 10))),
        ([4], 1, [4]),
        ([4], "all", [4]),
        (range(0, 4), 3, [0, 2, 3]),
    ],
)
def test_spread(lengths, count, expected):
    assert cells.spread(lengths, count) == expected


def test_spread_has_both_ends_and_no_length_twice():
    for size in range(2, 60):
        for count in range(2, size + 1):
            chosen = cells.spread(range(100, 100 + size), count)
            assert len(chosen) == len(set(chosen)) == count
            assert chosen == sorted(chosen)
            assert (chosen[0], chosen[-1]) == (100, 99 + size)


def example_of(cell):
    (example,) = cell.examples
    return example


def test_a_fingerprint_sees_every_part(host):
    one = cells.test_set(host.task("parity"), SMALL)
    first = example_of(one.cells[0])
    strings, targets = first.inputs.copy(), first.targets.copy()
    strings[0, 0] ^= 1
    targets[0] ^= 1
    variants = [
        first._replace(inputs=strings),
        first._replace(targets=targets),
        first._replace(inputs=np.pad(first.inputs, [(0, 0), (0, 1)])),
        first._replace(lengths=np.full(8, 41)),
        first._replace(scored=np.ones(8, dtype=bool)),
        first._replace(scored=np.arange(8) > 0),
        first._replace(decoded=np.zeros((8, 2), dtype=int)),
    ]
    changed = [dataclasses.replace(one.cells[0], examples=(example,)) for example in variants]
    prints = {cells.TestSet((cell, *one.cells[1:])).fingerprint for cell in changed}
    prints |= {cells.TestSet(one.cells[1:]).fingerprint, one.fingerprint}
    assert len(prints) == 9


def test_padded_strings_are_a_cell_too(host):
    task = host.task("parity:tag")
    parts = [task.sample(task.stream("parts"), length, 3) for length in (4, 7)]
    cell = cells.Cell(4, 7, (pad(parts, task.layout),))
    assert (cell.strings, cell.lengths) == (6, [4] * 3 + [7] * 3)
    assert cells.Cell(4, 7, tuple(parts)).lengths == cell.lengths
    assert cells.TestSet((cells.Cell(4, 4, (parts[0],)), cell)).lengths == [4, *cell.lengths]


def test_the_test_set_is_a_function_of_task_and_cell_only(host):
    task = host.task("parity")
    base = cells.test_set(task, SMALL)
    other = SMALL.model_copy(
        update={"name": "other", "version": 7, "seeds": 9, "steps": 4000, "batch": 3}
    )
    assert cells.test_set(host.task("parity"), other).fingerprint == base.fingerprint
    # a cell does not depend on which other cells there are
    wide = SMALL.model_copy(update={"test": SMALL.test.model_copy(update={"lengths": "all"})})
    every = {cell.first: example_of(cell) for cell in cells.test_set(task, wide).cells}
    assert len(every) == 460
    assert every[500].inputs.dtype.itemsize == 1  # thousands of long strings are kept
    for cell in base.cells:
        assert np.array_equal(example_of(cell).inputs, every[cell.first].inputs)


def test_a_protocol_may_name_its_lengths(host):
    task = host.task("parity")
    named = SMALL.model_copy(update={"test": SMALL.test.model_copy(update={"lengths": (3, 500)})})
    drawn = cells.test_set(task, named)
    assert drawn.lengths == [3, 500]
    last = cells.test_set(task, SMALL).cells[-1]
    assert np.array_equal(example_of(drawn.cells[-1]).inputs, example_of(last).inputs)
    odd = host.task("modular-arithmetic")
    lengths = SMALL.test.model_copy(update={"lengths": (51, 60, 61, 62)})
    with pytest.raises(RequestError, match=r"no strings of length 60, 62 \(test.lengths\)"):
        cells.test_set(odd, SMALL.model_copy(update={"test": lengths}))


def test_another_version_parameter_or_name_is_another_test_set(host):
    task = host.task("parity")
    changed = [
        task,
        dataclasses.replace(task, version=2),
        dataclasses.replace(task, parameters={"p": 0.25}),
        dataclasses.replace(task, source_name="parity-2"),
        host.task("parity", {"p": 0.25}),
    ]
    prints = [cells.test_set(one, SMALL).fingerprint for one in changed]
    assert len(set(prints)) == 5


def test_two_processes_make_the_same_test_set(host, python):
    code = (
        "import random, numpy, torch; random.seed(5); numpy.random.seed(5); torch.manual_seed(5)\n"
        "from formalbench.host import PluginHost\n"
        "from formalbench.contracts.protocol import Protocol\n"
        "from formalbench.evaluation.cells import test_set\n"
        f"protocol = Protocol.model_validate({SMALL.model_dump(mode='json')!r})\n"
        "host = PluginHost.load()\n"
        "for name in ('parity', 'tomita-3:next-symbols', 'd2'):\n"
        "    print(test_set(host.task(name), protocol).fingerprint)\n"
    )
    here = [
        cells.test_set(host.task(name), SMALL).fingerprint
        for name in ("parity", "tomita-3:next-symbols", "d2")
    ]
    assert python("-c", code, PYTHONHASHSEED="77").split() == here


def test_validation_training_and_test_draw_from_different_streams(host):
    # on splits that overlap in full, so that the same stream would give the same strings
    task = dataclasses.replace(host.task("first"), splits=Splits((30, 40), (30, 40)))
    test, validation = cells.test_set(task, SMALL), cells.validation_set(task, SMALL)
    assert test.lengths == validation.lengths
    strings = [[example_of(c).inputs for c in drawn.cells] for drawn in (test, validation)]
    for one, other in zip(*strings, strict=True):
        assert not (one[:, None] == other[None]).all(-1).any()
    stream = task.stream("train", "small", 1, 0, 0)
    trained = task.sample(stream, 40, 8).inputs
    for held_out in (strings[0][-1], strings[1][-1]):
        assert not (trained[:, None] == held_out[None]).all(-1).any()


def test_a_split_without_strings_is_refused(host):
    task = dataclasses.replace(host.task("tomita-2:next-symbols"), splits=Splits((1, 1), (3, 3)))
    for split in ("train", "test"):
        with pytest.raises(RequestError, match="no strings of length"):
            cells.split_lengths(task, split)


class Grouped(HasFixedStrings):
    """Strings of 1 to 9 symbols, as many of each length, in two groups, each tested as a whole."""

    groups = ("all", "none")
    together = True

    def fixed(self, length, group):
        count = length if group == "all" else 0
        return np.full((count, length), length % 2, dtype=np.int64)

    def number(self, length):
        return length


def test_a_group_that_is_tested_together_is_one_cell(host):
    class Source(Grouped, type(host.task("first").source)):
        pass

    plain = host.task("first")
    source = Source(plain.source.definition)
    task = dataclasses.replace(plain, source=source, splits=Splits((1, 9), (1, 9)))
    (cell,) = cells.test_set(task, SMALL).cells
    assert (cell.first, cell.last, cell.group, cell.strings) == (1, 9, "all", 45)
    (few,) = cells.validation_set(task, SMALL).cells
    assert few.strings == 8  # of all lengths together
    assert few.lengths == [1, 3, 5, 6, 7, 8, 8, 9]


def test_steps_between_lengths_are_counted_from_the_first(host):
    task = host.task("parity")
    splits = dataclasses.replace(task.splits, train=(3, 10), step=3)
    stepping = dataclasses.replace(task, splits=splits)
    assert cells.split_lengths(stepping, "train") == [3, 6, 9]
    splits = dataclasses.replace(splits, train=(4, 10))
    assert cells.split_lengths(dataclasses.replace(task, splits=splits), "train") == [4, 7, 10]
