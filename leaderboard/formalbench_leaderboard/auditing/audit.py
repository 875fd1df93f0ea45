"""Auditing: what a record says asked again, of its weights, its training or its construction.

A record is taken in on trust as to what its network got right. Whoever has its weights can ask
again: a number that was made up, or weights of something else, show as a mismatch. Where they are
not at hand a run is trained again, and what was verified is verified again, as many as an auditor
draws; of any other nothing is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from formalbench.analysis.current import current_of
from formalbench.contracts.record import Record
from formalbench.contracts.verification import VerificationRecord
from formalbench.store import read_record, weights_path
from formalbench.store.weight_lookup import AtHand

from formalbench_leaderboard.auditing.examined import Demand, Examination, examine_apart, refusing
from formalbench_leaderboard.auditing.found import Audit
from formalbench_leaderboard.auditing.retrain import Retrainer
from formalbench_leaderboard.publishing.strangers import Strangers, are_strangers
from formalbench_leaderboard.publishing.weights_kept import keeps_weights

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord
    from formalbench.host.host import PluginHost

NOT_DRAWN = "verifications that were not drawn: --verify N repeats N of them"
UNFINISHED = "did not finish: nothing to test"
STALE = "made with another version of the task, the model or the protocol: does not count"
NO_WEIGHTS = "no weights at hand: --weights names their archive, --retrain N trains N runs again"


class Auditor:
    """Audits records; those of one task in a row share its strings.

    A context: a stranger's code is asked in a process that ends with it.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
        weights: where weights are, besides beside their records. What an archive should have, by
            the rule of `keeps_weights`, it must: such a run is refused, not passed over.
    """

    def __init__(
        self, host: PluginHost, seed: int, device: str, weights: AtHand | None = None
    ) -> None:
        self._host, self._seed, self._device = host, seed, device
        self._here = Examination(host, seed, device)
        self._strangers = Strangers(host)
        self._retrainer = Retrainer(host, device)
        self._current = current_of(host)
        self._weights = weights or AtHand()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._strangers.__exit__(*error)

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
            again = again and isinstance(record, Record) and record.model.kind == "learned"
            tested, packed = False, None
            if isinstance(record, Record) and record.test is not None:
                at_hand = self.has_weights(path, record)
                tested, packed = at_hand or not again, self._packed(path, record)
            demand = Demand(path, tested, packed, self._seed, self._device)
            if are_strangers(record, self._host):
                found = self._strangers.ask_about(record, examine_apart, demand)
            else:
                found = self._here.examine(record, demand)
        if again and found.verdict != "refused" and isinstance(found.record, Record):
            with refusing(found):
                self._retrain(found, found.record)
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
        return learned and self._current.standing(record) == "current"

    def _packed(self, path: Path, record: Record) -> bytes | None:
        """Return a run's weights, if they are at hand.

        Raises:
            RequestError: one line, if they are others than its record names.
        """
        from formalbench.store.weights import read_weights

        if weights_path(path).exists():
            return read_weights(record, weights_path(path))
        return self._weights.read(record) if record in self._weights else None

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
        if asked or record.model.kind != "learned" or self.has_weights(path, record):
            return None
        demanded = bool(self._weights.places) and keeps_weights(record)
        return None if demanded else NO_WEIGHTS
