"""The command that repeats a record, made of its parts: a stored one could say anything."""

from __future__ import annotations

import itertools
import re
import shlex

from formalbench.analysis.keys import run_of
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.verification.command import verifying

_QUOTES = frozenset("\"'\\")
"""Signs by which a shell puts a word together of parts."""

_FILE = re.compile(r"[A-Za-z0-9_.+=:-]{1,300}")


def repeating(record: AnyRecord) -> str:
    """Return the command line that repeats a record; plugins by the names of their files.

    Of the stored command only these names are used: a record does not say elsewhere which file
    its protocol came from.
    """
    words = words_of(record)
    if isinstance(record, Record) and f"{record.seed}," in _split(record.command):
        words = by_itself(record)
    for file in sorted(plugin_files(record.command)):
        words += ["--plugin", file]
    return shlex.join(words)


def words_of(record: AnyRecord) -> list[str]:
    """Return the words of the command that repeats a record, but for its plugins."""
    if isinstance(record, VerificationRecord):
        dtype = record.dtype if record.break_length is None else "all"
        return verifying(record.model, record.task, record.asked, dtype)
    return shlex.split(run_of(record).command)


def by_itself(record: Record) -> list[str]:
    """Return the words of a run's command where its seed was asked for by itself."""
    words = words_of(record)
    at = words.index("--seeds") + 1
    return [*words[:at], f"{record.seed},", *words[at + 1 :]]


def plugin_files(command: str) -> set[str]:
    """Return the names of the files that a record's command has as plugins, plain ones only."""
    if "--plugin" not in command and not _QUOTES & set(command):
        return set()  # thousands of commands name none: they are not taken apart
    return _files_named(command)


def _files_named(command: str) -> set[str]:
    pairs = itertools.pairwise(_split(command))
    names = {file.rpartition("/")[2] for word, file in pairs if word == "--plugin"}
    return {name for name in names if _FILE.fullmatch(name) and not name.startswith("-")}


def _split(command: str) -> list[str]:
    """Return the words of a stored command; none if it is no command line."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
