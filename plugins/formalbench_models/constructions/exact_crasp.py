"""A C-RASP program as weights.

Source: Yang & Chiang, "Counting like transformers" (2024), Theorem 4.3 (C-RASP to transformers), in
outline: counts are averages of uniform attention under a mask, comparisons are a feed-forward
network's. The weights are our own.

A line is a coordinate, 0 or 1. At position i, of which m are seen (i + 1, or i of them strictly
before), a head's average of a weighted sum of lines is the sum over m, and that of `BEGIN` is 1/m:
a sum S is compared with a number t by the sign of S/m - t/m + 1/(2m), which is at least 1/(2m)
away from 0. What is found is 0 or 1/m, and must be 0 or 1. Layer norm does that:

1. v = relu(S/m - t/m + 1/(2m)), at least 1/(2m) where S ≥ t, else 0 (with other signs for S ≤ t);
2. w = relu(1/m - 4v): 0 or 1/m exactly, despite errors below 1/(4m);
3. over (w, 1/m - w, …, -w, w - 1/m, …), for all comparisons of the layer, the mean is 0 and
   half of the squares are 1/m², always: layer norm with ε = 0 multiplies all by √2·m;
4. relu(1 - 2b) for b, which is 0 or about 1, is 1 or 0 exactly, and its opposite is the line.

Gates joining lines are exact. So no error survives a comparison, and a sum must only be told from
the next whole number: within a component of an automaton, where sums are potentials, it stays
small however long the string is.

The automaton becomes a C-RASP program (`crasp`) and that becomes weights. Every automaton in C-RASP
is accepted, up to `MAX_WEIGHTS`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from formalbench import RequestError, Task

from formalbench_models.catalogue.constructions import ExactCraspConfig
from formalbench_models.constructions.construction import (
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
    add,
    form,
    times,
)
from formalbench_models.constructions.crasp import (
    BEGIN,
    NOT,
    Compare,
    CraspProgram,
    Every,
    OneOf,
    Some,
    Sum,
    program_of,
    reads,
)
from formalbench_models.constructions.exact_regulargpt import answers, machine_of
from formalbench_models.constructions.gates import and_gate, clear_gate, negation, or_gate
from formalbench_models.constructions.network import HandWritten

_ROOT = 2**0.5


def network_of(
    program: CraspProgram,
    alphabet: Sequence[str],
    logits: Sequence[Form],
    read: Literal["last", "each", "prefixes"],
) -> Construction:
    """Return a construction that computes all lines of a program at every position.

    Args:
        program: what to compute.
        alphabet: the symbols of strings.
        logits: forms on the lines.
        read: where the logits are read.
    """
    places = _schedule(program)
    sums = _sums(program)
    counts = max((layer for layer, _ in places.values()), default=0)
    layers = [_layer(program, places, sums, number) for number in range(counts + 1)]
    scratch = [f"test {name}" for name, line in program.lines.items() if isinstance(line, Compare)]
    return Construction(
        coordinates=(BEGIN, *program.lines, *sums.values(), *scratch, _share(False), _share(True)),
        symbols={symbol: _embedding(program, symbol) for symbol in (BEGIN, *alphabet)},
        layers=tuple(layer for layer in layers if layer.heads or layer.feed_forwards),
        logits=tuple(logits),
        begin=BEGIN,
        read=read,
        precision="O(log n) bits: 1/n right to a quarter of itself, for sums that do not grow",
    )


def _share(strict: bool) -> str:
    """Return the coordinate with 1 / (number of visible positions)."""
    return "1/i" if strict else "1/(i+1)"


def _embedding(program: CraspProgram, symbol: str) -> Form:
    form = {
        name: 1.0
        for name, line in program.lines.items()
        if isinstance(line, OneOf) and symbol in line.symbols
    }
    return form | ({BEGIN: 1.0} if symbol == BEGIN else {})


def _sums(program: CraspProgram) -> dict[Sum, str]:
    """Return a coordinate for each sum that is compared."""
    coordinates: dict[Sum, str] = {}
    for line in program.lines.values():
        if isinstance(line, Compare):
            coordinates.setdefault(line.sum, f"sum {len(coordinates)}")
    return coordinates


def _schedule(program: CraspProgram) -> dict[str, tuple[int, int]]:
    """Return the layer of each line and the number of gates before it in that layer."""
    places: dict[str, tuple[int, int]] = {}
    for name, line in program.lines.items():
        before = [places[read] for read in reads(line)]
        layer, gates = max(before, default=(0, 0))
        if isinstance(line, Compare):
            layer, gates = layer + 1, 0
        elif not isinstance(line, OneOf):
            gates += 1
        places[name] = (layer, gates)
    return places


def _layer(
    program: CraspProgram,
    places: Mapping[str, tuple[int, int]],
    sums: Mapping[Sum, str],
    number: int,
) -> Layer:
    """Return the layer of this number: counts, comparisons, then gates."""
    steps = {name: places[name][1] for name in program.lines if places[name][0] == number}
    compared = {name: line for name in steps if isinstance(line := program.lines[name], Compare)}
    heads, networks = _heads(compared, sums, first=number == 1), _tests(compared, sums)
    gates: dict[int, list[FeedForward]] = defaultdict(list)
    for name, step in steps.items():
        line = program.lines[name]
        if isinstance(line, Every):
            gates[step].append(and_gate([_input(each) for each in line.of], name))
        elif isinstance(line, Some):
            gates[step].append(or_gate([_input(each) for each in line.of], name))
    networks += [_join(gates[step]) for step in sorted(gates)]
    return Layer(heads, tuple(networks))


def _input(name: str) -> Form:
    return negation(name.removeprefix(NOT)) if name.startswith(NOT) else form(name)


def _heads(
    compared: Mapping[str, Compare], sums: Mapping[Sum, str], *, first: bool
) -> tuple[Head, ...]:
    """Return a head that counts up to each position and one that counts before it."""
    heads = []
    for strict, name in ((False, "up to here"), (True, "before")):
        values: dict[str, Form] = {_share(strict): {BEGIN: 1.0}} if first else {}
        for line in compared.values():
            if line.sum.strict == strict:
                weighted = [times(weight, _input(each)) for weight, each in line.sum.terms]
                values[sums[line.sum]] = add(*weighted)
        if values:
            heads.append(Head(name, values, mask="future", strict=strict))
    return tuple(heads)


def _tests(compared: Mapping[str, Compare], sums: Mapping[Sum, str]) -> list[FeedForward]:
    """Return the networks that turn each comparison into 0 or 1 (see the module's docstring)."""
    if not compared:
        return []
    signs, narrowed = [], []
    for name, line in compared.items():
        share, to = _share(line.sum.strict), f"test {name}"
        sign = 1.0 if line.at_least else -1.0
        margin = add(times(sign, sums[line.sum]), times(0.5 - sign * line.bound, share))
        signs.append(FeedForward((HiddenUnit(margin, {to: 1.0}),)))
        exact = HiddenUnit(add(share, times(-4.0, to)), {to: 1.0})
        narrowed.append(FeedForward((exact,)) + clear_gate(to))
    normed = [
        _normed([name for name, line in compared.items() if line.sum.strict == strict], strict)
        for strict in (False, True)
    ]
    sure = [
        FeedForward((HiddenUnit(add({"one": 1.0}, times(-2.0, name)), {name: -1.0}),), {name: 1.0})
        + clear_gate(name)
        for name in compared
    ]
    return [
        _join(signs),
        _join(narrowed),
        *(network for network in normed if network.units),
        _join(sure),
    ]


def _normed(names: Sequence[str], strict: bool) -> FeedForward:
    """Return the layer norm that multiplies all results by the number of positions."""
    share = _share(strict)
    tests = [f"test {name}" for name in names]
    right = [add(share, times(-1.0, test)) for test in tests]
    writes: list[Form] = [{name: 1 / _ROOT} for name in names]
    units = [HiddenUnit(reads, to) for reads, to in zip(right, writes, strict=True)]
    units += [HiddenUnit(form(test), {}) for test in tests]
    units += [HiddenUnit(times(-1.0, unit.reads), {}) for unit in tuple(units)]
    return FeedForward(tuple(units), norm=0.0)


def _join(networks: Sequence[FeedForward]) -> FeedForward:
    """Join networks side by side."""
    return FeedForward(
        tuple(unit for network in networks for unit in network.units),
        add(*(network.constants for network in networks)),
    )


MAX_WEIGHTS = 1 << 27
"""Maximum number of weights: 1 GiB in fp64."""

_NAME = "exact-crasp"
_MECHANISMS = ("softmax-attention", "fixed-depth", "future-masked", "no-positions")


def program_for(task: Task) -> CraspProgram:
    """Return the C-RASP program of a task's language.

    Raises:
        RequestError: if it has no automaton, or one that is not in C-RASP.
    """
    machine = machine_of(task, _NAME)
    program = program_of(machine.table, machine.start, task.alphabet)
    if program is None:
        raise RequestError(
            f"{_NAME}: {task.source_name} is not in C-RASP: choose a language that is, such as "
            "first, tomita-2, d12 or dyck-2-3"
        )
    return program


def build(task: Task, config: ExactCraspConfig) -> HandWritten:
    """Write the automaton of a task's language into a transformer without positions.

    Raises:
        RequestError: if it has none, or one that is not in C-RASP or too large.
    """
    program = program_for(task)
    table_QK = answers(task, machine_of(task, _NAME), config.scale)
    states = [f"at.{state}" for state in range(len(table_QK))]
    logits: list[Form] = [dict(zip(states, column, strict=True)) for column in table_QK.T.tolist()]
    assert task.layout != "decoded"  # none of this model's objectives has this layout
    construction = network_of(program, task.alphabet, logits, task.layout)
    weights = weights_of(construction, len(task.alphabet))
    if weights > MAX_WEIGHTS:
        raise RequestError(
            f"{_NAME}: the {len(states)} states of {task.source_name} take {weights} weights at "
            f"width {len(construction.coordinates)}, beyond {MAX_WEIGHTS}"
        )
    network = HandWritten(construction, task.alphabet)
    network.traits = replace(network.traits, causal=True, mechanisms=_MECHANISMS)
    return network


def weights_of(construction: Construction, symbols: int) -> int:
    """Estimate the number of weights of a construction."""
    layers = construction.layers
    rows: Sequence[int] = [
        *(len(head.values) for layer in layers for head in layer.heads),
        *(len(network.units) for layer in layers for network in layer.feed_forwards),
    ]
    return len(construction.coordinates) * (2 * sum(rows) + symbols + len(construction.logits))
