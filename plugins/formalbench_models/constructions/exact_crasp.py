"""Any regular language in C-RASP, written into a transformer without positions.

The automaton becomes a C-RASP program (`crasp_automaton`) and that becomes weights
(`crasp_network`). Every automaton that the decision procedure says is in C-RASP is taken, up to
`MAX_WEIGHTS`; any other is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formalbench import RequestError, Task

from formalbench_models.constructions.configs import ExactCraspConfig
from formalbench_models.constructions.crasp import CraspProgram
from formalbench_models.constructions.crasp_automaton import program_of
from formalbench_models.constructions.crasp_network import network_of
from formalbench_models.constructions.exact_regulargpt import answers, machine_of
from formalbench_models.constructions.network import HandWritten
from formalbench_models.constructions.vocabulary import Construction, Form

MAX_WEIGHTS = 1 << 27
"""Weights at most: 1 GiB in fp64, in which they are written."""

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
            f"{_NAME}: {task.source_name} is not in C-RASP, counting cannot tell its states apart: "
            "take a language that is, as first, tomita-2, d12 or dyck-2-3"
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
    assert task.layout != "decoded"  # no objective of this model's has it
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
    """Return about how many weights a construction has."""
    layers = construction.layers
    rows: Sequence[int] = [
        *(len(head.values) for layer in layers for head in layer.heads),
        *(len(network.units) for layer in layers for network in layer.feed_forwards),
    ]
    return len(construction.coordinates) * (2 * sum(rows) + symbols + len(construction.logits))
