"""What a reproduction found, as a document: all that its page says, and all that programs read.

The page is rendered from it and from nothing else, so that the two cannot differ.
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
"""``quick``: what two CPU cores do in minutes, an hour at most. ``paper``: as many runs, lengths,
strings and updates as in the paper, or more."""


Verdict = Literal["holds", "differs", "approx", "cannot tell", "not run at this scale"]
"""``approx``: a number of other data, beside the paper's for its order of magnitude alone."""


UNFINISHED = "cells of this scale lack runs"
"""In a remark: the page lacks runs that belong to its scale, and the same command trains them."""


Answer = bool | Literal["approx", "cannot tell"] | None
"""Whether something holds; None if nothing was run that could tell, ``approx`` if other data were
used, so that a number cannot be the paper's."""

NOT_RUN: Verdict = "not run at this scale"


Said = Answer | Verdict
"""An answer, or the words for it."""


def _in_words(answer: object) -> object:
    if answer is None:
        return NOT_RUN
    if isinstance(answer, str):
        if answer not in get_args(Verdict):
            raise ValueError(f"unknown verdict {answer!r:.40}")
        return answer
    return "holds" if answer else "differs"


InWords = Annotated[Said, BeforeValidator(_in_words)]


class HasVerdict:
    """What has a verdict."""

    verdict: Said

    @property
    def holds(self) -> Answer:
        """The verdict as an answer."""
        answers: dict[Said, Answer] = {"holds": True, "differs": False, NOT_RUN: None}
        return answers.get(self.verdict, self.verdict)  # type: ignore[arg-type]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TableCell(HasVerdict):
    """One cell of a paper's table, beside ours.

    Attributes:
        row, column: where it stands in the table.
        paper: the paper's number, as text.
        ours: what was measured, with its interval and the number of seeds; empty if not run.
        verdict: whether they agree; an `Answer` is put into words.
    """

    row: str
    column: str
    paper: str
    ours: str
    verdict: InWords


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Claim(HasVerdict):
    """One claim of the paper, compared with what was measured.

    Attributes:
        claim: what is claimed.
        paper: what the paper says or shows: a number, or where.
        ours: what was found.
        verdict: whether it holds here; an `Answer` is put into words.
    """

    claim: str
    paper: str
    ours: str
    verdict: InWords


class Document(Part):
    """Everything about one reproduction, once carried out.

    Attributes:
        schema_version: of this format.
        reproduction, title, source, about, reduced: as of `Reproduction`.
        command: does it again.
        scale: how much was done.
        date: UTC, the day.
        seconds: how long the command took.
        took: how long the training did, in words.
        environments: of the records or, without any, of this machine.
        records: how many are kept beside the page; 0 if nothing was trained; None if it was
            measured before records were kept.
        measurements: how many steps of what was computed without training are kept there.
        core_hours: how long one CPU core takes at the scales ``quick`` and ``paper``.
        figure: whether there is one.
        holds: whether a claim holds and none differs.
        notes: what makes these numbers stale, computed from what lies beside the page.
        cells, claims, remarks, data: what was found.
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
    """Read a document; it may have come from anybody.

    Raises:
        RequestError: one line, if it is none.
    """
    contents = read_plain(file, MAX_BYTES, "the data of a reproduction")
    try:
        return Document.model_validate_json(contents)
    except ValidationError as error:
        told = one_line(error)
        raise RequestError(f"{file}: not the data of a reproduction: {told}") from None


def all_hold(claims: Iterable[Said]) -> bool:
    """Say whether one of some claims holds and none differs."""
    given = set(claims)
    return "holds" in given and "differs" not in given


def count_verdicts(verdicts: Iterable[Said]) -> str:
    """Return how many of each there are, as in ``18 hold, 1 differs``."""
    counts, many = Counter(verdicts), {"holds": "hold", "differs": "differ"}
    return ", ".join(
        f"{times} {verdict if times == 1 else many.get(verdict, verdict)}"
        for verdict in get_args(Verdict)
        if (times := counts[verdict])
    )
