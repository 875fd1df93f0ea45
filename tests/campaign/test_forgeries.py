"""Every field of a published record that says what was run, or on what it was tested, forged.

A few forgeries are in every test run, drawn from a seed; `make campaign` has all of them. What only
an audit can find is forged in `tests/leaderboard/auditing`.
"""

import copy
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_records import forged, renamed
from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import VerificationRecord
from formalbench.host import PluginHost
from formalbench.statistics.selection import current_of
from formalbench.store import Store
from formalbench_leaderboard.publishing.record_check import Admission

REPOSITORY = Path(__file__).parents[2]
RESULTS = Path("leaderboard", "results")

WORD = {
    *((part,) for part in ("message", "place", "training", "environment", "date", "status")),
    *(("test", "seconds"), ("test", "signatures"), ("selected", "step")),
    *(("model", "source", "version"), ("task", "source", "version")),
    *(("by_length", "window"), ("first_failure", "logit"), ("first_failure", "expected")),
}
"""What is its author's word."""

MEASURED = {
    *("correct", "total", "not_finite", "weights", "errors", "break_length", "string"),
    *("min_margin", "mean_bits", "max_bits"),
}
"""What only weights, training or verifying again can tell: no more than nonsense is refused."""

A_FEW = 120
"""Forgeries of a record in every test run; a campaign has all."""


@pytest.fixture(scope="module")
def published() -> dict[Path, Record | VerificationRecord]:
    current = current_of(PluginHost.load())  # records of older versions stay published
    held = Store(REPOSITORY / RESULTS).files()
    return {file: record for file, record in held.items() if current.standing(record) == "current"}


@pytest.fixture
def draw(request) -> random.Random:
    """The random numbers of a test, which the campaign's seed decides."""
    seed = request.config.getoption("--campaign-seed", default="0")
    return random.Random(f"{seed} {request.node.name}")


def leaves(value, path=()) -> Iterator[tuple[tuple, object]]:
    """Yield the path of every field that is not an author's word, and its value in JSON."""
    for name, one in value.items():
        if (*path, name) in WORD:
            continue
        if isinstance(one, dict) and name not in ("options", "protocol", "code"):
            yield from leaves(one, (*path, name))
        else:
            yield (*path, name), one


def others(value, measured) -> list[object]:
    """Return other values for a field: any, or, of what was measured, such as cannot be."""
    if value is None:
        return [] if measured else [7]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [-1] if measured else [value + 1, value - 1, value * 2 + 3]
    if isinstance(value, str):
        return ["\u202e" + value, "\x1b[2J"] if measured else [value + "x", "evil"]
    if isinstance(value, list):
        return [value + value[-1:], value[:-1]] + (
            [[one, *value[1:]] for one in others(value[0], measured)] if value else []
        )
    return [{**value, "evil": 1}] + [
        {**value, key: one} for key in value for one in others(value[key], measured)
    ]


def is_refused(admission, record, path, value):
    try:
        changed = forged(record, {path: value})
        named = {"train_id", "test_id", "verification_id"} & set(path)
        admission.admit(changed if named else renamed(changed))
    except FormalbenchError:
        return True
    return False


def forgeries(record):
    """Return every forgery of a record that `check` must find, as paths and values."""
    run = isinstance(record, Record)
    return [
        (path, other)
        for path, value in leaves(record.model_dump(mode="json"))
        for other in others(
            copy.deepcopy(value), path[-1] in MEASURED or (path[-1] == "strings" and not run)
        )
        if other != value and not (path[0] == "protocol" and _free(value, other))
    ]


def _free(value, other):
    """Say whether only what of a protocol decides no number of a run differs."""
    differing = {key for key in other if value.get(key, ...) != other[key]}
    return differing <= {"summary", "seeds"}


def one_of(published, kind, **wanted):
    """Return the first published record of a kind."""
    return next(
        (file, record)
        for file, record in published.items()
        if isinstance(record, kind) and all(getattr(record, k) == v for k, v in wanted.items())
    )


@pytest.mark.parametrize("kind", [Record, VerificationRecord], ids=["run", "exact"])
def test_a_record_that_says_something_else_is_refused(host, published, draw, kind):
    _, record = one_of(published, kind)
    admission = Admission(host)
    admission.admit(record)
    every = forgeries(record)
    for path, other in draw.sample(every, min(A_FEW, len(every))):
        assert is_refused(admission, record, path, other), (path, other)


@pytest.mark.campaign
def test_every_field_of_many_records_is_checked(host, published, draw):
    admission = Admission(host)
    for record in draw.sample(list(published.values()), 25):
        for path, other in forgeries(record):
            assert is_refused(admission, record, path, other), (path, other)
