"""What a record's own code answers in an audit: here, or a stranger's in a process apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.host.contained import as_failures
from formalbench.running.apart import Tell
from formalbench.running.worker import load_host

from formalbench_leaderboard.auditing.found import Audit
from formalbench_leaderboard.auditing.reverify import verify_again
from formalbench_leaderboard.auditing.weights import WeightsTest
from formalbench_leaderboard.publishing.admission import Admission
from formalbench_leaderboard.publishing.strangers import LOADING, Question

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost
    from formalbench.host.plugins import LocalPlugin

_LONGEST = 500
"""Characters of what a stranger's code says when it fails."""


@dataclass(frozen=True)
class Demand:
    """What is asked of a record.

    Attributes:
        path: of its file.
        weights: whether its network is tested, or only admitted.
        packed: the weights of a learned one, if they are at hand.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
    """

    path: Path
    weights: bool
    packed: bytes | None
    seed: int
    device: str


@contextlib.contextmanager
def refusing(found: Audit) -> Iterator[None]:
    """Take what fails inside for a reason to refuse a record: it can be a stranger's code."""
    try:
        with as_failures():
            yield
    except PLUGIN_FAILURES as error:
        kind = "" if isinstance(error, FormalbenchError) else f"{type(error).__name__}: "
        line = " ".join(f"{kind}{error}".split())
        found.verdict, found.reasons = "refused", [line[:_LONGEST]]


def examine_apart(question: Question[Demand], tell: Tell) -> Audit:
    """Examine a record in a process of its own (see `Strangers`)."""
    demand = question.asked
    tell(LOADING)
    examination = _examination(question.plugins, demand.seed, demand.device)
    return examination.examine(question.record, demand, tell)


@lru_cache(maxsize=1)
def _examination(plugins: tuple[LocalPlugin, ...], seed: int, device: str) -> Examination:
    return Examination(load_host(plugins), seed, device)


class Examination:
    """What one process knows while it examines records; those of one task in a row share strings.

    Args:
        host: the plugins.
        seed: of the fresh strings.
        device: ``cpu`` or ``cuda:i``.
    """

    def __init__(self, host: PluginHost, seed: int, device: str) -> None:
        self._host = host
        self._admission = Admission(host)
        self._weights = WeightsTest(host, seed, device)

    def examine(self, record: AnyRecord, demand: Demand, tell: Tell = lambda line: None) -> Audit:
        """Return what comes of a record whose code is asked; refused, if that fails."""
        found = Audit(demand.path, record)
        with refusing(found):
            tell("drawing its strings and building its network")
            self._admission.admit(record)
            if isinstance(record, VerificationRecord):
                tell("verifying it again")
                _verify(found, record, self._host, demand.device, tell)
            elif demand.weights:
                tell("testing its weights")
                self._weights.test(found, record, demand.packed, partial(tell, ""))
        return found


def _verify(
    found: Audit, record: VerificationRecord, host: PluginHost, device: str, tell: Tell
) -> None:
    done = found.reverified = verify_again(record, host, device, lambda *_: tell(""))
    if done.otherwise and not done.judged:
        found.verdict = "not judged"
        found.reasons.append("verified under other conditions, which round otherwise")
    for reason in done.otherwise:
        found.reasons.append(reason)
        if done.judged:
            found.verdict = "MISMATCH"
