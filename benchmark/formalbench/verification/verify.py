"""Verify a model, and write the record."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Traits, traits_of
from formalbench.contracts.record import ModelUsed, TaskUsed, date_now
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.contracts.verification import (
    MAX_ENTRIES,
    SCHEMA_VERSION,
    ByLength,
    Dtype,
    Failure,
    StringCounts,
    VerificationRecord,
    verify_command,
)
from formalbench.device import describe_environment, is_out_of_memory, one_thread, own_numerics
from formalbench.verification.judge import (
    DTYPES,
    ORACLE_STRINGS,
    ORACLE_TO,
    Judge,
    Tally,
    WrongAnswer,
    check_oracle,
)
from formalbench.verification.plan import (
    Portion,
    PortionKind,
    VerificationPlan,
    VerificationRequest,
    make_plan,
)


@dataclass
class Verification:
    """The results of a verification so far; final once `complete` is set.

    Attributes:
        model, task: as records name them, including options and source.
        dtype: the dtype in which the strings were judged.
        constants: constants of the paper's formulas, reported by the network.
        depth, width: number of layers, and of values per position, reported by the network.
        plan: the strings.
        tallies: results by kind and length.
        first_failure: the first string answered wrong.
        break_length: by dtype, if all dtypes were tested.
        remarks: further information for the reader, one line each.
        complete: whether all strings were judged.
    """

    model: ModelUsed
    task: TaskUsed
    dtype: Dtype
    constants: Mapping[str, float]
    depth: int | None
    width: int | None
    plan: VerificationPlan
    tallies: dict[tuple[PortionKind, int], Tally] = field(default_factory=dict)
    first_failure: WrongAnswer | None = None
    break_length: dict[Dtype, int | None] | None = None
    remarks: list[str] = field(default_factory=list)
    complete: bool = False

    def total(self, kind: PortionKind) -> Tally:
        """Return the total over all lengths for one kind of strings."""
        parts = [tally for (part, _), tally in self.tallies.items() if part == kind]
        return Tally(sum(part.strings for part in parts), sum(part.errors for part in parts))

    def lengths(self) -> dict[int, Tally]:
        """Return the tallies of the random strings, by length; only lengths with strings."""
        tallies = {length: t for (kind, length), t in self.tallies.items() if kind == "random"}
        return {length: tally for length, tally in sorted(tallies.items()) if tally.strings}

    @property
    def errors(self) -> int:
        """The number of strings answered wrong."""
        return sum(tally.errors for tally in self.tallies.values())

    @property
    def passed(self) -> bool:
        """Whether every string was judged and answered right."""
        return self.complete and not self.errors

    @property
    def parameters(self) -> dict[str, Any]:
        """The options and the constants; options of the task have the prefix ``task.``."""
        of_task = {f"task.{key}": value for key, value in self.task.options.items()}
        return {**self.model.options, **of_task, **self.constants}

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``verify --json`` prints."""
        exhaustive, adversarial = self.total("exhaustive"), self.total("adversarial")
        failure = self.first_failure
        return {
            "model": self.model.name,
            "task": self.task.name,
            "dtype": self.dtype,
            "parameters": self.parameters,
            "passed": self.passed,
            "exhaustive": None
            if self.plan.asked.exhaustive is None
            else {
                "max_length": self.plan.asked.exhaustive,
                "strings": exhaustive.strings,
                "errors": exhaustive.errors,
            },
            "lengths": [_row(length, tally) for length, tally in self.lengths().items()],
            "adversarial": {"strings": adversarial.strings, "errors": adversarial.errors},
            "first_failure": None if failure is None else failure._asdict(),
            "break_length": self.break_length,
        }


def _row(length: int, tally: Tally) -> dict[str, Any]:
    has_finite = tally.finite > 0
    return {
        "length": length,
        "strings": tally.strings,
        "errors": tally.errors,
        "accuracy": tally.accuracy,
        "min_margin": tally.min_margin if math.isfinite(tally.min_margin) else None,
        "mean_bits": tally.mean_bits if has_finite else None,
        "max_bits": tally.max_bits if has_finite else None,
    }


def unbroken(tallies: Mapping[tuple[PortionKind, int], Tally]) -> int | None:
    """Return the largest length without an error at any length up to it; None if there is none."""
    wrong = [length for (_, length), tally in tallies.items() if tally.errors]
    first = min(wrong, default=math.inf)
    right = [length for (_, length), t in tallies.items() if t.strings and length < first]
    return max(right, default=None)


MAX_SYMBOLS = 200
"""Maximum characters of a failing string in a record."""


def record_of(found: Verification, device: str, plugins: Sequence[str] = ()) -> VerificationRecord:
    """Return the record of a complete verification."""
    exhaustive, adversarial = found.total("exhaustive"), found.total("adversarial")
    record = VerificationRecord(
        schema_version=SCHEMA_VERSION,
        kind="verification",
        verification_id="0" * 16,
        model=found.model,
        task=found.task,
        constants=dict(found.constants),
        depth=found.depth,
        width=found.width,
        asked=found.plan.asked,
        dtype=found.dtype,
        exhaustive=None
        if found.plan.asked.exhaustive is None
        else StringCounts(strings=exhaustive.strings, errors=exhaustive.errors),
        adversarial=StringCounts(strings=adversarial.strings, errors=adversarial.errors),
        by_length=_by_length([tally for _, tally in found.lengths().items()]),
        first_failure=_failure(found),
        break_length=found.break_length,
        environment=describe_environment(device),
        command=command_of(found, plugins),
        date=date_now(),
    )
    return record.model_copy(update={"verification_id": record.identity})


def command_of(found: Verification, plugins: Sequence[str] = ()) -> str:
    """Return the command that repeats a verification."""
    dtype = found.dtype if found.break_length is None else "all"
    words = verify_command(found.model, found.task, found.plan.asked, dtype)
    for plugin in plugins:
        words += ["--plugin", plugin]
    return shlex.join(words)


def _by_length(tallies: Sequence[Tally]) -> ByLength:
    window = max(1, -(-len(tallies) // MAX_ENTRIES))
    groups = [
        [tally for tally in tallies[start : start + window] if tally.finite]
        for start in range(0, len(tallies), window)
    ]

    def figures(take: Callable[[Sequence[Tally]], float]) -> tuple[float | None, ...]:
        values = (take(group) if group else math.inf for group in groups)
        return tuple(float(f"{x:.6g}") if math.isfinite(x) else None for x in values)

    return ByLength(
        errors=tuple(tally.errors for tally in tallies),
        min_margin=figures(lambda group: min(tally.min_margin for tally in group)),
        mean_bits=figures(lambda group: sum(t.mean_bits for t in group) / len(group)),
        max_bits=figures(lambda group: max(tally.max_bits for tally in group)),
        window=window,
    )


def _failure(found: Verification) -> Failure | None:
    failure = found.first_failure
    if failure is None:
        return None

    def cut(text: str) -> str:
        return text if len(text) <= MAX_SYMBOLS else f"{text[:MAX_SYMBOLS]}…"

    expected = failure.expected
    return Failure(
        string=cut(failure.string),
        expected=cut(expected) if isinstance(expected, str) else expected,
        logit=failure.logit,
    )


StringsReport = Callable[[str, int, int], None]
"""Called with the current step, the number of judged strings, and the maximum number."""


@dataclass(frozen=True)
class Subject:
    """The model and task to verify.

    Attributes:
        asking: a context for the task's code, so that errors are attributed to the task.
    """

    model: ModelUsed
    build: Callable[[], nn.Module]
    used: TaskUsed
    task: Task
    asking: Callable[[], AbstractContextManager[None]] = nullcontext


@own_numerics()
def prepare(
    subject: Subject, request: VerificationRequest, dtype: Dtype | Literal["all"]
) -> Verification:
    """Build the network once and choose the strings.

    Raises:
        RequestError: if the model refuses the task, or does not support a requested length.
    """
    network = subject.build()
    size = sum(parameter.numel() for parameter in network.parameters())
    traits = traits_of(network)
    with subject.asking():
        plan = make_plan(subject.task, request, traits.lengths)
    return Verification(
        model=subject.model.model_copy(update={"parameters": size}),
        task=subject.used,
        dtype="fp64" if dtype == "all" else dtype,
        constants=_constants(traits),
        depth=traits.depth(plan.longest) if callable(traits.depth) else traits.depth,
        width=traits.width,
        plan=plan,
        break_length=dict.fromkeys(DTYPES) if dtype == "all" else None,
    )


@own_numerics()
def carry_out(subject: Subject, found: Verification, device: str, report: StringsReport) -> None:
    """Judge all strings, and update `found` after each block.

    After an interruption, `found` has the results so far.
    """
    with one_thread() if device == "cpu" else nullcontext():
        judge = _judge(subject, found.dtype, device)
        total = sum(portion.size for portion in found.plan.portions)
        done = 0
        for portion in found.plan.portions:
            what = f"{portion.kind}, length {portion.length}"
            tally = found.tallies.setdefault((portion.kind, portion.length), Tally())
            for _ in _add(judge, portion, tally):
                found.first_failure = judge.first_failure
                report(what, done + tally.strings, total)
            done += portion.size
        if found.break_length is not None:
            for dtype in DTYPES:
                found.break_length[dtype] = (
                    unbroken(found.tallies)
                    if dtype == found.dtype
                    else _break_length(subject, found, dtype, device, report)
                )
        found.complete = True


def _break_length(
    subject: Subject, found: Verification, dtype: Dtype, device: str, report: StringsReport
) -> int | None:
    """Return the break length of a dtype; the test stops at the first length with an error."""
    judge = _judge(subject, dtype, device)
    tallies: dict[tuple[PortionKind, int], Tally] = {}
    total = sum(portion.size for portion in found.plan.portions)
    done = 0
    for portion in sorted(found.plan.portions, key=lambda portion: portion.length):
        tally = tallies.setdefault((portion.kind, portion.length), Tally())
        try:
            for _ in _add(judge, portion, tally):
                report(f"{dtype}, length {portion.length}", done + tally.strings, total)
                if tally.errors:
                    return unbroken(tallies)
        except RuntimeError as error:
            if "not implemented for" not in str(error):
                raise
            found.remarks.append(f"{dtype}: not supported on this device: {error}")
            return None
        done += portion.size
    return unbroken(tallies)


def _add(judge: Judge, portion: Portion, tally: Tally) -> Iterator[None]:
    """Judge a portion; yield after each block of strings."""
    with_oracle = portion.kind == "exhaustive" and portion.length <= ORACLE_TO
    blocks = portion.strings()
    while True:
        with judge.asking():
            block_BN = next(blocks, None)
        if block_BN is None:
            return
        try:
            _judge_block(judge, block_BN, tally, with_oracle=with_oracle)
        except (MemoryError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise RequestError(
                    f"not enough memory for strings of length {portion.length}"
                ) from None
            raise
        yield


def _judge_block(judge: Judge, strings_BN: Symbols, tally: Tally, *, with_oracle: bool) -> None:
    """Judge a block of strings."""
    with judge.asking():  # the whole block: a language reads strings symbol by symbol
        example = judge.task.examples(strings_BN)
        if with_oracle:
            check_oracle(judge.task, strings_BN, example.rows(slice(ORACLE_STRINGS)))
    judge.add(example, tally, strings_BN)


def _judge(subject: Subject, dtype: Dtype, device: str) -> Judge:
    # Built again for each dtype, since conversion to fp16 loses precision in the constants.
    torch_device = torch.device(device)
    network = subject.build().to(device=torch_device, dtype=DTYPES[dtype]).eval()
    return Judge(network, subject.task, torch_device, subject.asking)


def _constants(traits: Traits) -> dict[str, float]:
    constants = {str(name): float(value) for name, value in traits.constants.items()}
    for name, value in constants.items():
        if not math.isfinite(value):
            raise ValueError(f"the constant {name} is {value}")
    return constants
