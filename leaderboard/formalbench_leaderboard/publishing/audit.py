"""Audit a random sample of published records.

When a record is published, its accuracy is not checked. Anybody who has the weights can test them
again: invented numbers, or the weights of another network, show as a mismatch. Without weights, a
random sample of runs is trained again, and a random sample of verifications is repeated. The
other records are not audited.
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
    """Return the number of records that ``N`` or ``all`` stands for; None for all.

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
    """Choose the records to repeat; all samples of the same size are equally likely.

    Args:
        files: files of records; others are ignored.
        seed: the same seed gives the same sample.
        runs: number of learned models to train again; None for all.
        verifications: number of verifications to repeat; None for all.
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
    """Return the records that can be chosen; the audit itself reports invalid files."""
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
    """Audits records; consecutive records of one task share their strings.

    This is a context manager: processes with plugins' code end with it.

    Args:
        host: the plugins.
        seed: seed of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
        weights: where to look for weights, apart from the records' own folders. If any place is
            given, weights that an archive must contain (`keeps_weights`) are required: without
            them, the run is refused and not passed over.
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
            path: the record's file.
            asked: whether the user named the file itself, not only its folder. Then missing weights
                are an error and not a reason to skip the record; a verification is repeated.
            again: whether to repeat the work: train a learned model, or verify an exact one.
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
        """Whether a run's weights can be found, beside its record or elsewhere.

        Args:
            path: the record's file.
            record: the record.
        """
        return weights_path(path).exists() or record in self._weights

    def can_be_trained(self, record: AnyRecord) -> bool:
        """Whether the record's run was trained, and would be trained in the same way here."""
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
"""Maximum seconds of a run that is retrained although the user did not request it."""


def default_sample(files: Iterable[Path], seed: int, auditor: Auditor) -> frozenset[Path]:
    """Choose a run to train again if no run has weights; otherwise nothing would be tested.

    Args:
        files: files of records.
        seed: seed of the sample.
        auditor: knows which runs have weights.
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
    """Return the number of runs to train again, and the total of their recorded seconds.

    Runs that were trained as one program are trained together, so their time counts once.

    Args:
        records: the chosen records, by their files.
    """
    programs: dict[object, float] = {}
    runs = [(file, one) for file, one in records.items() if isinstance(one, Record)]
    for file, record in runs:
        told = record.training
        cohort = told.cohort if told is not None and told.cohort else record.test_id
        programs[file.parent, cohort] = told.seconds if told is not None else 0.0
    return len(runs), sum(programs.values())


def sentence(runs: int, seconds: float) -> str:
    """Return a sentence with the number of runs to train again and their recorded time."""
    by = "its record" if runs == 1 else "their records"
    for unit, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= 2 * size or size == 1:
            return f"{plural(runs, 'run')} to train again: {_about(seconds / size, unit)} by {by}"
    raise AssertionError("a second is the last unit")


def _about(number: float, unit: str) -> str:
    return f"about {plural(max(1, round(number)), unit)}"
