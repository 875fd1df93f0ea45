"""The results of a reproduction as a document, for its page and for programs.

The page is rendered only from this document, so that the two cannot differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from formalbench.contracts.errors import RequestError, one_line
from formalbench.contracts.protocol import Part
from formalbench.files import read_plain

MAX_BYTES = 8 << 20


Plain = str | int | float | None


Scale = Literal["quick", "paper"]
"""``quick``: takes two CPU cores minutes, or an hour at most. ``paper``: at least as many runs,
lengths, strings and updates as in the paper."""


Verdict = Literal["holds", "differs", "approx", "cannot tell", "not run at this scale"]
"""``approx``: a number from other data, whose order of magnitude is compared with the paper's."""


UNFINISHED = "cells of this scale lack runs"
"""Text of a remark: the page lacks runs of its scale, and the same command trains them."""


Answer = bool | Literal["approx", "cannot tell"] | None
"""Whether a claim holds; None if no run tests it, ``approx`` if other data were used, so that the
number cannot equal the paper's."""

NOT_RUN: Verdict = "not run at this scale"


AnswerOrVerdict = Answer | Verdict
"""An answer or its text."""


def _to_verdict(answer: object) -> object:
    if answer is None:
        return NOT_RUN
    if isinstance(answer, str):
        if answer not in get_args(Verdict):
            raise ValueError(f"unknown verdict {answer!r:.40}")
        return answer
    return "holds" if answer else "differs"


InWords = Annotated[AnswerOrVerdict, BeforeValidator(_to_verdict)]


class HasVerdict:
    """Base class of results with a verdict."""

    verdict: AnswerOrVerdict

    @property
    def holds(self) -> Answer:
        """The verdict as an answer."""
        answers: dict[AnswerOrVerdict, Answer] = {"holds": True, "differs": False, NOT_RUN: None}
        return answers.get(self.verdict, self.verdict)  # type: ignore[arg-type]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TableCell(HasVerdict):
    """One cell of a paper's table, with the measured value.

    Attributes:
        row, column: its place in the table.
        paper: the paper's number, as text.
        ours: the measured value, with its interval and the number of seeds; empty if not run.
        verdict: whether they agree; an `Answer` is converted to text.
    """

    row: str
    column: str
    paper: str
    ours: str
    verdict: InWords


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Claim(HasVerdict):
    """One claim of the paper, compared with the measured results.

    Attributes:
        claim: the claim.
        paper: the paper's evidence: a number, or its place in the paper.
        ours: the measured result.
        verdict: whether the claim holds here; an `Answer` is converted to text.
    """

    claim: str
    paper: str
    ours: str
    verdict: InWords


class Document(Part):
    """A finished reproduction.

    Attributes:
        schema_version: version of this format.
        reproduction, title, source, about, reduced: as in `Reproduction`.
        command: the command that repeats it.
        scale: the scale of the experiments.
        date: the day, in UTC.
        seconds: duration of the command.
        took: duration of the training, as text.
        environments: environments of the records or, without any, of this machine.
        records: number of records stored beside the page; 0 if nothing was trained; None if it
            was measured before records were stored.
        measurements: number of stored steps that were computed without training.
        core_hours: hours on one CPU core at the scales ``quick`` and ``paper``.
        figure: whether it has a figure.
        holds: whether a claim holds and none differs.
        notes: reasons why these numbers are stale, computed from the files beside the page.
        cells, claims, remarks, data: the results.
    """

    schema_version: Literal[2] = 2
    reproduction: str
    title: str
    source: str
    about: str
    command: str
    scale: Scale
    reduced: str
    date: str
    seconds: float
    took: str
    environments: tuple[str, ...]
    records: int | None
    measurements: int = 0
    core_hours: tuple[float | None, float | None] = (None, None)
    figure: bool
    holds: bool
    notes: tuple[str, ...] = ()
    cells: tuple[TableCell, ...]
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...]
    data: tuple[dict[str, Plain], ...]


def read_document(file: Path) -> Document:
    """Read a document, which is untrusted input.

    Raises:
        RequestError: one line, if the file is not a valid document.
    """
    contents = read_plain(file, MAX_BYTES, "the data of a reproduction")
    try:
        return Document.model_validate_json(contents)
    except ValidationError as error:
        raise RequestError(f"{file}: not the data of a reproduction: {one_line(error)}") from None


def all_hold(claims: Iterable[AnswerOrVerdict]) -> bool:
    """Return whether at least one claim holds and none differs."""
    verdicts = set(claims)
    return "holds" in verdicts and "differs" not in verdicts


def count_verdicts(verdicts: Iterable[AnswerOrVerdict]) -> str:
    """Return the number of each verdict, such as ``18 hold, 1 differs``."""
    counts, plurals = Counter(verdicts), {"holds": "hold", "differs": "differ"}
    return ", ".join(
        f"{times} {verdict if times == 1 else plurals.get(verdict, verdict)}"
        for verdict in get_args(Verdict)
        if (times := counts[verdict])
    )
