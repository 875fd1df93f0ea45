"""Compares the translations of two trained models on one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from formalbench import PairedCorpus, RequestError, Task
from formalbench.contracts.network import tensors
from formalbench.contracts.record import Record
from formalbench.contracts.specs import display
from formalbench.evaluation.beam_search import Search, search, search_of
from formalbench.evaluation.cells import TestSet, test_set
from formalbench.evaluation.evaluate import batches
from formalbench.store import read_record, weights_path
from formalbench.store.weights import load_network

from formalbench_text.metrics import Bleu, SystemComparison, compare_systems

if TYPE_CHECKING:
    from formalbench.host import PluginHost
    from torch import nn


def compare(
    host: PluginHost, one: Path, other: Path, device: torch.device
) -> Iterator[tuple[str, int, SystemComparison]]:
    """Translate a test with two models, and compare them part by part by a paired bootstrap.

    Translations are not published, because a corpus belongs to its authors.

    Args:
        host: the plugins; the corpus comes from them.
        one: the record of a run; its weights lie beside it.
        other: of another run, tested on the same texts.
        device: where to translate.

    Yields:
        The name of a part, how many texts it has, and how they compare.

    Raises:
        RequestError: one line, if these are not two such runs.
    """
    records = [_read(path) for path in (one, other)]
    prints = {record.test.fingerprint for record in records if record.test}
    if len(prints) > 1:
        raise RequestError(f"{one} and {other} were tested on different texts")
    task = (
        records[0]
        .protocol.apply(host.task(records[0].task.name, records[0].task.options))
        .of("test")
    )
    cells = test_set(task, records[0].protocol)
    if cells.fingerprint not in prints:
        raise RequestError(f"{one}: the texts of {task.name} are not those it was tested on")
    outputs = [
        _translated(load_network(host, record, weights_path(path)), task, cells, record, device)
        for record, path in zip(records, (one, other), strict=True)
    ]
    tokenised = isinstance(task.source, PairedCorpus) and task.source.tokenised
    for cell, first, second, right in zip(cells.cells, *outputs, _right(task, cells), strict=True):
        yield cell.group, cell.strings, compare_systems(first, second, right, tokenised=tokenised)


def run_name(path: Path) -> str:
    """Return the name of a run by its record: its model with its options, and its seed."""
    record = _read(path)
    return f"{display(record.model.name, record.model.options)}, seed {record.seed}"


def _read(path: Path) -> Record:
    record = read_record(path)
    if not isinstance(record, Record) or not record.task.name.endswith(":translate"):
        raise RequestError(f"{path}: not a record of a run on translations")
    if record.test is None or record.weights is None:
        raise RequestError(f"{path}: this run was not tested, or has no weights")
    return record


@torch.no_grad()
def _translated(
    network: nn.Module, task: Task, cells: TestSet, record: Record, device: torch.device
) -> list[list[str]]:
    """Return what a network says, cell by cell."""
    network.to(device).eval()
    bleu, how = _bleu(task), search_of(record.protocol) or Search()
    every = []
    for cell in cells.cells:
        texts: list[str] = []
        for example in cell.examples:
            room = task.objective.room(example) or 0
            for rows in batches(len(example.inputs), example.length + room, times=how.beam):
                some = tensors(example.rows(rows), device)
                answers = search(network, some.batch, room, how).said
                texts += bleu.texts(answers, some.scored.sum(-1))
        every.append(texts)
    return every


def _right(task: Task, cells: TestSet) -> list[list[str]]:
    """Return what should be said, cell by cell."""
    bleu = _bleu(task)
    moved = [[tensors(example) for example in cell.examples] for cell in cells.cells]
    return [
        [text for one in some for text in bleu.texts(one.targets, one.scored.sum(-1))]
        for some in moved
    ]


def _bleu(task: Task) -> Bleu:
    bleu = task.primary
    assert isinstance(bleu, Bleu)
    return bleu
