"""Exports strings of tasks: JSON lines, `datasets`, lm-evaluation-harness.

Neither library is needed to write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from formalbench.contracts.errors import RequestError, UnwritableError
from formalbench.contracts.source import Split
from formalbench.files import check_replaceable, write_atomically
from formalbench.metrics.answers import STRINGS
from formalbench.scoring.answers import check_exported, exported
from formalbench.store import safe_name
from formalbench.task_handle import TaskHandle

TOKENS_PER_ANSWER = 8
"""Maximum generated tokens per answer of a string."""

LOADER = '''"""Loads the strings of a task from the file beside this one; written by formalbench."""

from pathlib import Path

import datasets


def load(name, **ignored):
    """Return the splits of a task; lm-evaluation-harness calls this with the task's file name."""
    files = {
        split: str(file)
        for split in ("train", "validation", "test")
        if (file := Path(__file__).with_name(f"{name}.{split}.jsonl")).is_file()
    }
    return datasets.load_dataset("json", data_files=files)
'''
"""Python file in a folder for lm-evaluation-harness."""


def export_tasks(
    handles: Sequence[TaskHandle], folder: Path, kind: str, split: Split, *, targets: bool
) -> list[Path]:
    """Write the strings of tasks into a folder.

    Args:
        handles: the tasks.
        folder: created if it does not exist; files of the same names are replaced.
        kind: ``jsonl``, ``hf`` or ``lm-eval``.
        split: whose strings.
        targets: whether to write the correct answers (required for ``lm-eval``).

    Returns:
        The files.

    Raises:
        RequestError: for a task that cannot be exported, or a folder that cannot be written.
    """
    for handle in handles:
        check_exported(handle)
        if kind == "lm-eval":
            _check_whole(handle, split)
    files: dict[str, str] = {}
    for handle in handles:
        name = safe_name(handle.title)
        if kind == "lm-eval":
            files |= _harness_task(handle, name, split)
        else:
            rows = exported(handle, split, targets=targets)
            where = f"{name}.jsonl" if kind == "jsonl" else f"{name}/{split}.jsonl"
            files[where] = _lines(rows)
    if kind == "hf":
        files["README.md"] = _card(handles, split)
    if kind == "lm-eval":
        files["utils.py"] = LOADER
    # Delete all old files first, so that a killed export never leaves files of two exports.
    for place in files:
        _remove(folder / place)
    for place, text in files.items():
        write_atomically(folder / place, text)
    return [folder / place for place in files]


def _remove(file: Path) -> None:
    check_replaceable(file)
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableError(f"cannot write {file}: {error.strerror}") from None


def _lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _card(handles: Sequence[TaskHandle], split: Split) -> str:
    """Return a data set's README, which maps files to configurations."""
    names = [safe_name(handle.title) for handle in handles]
    data = [{"split": split, "path": f"{name}/{split}.jsonl"} for name in names]
    configs = [
        {"config_name": name, "data_files": [files]}
        for name, files in zip(names, data, strict=True)
    ]
    head = yaml.safe_dump({"configs": configs}, sort_keys=False)
    titles = "\n".join(
        f"- `{name}`: task `{handle.title}`, version {handle.task.version}, "
        f"fingerprint `{handle.test_set(split).fingerprint}`"
        for name, handle in zip(names, handles, strict=True)
    )
    return (
        f"---\n{head}---\n\nStrings of formalbench, one per line: {split}, "
        f"protocol `{handles[0].protocol.title}`.\n\n{titles}\n"
    )


def _check_whole(handle: TaskHandle, split: Split) -> None:
    """Check that a task's score is a mean over correct strings.

    The harness gives equal weight to strings; formalbench gives equal weight to lengths.
    """
    if handle.task.layout != "last" and handle.task.primary.name != STRINGS:
        raise RequestError(
            f"{handle.title} is scored by {handle.task.primary.name}, not per string: "
            "use --format jsonl and `formalbench score`"
        )
    if len({cell.strings for cell in handle.test_set(split).cells}) > 1:
        raise RequestError(
            f"{handle.title} has more strings of some lengths than of others, and each length "
            "counts the same: --format lm-eval cannot; use jsonl and `formalbench score`"
        )


def _harness_task(handle: TaskHandle, name: str, split: Split) -> dict[str, str]:
    """Return a task's files for lm-evaluation-harness by name."""
    task = handle.task
    one_of_few = task.layout == "last"
    examples = [example for cell in handle.test_set(split).cells for example in cell.examples]
    longest = max(example.targets[0].size for example in examples)
    config: dict[str, Any] = {
        "tag": "formalbench",
        "task": f"formalbench_{name}",
        "custom_dataset": "LOAD",
        "dataset_kwargs": {"name": name},
        "test_split": split if split == "test" else None,
        "validation_split": None if split == "test" else split,
        "output_type": "multiple_choice" if one_of_few else "generate_until",
        "doc_to_text": f"{_question(handle)}\nString: {{{{string}}}}\nAnswer:",
        "doc_to_target": "target",
    }
    config = {key: value for key, value in config.items() if value is not None}
    if one_of_few:
        config |= {"doc_to_choice": list(handle.answers)}
        metric = "acc"
    else:
        most = TOKENS_PER_ANSWER * int(longest)
        config |= {
            "generation_kwargs": {"until": ["\n"], "do_sample": False, "max_gen_toks": most},
            "filter_list": [
                {
                    "name": "answer",
                    "filter": [{"function": "remove_whitespace"}, {"function": "take_first"}],
                }
            ],
        }
        metric = "exact_match"
    config["metric_list"] = [{"metric": metric, "aggregation": "mean", "higher_is_better": True}]
    config["metadata"] = {"version": float(task.version)}
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=1000)
    return {
        f"{name}.yaml": text.replace(
            "custom_dataset: LOAD", "custom_dataset: !function utils.load"
        ),
        f"{name}.{split}.jsonl": _lines(_harness_rows(handle, split, shown=not one_of_few)),
    }


def _harness_rows(handle: TaskHandle, split: Split, *, shown: bool) -> Iterator[dict[str, Any]]:
    """Yield strings with answers: a class's number or, with `shown`, text."""
    for row in exported(handle, split, targets=True):
        if shown:
            row["target"] = handle.show(row["string"])
        yield row


def _question(handle: TaskHandle) -> str:
    """Return the question as a prompt for a language model."""
    texts = {
        "last": f"Answer with the class of the string: {', '.join(handle.answers[:20])}.",
        "each": "Answer with the class of every prefix, shortest first, separated by spaces.",
        "prefixes": "After every prefix, the empty one first, name the symbols that may follow, "
        "separated by commas, $ for the end, prefixes separated by spaces.",
    }
    alphabet = " ".join(handle.alphabet)
    return f"Task: {handle.selected.spec.summary}\nSymbols: {alphabet}\n{texts[handle.task.layout]}"
