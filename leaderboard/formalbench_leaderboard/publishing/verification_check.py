"""Whether a verification may be published: its strings are planned again, its network built again.

What it got right is its author's word until it is repeated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.verification import Judged, VerificationRecord

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost
    from formalbench.verification.plan import PortionKind, VerificationPlan
    from formalbench.verification.verify import Subject, Verification
    from torch import nn

    from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses


MOST_SYMBOLS = 1 << 33
"""Of all strings of a verification together: days, in place of the minutes that an audit takes."""


def subject_of(
    record: VerificationRecord,
    host: PluginHost,
    processes: PluginProcesses | None = None,
    device: str = "cpu",
) -> Subject:
    """Return what a record says was verified, as it is here.

    Args:
        record: of the verification.
        host: the plugins.
        processes: where the model's code runs; None if it may run here.
        device: ``cpu`` or ``cuda:i``.
    """
    from formalbench.verification.verify import Subject

    entry, _, _ = host.task_entry(record.task.name)
    model, task = record.model, host.task(record.task.name, record.task.options)

    def build() -> nn.Module:
        if processes is not None:
            return processes.network(record, task, device)
        network: nn.Module = host.network(model.name, task, model.options)
        return network

    return Subject(model, build, record.task, task, lambda: host.blaming(entry.plugin))


def prepared(record: VerificationRecord, subject: Subject) -> Verification:
    """Build the network of a verification and plan its strings again; none is judged yet.

    Raises:
        RequestError: one line, if it could not have been asked for.
    """
    from formalbench.store.weights import bounded
    from formalbench.verification.plan import VerificationRequest
    from formalbench.verification.verify import prepare

    asked = record.asked
    request = VerificationRequest(
        asked.exhaustive or 0, asked.lengths or None, asked.count, asked.seed
    )
    with bounded(record.model.name):
        return prepare(subject, request, record.dtype if record.break_length is None else "all")


def check_verified(
    record: VerificationRecord, host: PluginHost, processes: PluginProcesses | None = None
) -> None:
    """Refuse a verification that its model, its task and its request cannot give.

    Raises:
        RequestError: one line that says why.
    """
    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        known = prepared(record, subject_of(record, host, processes))
    _check_network(record, known)
    plan = known.plan
    asked = plan.asked
    if (asked.exhaustive, asked.lengths) != (record.asked.exhaustive, record.asked.lengths):
        raise RequestError("its model and its task have no strings of such lengths")
    if sum(portion.size * max(1, portion.length) for portion in plan.portions) > MOST_SYMBOLS:
        raise RequestError("it judged more strings than anybody would judge again")
    _check_number("exhaustive", record.exhaustive, plan)
    _check_number("adversarial", record.adversarial, plan)
    _check_break(record, plan)


def _check_network(record: VerificationRecord, known: Verification) -> None:
    for what, recorded, here in (
        ("parameters", record.model.parameters, known.model.parameters),
        ("depth", record.depth, known.depth),
        ("width", record.width, known.width),
        ("constants", sorted(record.constants), sorted(known.constants)),
    ):
        if recorded != here:
            raise RequestError(f"{what}: it says {recorded}, the network built here {here}")
    for name, value in known.constants.items():
        if not math.isclose(record.constants[name], value, rel_tol=1e-9, abs_tol=1e-12):
            raise RequestError(
                f"constant {name}: it says {record.constants[name]:g}, the network built here "
                f"{value:g}"
            )


def _check_number(kind: PortionKind, recorded: Judged | None, plan: VerificationPlan) -> None:
    """Refuse more strings than there are; how many there are at least, an audit counts."""
    most = sum(portion.size for portion in plan.portions if portion.kind == kind)
    if recorded is not None and recorded.strings > most:
        raise RequestError(f"it judged {recorded.strings:,} {kind} strings, and there are {most:,}")


def _check_break(record: VerificationRecord, plan: VerificationPlan) -> None:
    """Refuse break lengths that were not tested, or that its own errors contradict."""
    from formalbench.verification.judge import DTYPES

    recorded = record.break_length
    if recorded is None:
        return
    if set(recorded) != set(DTYPES):
        raise RequestError("it does not say how far each precision goes")
    tested = {portion.length for portion in plan.portions if portion.size}
    if set(recorded.values()) - {None} - tested:
        raise RequestError("it says that a precision goes up to a length that was not tested")
    errors = zip(record.asked.lengths, record.by_length.errors, strict=True)
    wrong = min((length for length, error in errors if error), default=None)
    own = recorded[record.dtype]
    if (not record.errors and own != max(tested, default=None)) or (
        wrong is not None and own is not None and own >= wrong
    ):
        raise RequestError(f"it says that {record.dtype} goes up to {own}, and its errors do not")
