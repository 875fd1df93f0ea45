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
    held = handle.test_set(split)
    for row, (_, text, example) in zip(_ids(held), _strings(handle, held), strict=True):
        told = {"id": row, "length": len(text), "string": _text(handle, text)}
        told["fingerprint"] = held.fingerprint
        if targets:
            (told["target"],) = handle.task.to_json(example)
        yield told


def score_file(handle: TaskHandle, file: Path) -> Report:
    """Score a file of answers, a JSON line each: ``{"id": …, "answer": …}``.

    Returns:
        The report, named after the file.

    Raises:
        RequestError: one line, if the file does not exist, a line is no answer, an answer belongs
            to no test string, or answers are missing.
    """
    check_exported(handle)
    held = handle.test_set()
    ids = list(_ids(held))
    answers = _read(file, held.fingerprint, set(ids))
    if missing := [place for place, one in enumerate(ids) if one not in answers]:
        lengths = [length for length, _, _ in _strings(handle, held)]
        counts = Counter(lengths[place] for place in missing)
        told = [f"{count} of length {length}" for length, count in sorted(counts.items())]
        more = f" and of {len(told) - SHOWN} more lengths" if len(told) > SHOWN else ""
        raise RequestError(
            f"{file}: {len(missing)} of {len(ids)} answers are missing: "
            f"{', '.join(told[:SHOWN])}{more}; no score was computed"
        )
    objective, source = handle.task.objective, handle.task.source
    labels = []
    for one, (_, _, example) in zip(ids, _strings(handle, held), strict=True):
        line, answer = answers[one]
        try:
            labels.append(objective.read_answer(source, answer, example))
        except ValueError as error:
            raise RequestError(f"{file}:{line}: {error}") from None
    start = time.perf_counter()
    network = RecordedAnswers(labels, handle.task)
    scores = test_network(network, handle.task, held.held, torch.device("cpu"))
    return report_of(handle, file.stem, "labels", scores, None, time.perf_counter() - start)


def _text(handle: TaskHandle, symbols: list[str]) -> str:
    """Return symbols as text for `label`, separated by spaces if the objective added some."""
    return handle.join(symbols) if set(symbols) <= set(handle.alphabet) else " ".join(symbols)


def _ids(held: LabelledStrings) -> Iterator[str]:
    count = sum(cell.strings for cell in held.cells)
    return (f"{held.fingerprint[:PREFIX]}-{number}" for number in range(count))


def _strings(handle: TaskHandle, held: LabelledStrings) -> Iterator[tuple[int, list[str], Example]]:
    """Yield length, symbols and example of each string.

    Symbols that an objective appends, such as blanks for the answer, are omitted.
    """
    alphabet, own = handle.task.alphabet, len(handle.alphabet)
    for cell in held.cells:
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
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is in it twice")
    return found


def _read(file: Path, fingerprint: str, known: set[str]) -> dict[str, tuple[int, Any]]:
    """Return a file's answers by id, with line numbers."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split(
            "\n"
        )  # a string may contain other line separators
    except OSError as error:
        raise RequestError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RequestError(f"{file}: not UTF-8 text") from None
    answers: dict[str, tuple[int, Any]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            told = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError):
            raise RequestError(f"{file}:{number}: not JSON with each key once") from None
        if not isinstance(told, dict) or not {"id", "answer"} <= told.keys():
            raise RequestError(f'{file}:{number}: expected {{"id": …, "answer": …}}')
        one = str(told["id"])
        if (
            one.rpartition("-")[0] != fingerprint[:PREFIX]
            or told.get("fingerprint", fingerprint) != fingerprint
        ):
            raise RequestError(
                f"{file}:{number}: the answer belongs to other strings than the test's: id "
                f"{one!r:.80}, and the test's fingerprint is {fingerprint[:PREFIX]}…"
            )
        if one not in known:
            raise RequestError(f"{file}:{number}: the test has no string {one!r:.80}")
        if one in answers:
            raise RequestError(f"{file}:{number}: string {one} has two answers")
        answers[one] = number, told["answer"]
    return answers
