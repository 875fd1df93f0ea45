"""Audit a random sample of published records.

When a record is published, its accuracy is not checked. Anybody who has the weights can test them
again: invented numbers, or the weights of another network, show as a mismatch. Without weights, a
random sample of runs is trained again, and a random sample of verifications is repeated. The
other records are not audited.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Self

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.documents.text import plural
from formalbench.host import PluginHost
from formalbench.store import read_record
from formalbench.store.archive import WeightLookup

from formalbench_leaderboard.publishing.judge import Audit, AuditJudge, refusing
from formalbench_leaderboard.publishing.record_check import Admission
from formalbench_leaderboard.publishing.rerun import Retrainer
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses
from formalbench_leaderboard.publishing.weights import has_weights, keeps_weights, packed_weights


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


def read_records(files: Iterable[Path]) -> dict[Path, AnyRecord]:
    """Return the records of valid files; the audit itself reports the others."""
    records = {}
    for file in files:
        with contextlib.suppress(RequestError):
            records[file] = read_record(file)
    return records


def draw_sample(
    records: Mapping[Path, AnyRecord], seed: int, runs: int | None, verifications: int | None
) -> frozenset[Path]:
    """Choose the records to repeat; all samples of the same size are equally likely.

    Args:
        records: records by their files.
        seed: the same seed gives the same sample.
        runs: number of learned models to train again; None for all.
        verifications: number of verifications to repeat; None for all.
    """
    verified = [file for file, one in records.items() if isinstance(one, VerificationRecord)]
    learned = [file for file, one in records.items() if one.model.kind == "learned"]
    return _sample(learned, runs, (seed, 0)) | _sample(verified, verifications, (seed, 1))


def _sample(files: Iterable[Path], size: int | None, seed: tuple[int, int]) -> frozenset[Path]:
    import numpy as np

    ordered = sorted(files)
    if size is None or size >= len(ordered):
        return frozenset(ordered)
    places = np.random.default_rng(seed).choice(len(ordered), size=size, replace=False)
    return frozenset(ordered[place] for place in places)


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
        processes: where plugins' code runs; None to start some.
    """

    def __init__(
        self,
        host: PluginHost,
        seed: int,
        device: str,
        weights: WeightLookup | None = None,
        processes: PluginProcesses | None = None,
    ) -> None:
        self._processes = processes or PluginProcesses(host)
        self._admission = Admission(host, self._processes)
        self._judge = AuditJudge(host, seed, device, self._processes)
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
        result = Audit(path)
        with refusing(result):
            record = result.record = read_record(path)
            if reason := self._skip_reason(record, path, asked, again):
                result.verdict, result.reasons = "skipped", [reason]
                return result
            self._admission.admit(record)
            again = again and record.model.kind == "learned"
            if not again or self._has_weights(path, record):
                self._test(result, record)
            if again and isinstance(record, Record):
                result.retrained = self._retrainer.retrain(record)
                result.compare_retrained()
        return result

    def retest(self, path: Path, record: AnyRecord) -> Audit:
        """Test a valid record's network again; a run whose weights are not found is passed over."""
        result = Audit(path, record)
        with refusing(result):
            if record.model.kind == "exact" or self._has_weights(path, record):
                self._test(result, record)
        return result

    def _test(self, result: Audit, record: AnyRecord) -> None:
        if isinstance(record, VerificationRecord):
            self._judge.verification(result, record)
        elif record.test is not None:
            packed = packed_weights(result.path, record, self._weights)
            self._judge.run(result, record, packed)

    def _has_weights(self, path: Path, record: AnyRecord) -> bool:
        return isinstance(record, Record) and has_weights(path, record, self._weights)

    def _skip_reason(self, record: AnyRecord, path: Path, named: bool, repeat: bool) -> str | None:
        if self._processes.standing(record) == "stale":
            return STALE
        if isinstance(record, VerificationRecord):
            return None if named or repeat else NOT_DRAWN
        if repeat and record.model.kind == "learned":
            return None
        if record.test is None:
            return UNFINISHED
        if named or record.model.kind != "learned" or self._has_weights(path, record):
            return None
        required = bool(self._weights.places) and keeps_weights(record)
        return None if required else NO_WEIGHTS


def retraining_estimate(records: Mapping[Path, AnyRecord], again: Collection[Path]) -> str:
    """Return a sentence with the number of runs to train again and their recorded time.

    Runs that were trained as one program are trained together, so their time counts once.

    Returns:
        The sentence; empty if there is no such run.
    """
    runs = [(file, one) for file in again if isinstance(one := records[file], Record)]
    if not runs:
        return ""
    programs: dict[object, float] = {}
    for file, record in runs:
        training = record.training
        cohort = training.cohort if training is not None and training.cohort else record.test_id
        programs[file.parent, cohort] = training.seconds if training is not None else 0.0
    seconds = sum(programs.values())
    units = (("hour", 3600), ("minute", 60), ("second", 1))
    unit, size = next(pair for pair in units if seconds >= 2 * pair[1] or pair[1] == 1)
    time = plural(max(1, round(seconds / size)), unit)
    source = "its record" if len(runs) == 1 else "their records"
    return f"{plural(len(runs), 'run')} to train again: about {time} by {source}"
