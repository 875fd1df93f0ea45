"""Test strings as JSON lines for external code, and scoring of its answers."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Example
from formalbench.contracts.source import Corpus, PairedCorpus, Split
from formalbench.evaluation.evaluate import evaluate as test_network
from formalbench.scoring.evaluate import report_of
from formalbench.scoring.predictor import RecordedAnswers
from formalbench.scoring.report import Report
from formalbench.task_handle import LabelledStrings, TaskHandle

PREFIX = 12
"""Digits of the fingerprint in each id, so that answers cannot be used with other strings."""

SHOWN = 5
"""Maximum lengths in an error about missing answers."""


def check_exported(handle: TaskHandle) -> None:
    """Check that a task's strings can be answered in a file."""
    if isinstance(handle.task.source, Corpus | PairedCorpus):
        raise RequestError(f"{handle.title}: texts are not exported")
    if handle.task.layout == "decoded":
        raise RequestError(
            f"{handle.title}: its answers are generated step by step: score them with evaluate()"
        )


def exported(
    handle: TaskHandle, split: Split = "test", *, targets: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the strings of a split in the order of the test.

    Yields:
        ``id``, ``length``, ``string``, ``fingerprint`` and, if asked for, ``target``.
    """
    test_set = handle.test_set(split)
    for row_id, (_, text, example) in zip(_ids(test_set), _strings(handle, test_set), strict=True):
        row = {"id": row_id, "length": len(text), "string": _text(handle, text)}
        row["fingerprint"] = test_set.fingerprint
        if targets:
            (row["target"],) = handle.task.to_json(example)
        yield row


def score_file(handle: TaskHandle, file: Path) -> Report:
    """Score a file of answers, a JSON line each: ``{"id": …, "answer": …}``.

    Returns:
        The report, named after the file.

    Raises:
        RequestError: one line, if the file does not exist, a line is no answer, an answer belongs
            to no test string, or answers are missing.
    """
    check_exported(handle)
    test_set = handle.test_set()
    ids = list(_ids(test_set))
    answers = _read(file, test_set.fingerprint, set(ids))
    if missing := [place for place, row_id in enumerate(ids) if row_id not in answers]:
        lengths = [length for length, _, _ in _strings(handle, test_set)]
        counts = Counter(lengths[place] for place in missing)
        parts = [f"{count} of length {length}" for length, count in sorted(counts.items())]
        more = f" and of {len(parts) - SHOWN} more lengths" if len(parts) > SHOWN else ""
        raise RequestError(
            f"{file}: {len(missing)} of {len(ids)} answers are missing: "
            f"{', '.join(parts[:SHOWN])}{more}; no score was computed"
        )
    objective, source = handle.task.objective, handle.task.source
    labels = []
    for row_id, (_, _, example) in zip(ids, _strings(handle, test_set), strict=True):
        line, answer = answers[row_id]
        try:
            labels.append(objective.read_answer(source, answer, example))
        except ValueError as error:
            raise RequestError(f"{file}:{line}: {error}") from None
    start = time.perf_counter()
    network = RecordedAnswers(labels, handle.task)
    scores = test_network(network, handle.task, test_set.held, torch.device("cpu"))
    return report_of(handle, file.stem, "labels", scores, None, time.perf_counter() - start)


def _text(handle: TaskHandle, symbols: list[str]) -> str:
    """Return symbols as text for `label`, separated by spaces if the objective added some."""
    return handle.join(symbols) if set(symbols) <= set(handle.alphabet) else " ".join(symbols)


def _ids(data: LabelledStrings) -> Iterator[str]:
    count = sum(cell.strings for cell in data.cells)
    return (f"{data.fingerprint[:PREFIX]}-{number}" for number in range(count))


def _strings(handle: TaskHandle, data: LabelledStrings) -> Iterator[tuple[int, list[str], Example]]:
    """Yield length, symbols and example of each string.

    Symbols that an objective appends, such as blanks for the answer, are omitted.
    """
    alphabet, own = handle.task.alphabet, len(handle.alphabet)
    for cell in data.cells:
        for example in cell.examples:
            for row in range(len(example.inputs)):
                ids = example.inputs[row].tolist()
                while ids and ids[-1] >= own:
                    ids.pop()
                one = example.rows(slice(row, row + 1))
                yield len(ids), [alphabet[symbol] for symbol in ids], one


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object without duplicate keys.

    Raises:
        ValueError: for a duplicate key, of which `json` would keep the last.
    """
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is in it twice")
    return result


def _read(file: Path, fingerprint: str, ids: set[str]) -> dict[str, tuple[int, Any]]:
    """Return a file's answers by id, with line numbers."""
    try:
        # A string may contain other line separators.
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise RequestError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RequestError(f"{file}: not UTF-8 text") from None
    answers: dict[str, tuple[int, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            raise RequestError(f"{file}:{number}: not JSON with each key once") from None
        if not isinstance(row, dict) or not {"id", "answer"} <= row.keys():
            raise RequestError(f'{file}:{number}: expected {{"id": …, "answer": …}}')
        row_id = str(row["id"])
        if (
            row_id.rpartition("-")[0] != fingerprint[:PREFIX]
            or row.get("fingerprint", fingerprint) != fingerprint
        ):
            raise RequestError(
                f"{file}:{number}: the answer belongs to other strings than the test's: id "
                f"{row_id!r:.80}, and the test's fingerprint is {fingerprint[:PREFIX]}…"
            )
        if row_id not in ids:
            raise RequestError(f"{file}:{number}: the test has no string {row_id!r:.80}")
        if row_id in answers:
            raise RequestError(f"{file}:{number}: string {row_id} has two answers")
        answers[row_id] = number, row["answer"]
    return answers
