"""Audit a random sample of published records.

A record is taken in on trust as to what its network got right. Whoever has its weights can ask
again: a number that was made up, or weights of something else, show as a mismatch. Where they are
not at hand a run is trained again, and what was verified is verified again, as many as an auditor
draws; of any other nothing is said.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.documents.text import plural
from formalbench.store import read_record, weights_path
from formalbench.store.archive import WeightLookup

from formalbench_leaderboard.publishing.judge import (
    Audit,
    WeightsTest,
    refusing,
    test_verification,
)
from formalbench_leaderboard.publishing.record_check import Admission
from formalbench_leaderboard.publishing.rerun import Retrainer
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses
from formalbench_leaderboard.publishing.weights import keeps_weights, packed_weights

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


def parse_count(text: str, option: str) -> int | None:
    """Return how many records ``N`` or ``all`` asks for; None for all.

    Raises:
        RequestError: for anything else.
    """
    if text == "all":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RequestError(f"{option} {text}: a number of records, or all")
    return int(text)


def draw_sample(
    files: Iterable[Path], seed: int, runs: int | None, verifications: int | None
) -> frozenset[Path]:
    """Draw the records to do again: each set of as many is as likely.

    Args:
        files: of records; what is none is left out.
        seed: the same one, the same draw.
        runs: how many learned models to train again; None for all.
        verifications: how many to carry out again; None for all.
    """
    learned, verified = [], []
    for file, record in read_records(sorted(files)).items():
        if isinstance(record, VerificationRecord):
            verified.append(file)
        elif record.model.kind == "learned":
            learned.append(file)
    chosen = (_some(learned, runs, (seed, 0)), _some(verified, verifications, (seed, 1)))
    return frozenset(chosen[0]).union(chosen[1])


def _some(files: Sequence[Path], wanted: int | None, seed: tuple[int, int]) -> list[Path]:
    import numpy as np

    if wanted is None or wanted >= len(files):
        return list(files)
    places = np.random.default_rng(seed).choice(len(files), size=wanted, replace=False)
    return [files[place] for place in sorted(places)]


def read_records(files: Iterable[Path]) -> dict[Path, AnyRecord]:
    """Read records that may be drawn; of what is none the audit itself says why."""
    found = {}
    for file in files:
        with contextlib.suppress(RequestError):
            found[file] = read_record(file)
    return found


NOT_DRAWN = "verifications that were not drawn: --verify N repeats N of them"


UNFINISHED = "did not finish: nothing to test"


STALE = "made with another version of the task, the model or the protocol: does not count"


NO_WEIGHTS = "no weights found: --weights names their archive, --retrain N trains N runs again"


class Auditor:
    """Audits records; those of one task in a row share its strings.

    A context: plugins' code is asked in processes that end with it.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
        weights: where weights are, besides beside their records. What an archive should have, by
            the rule of `keeps_weights`, it must: such a run is refused, not passed over.
    """

    def __init__(
        self, host: PluginHost, seed: int, device: str, weights: WeightLookup | None = None
    ) -> None:
        self._host, self._device = host, device
        self._processes = PluginProcesses(host)
        self._admission = Admission(host, self._processes)
        self._weights_test = WeightsTest(host, seed, device, self._processes)
        self._retrainer = Retrainer(host, device)
        self._weights = weights or WeightLookup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._processes.__exit__(*error)

    def audit(self, path: Path, asked: bool = True, again: bool = False) -> Audit:
        """Audit one record.

        Args:
            path: of its file.
            asked: whether it was named, and not only its folder: then having no weights is a
                reason to refuse it, not to pass over it, and a verification is done again.
            again: whether to do what it tells of again: to train a learned model, to verify an
                exact one.
        """
        found = Audit(path)
        with refusing(found):
            record = found.record = read_record(path)
            if why := self._passed_over(record, path, asked, again):
                found.verdict, found.reasons = "skipped", [why]
                return found
            self._admission.admit(record)
            if isinstance(record, VerificationRecord):
                test_verification(found, record, self._host, self._device, self._processes)
                return found
            again = again and record.model.kind == "learned"
            if record.test is not None and (self.has_weights(path, record) or not again):
                packed = packed_weights(path, record, self._weights)
                self._weights_test.test(found, record, packed)
            if again:
                self._retrain(found, record)
        return found

    def has_weights(self, path: Path, record: Record) -> bool:
        """Say whether a run's weights are at hand, beside its record or elsewhere.

        Args:
            path: of the record's file.
            record: its contents.
        """
        return weights_path(path).exists() or record in self._weights

    def can_be_trained(self, record: AnyRecord) -> bool:
        """Say whether a record is of a run that trained, and would train here as it did."""
        learned = isinstance(record, Record) and record.model.kind == "learned"
        return learned and self._processes.standing(record) == "current"

    def _retrain(self, found: Audit, record: Record) -> None:
        done = found.retrained = self._retrainer.retrain(record)
        if done.mismatch:
            found.mismatch(done.mismatch)
        elif done.unlike and found.verdict == "ok":
            found.not_judged("trained under other conditions, which can end elsewhere")

    def _passed_over(self, record: AnyRecord, path: Path, asked: bool, again: bool) -> str | None:
        if self._processes.standing(record) == "stale":
            return STALE
        if isinstance(record, VerificationRecord):
            return None if asked or again else NOT_DRAWN
        if again and record.model.kind == "learned":
            return None
        if record.test is None:
            return UNFINISHED
        if asked or record.model.kind != "learned" or self.has_weights(path, record):
            return None
        demanded = bool(self._weights.places) and keeps_weights(record)
        return None if demanded else NO_WEIGHTS


LONGEST = 600.0
"""Seconds that a run may take which nobody asked to train again."""


def default_sample(files: Iterable[Path], seed: int, auditor: Auditor) -> frozenset[Path]:
    """Draw a run to train again, if of none there are weights: else nothing would be asked.

    Args:
        files: of records.
        seed: of the draw.
        auditor: says of which runs there are weights.
    """
    runs = {
        file: record
        for file, record in read_records(files).items()
        if isinstance(record, Record) and auditor.can_be_trained(record)
    }
    if any(auditor.has_weights(file, record) for file, record in runs.items()):
        return frozenset()
    return draw_sample(runs, seed, 1, 0)


def seconds_of(records: Mapping[Path, AnyRecord]) -> tuple[int, float]:
    """Return how many runs train again, and the seconds that their records tell.

    Runs that trained as one program train together, and once.

    Args:
        records: those drawn, by their files.
    """
    programs: dict[object, float] = {}
    runs = [(file, one) for file, one in records.items() if isinstance(one, Record)]
    for file, record in runs:
        told = record.training
        cohort = told.cohort if told is not None and told.cohort else record.test_id
        programs[file.parent, cohort] = told.seconds if told is not None else 0.0
    return len(runs), sum(programs.values())


def sentence(runs: int, seconds: float) -> str:
    """Say what is trained again, and how long that took whoever did it first."""
    by = "its record" if runs == 1 else "their records"
    for unit, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= 2 * size or size == 1:
            return f"{plural(runs, 'run')} to train again: {_about(seconds / size, unit)} by {by}"
    raise AssertionError("a second is the last unit")


def _about(number: float, unit: str) -> str:
    return f"about {plural(max(1, round(number)), unit)}"
