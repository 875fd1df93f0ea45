"""Auditing: what a record says asked again, of its weights, its training or its construction.

A record is taken in on trust as to what its network got right. Whoever has its weights can ask
again: a number that was made up, or weights of something else, show as a mismatch. What has no
weights is trained again, and what was verified is verified again, as many as an auditor draws.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from formalbench.analysis.current import current_of
from formalbench.contracts.record import Record
from formalbench.contracts.verification import VerificationRecord
from formalbench.store import read_record, weights_path

from formalbench_leaderboard.auditing.examined import Examiner, refusing
from formalbench_leaderboard.auditing.found import Audit
from formalbench_leaderboard.auditing.retrain import Retrainer

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord
    from formalbench.host.host import PluginHost

NOT_DRAWN = "verifications that were not drawn: --verify N repeats N of them"
UNFINISHED = "did not finish: nothing to test"
STALE = "made with another version of the task, the model or the protocol: does not count"
NO_WEIGHTS = "no weights are published with it: --retrain N trains N runs again"


class Auditor:
    """Audits records; those of one task in a row share its strings.

    A context: a stranger's code is asked in a process that ends with it.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
    """

    def __init__(self, host: PluginHost, seed: int, device: str) -> None:
        self._examiner = Examiner(host, seed, device)
        self._retrainer = Retrainer(host, device)
        self._current = current_of(host)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._examiner.__exit__(*error)

    def audit(self, path: Path, asked: bool = True, again: bool = False) -> Audit:
        """Audit one record.

        Args:
            path: of its file; its weights lie beside it.
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
            again = again and isinstance(record, Record) and record.model.kind == "learned"
            weights = getattr(record, "test", None) is not None
            weights = weights and not (again and not weights_path(path).exists())
            found = self._examiner.examine(path, record, weights)
        if again and found.verdict != "refused" and isinstance(found.record, Record):
            with refusing(found):
                self._retrain(found, found.record)
        return found

    def _retrain(self, found: Audit, record: Record) -> None:
        done = found.retrained = self._retrainer.retrain(record)
        if done.mismatch:
            found.mismatch(done.mismatch)
        elif done.unlike and found.verdict == "ok":
            found.verdict = "not judged"
            found.reasons.append("trained under other conditions, which can end elsewhere")

    def _passed_over(self, record: AnyRecord, path: Path, asked: bool, again: bool) -> str | None:
        if self._current.standing(record) == "stale":
            return STALE
        if isinstance(record, VerificationRecord):
            return None if asked or again else NOT_DRAWN
        if again and record.model.kind == "learned":
            return None
        if record.test is None:
            return UNFINISHED
        weightless = record.model.kind == "learned" and not weights_path(path).exists()
        return NO_WEIGHTS if weightless and not asked else None
