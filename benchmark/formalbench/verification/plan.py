"""Plan a verification: choose the lengths and the number of strings of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import HasMembers, Symbols
from formalbench.contracts.task import Task
from formalbench.contracts.verification import VerifiedStrings
from formalbench.verification.strings import (
    BLOCK_SYMBOLS,
    AdversarialLimits,
    ViableStrings,
    all_strings,
    amounts,
    make_adversarial,
    suitable,
)

DEFAULT_EXHAUSTIVE = 10
DEFAULT_LENGTHS = (50, 100, 500, 1000)
MAX_DEFAULT = 1 << 22
"""Maximum exhaustive strings if the request sets no exhaustive length."""

MAX_ASKED = 1 << 40
"""Maximum exhaustive strings that a request can have; more would take too long."""

MAX_VIABLE = 1 << 26
"""The same if only prefixes of members can be judged, since these are kept in memory."""

PortionKind = Literal["exhaustive", "random", "adversarial"]
Range = tuple[int, int | None]
"""The smallest and the largest length that a network supports; None for no bound."""


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """The settings of a verification.

    Attributes:
        exhaustive: judge every string up to this length; 0 for none, None for the default.
        lengths: lengths of the long strings; None for the default.
        count: number of random strings per length.
        seed: the seed of the random strings.
    """

    exhaustive: int | None = None
    lengths: tuple[int, ...] | None = None
    count: int = 100
    seed: int = 0


@dataclass(frozen=True)
class Portion:
    """Strings of one kind and one length, generated when needed.

    Attributes:
        kind: their part of the verification.
        length: the length of each string.
        size: maximum number of strings.
        strings: yields them in blocks (B, N).
    """

    kind: PortionKind
    length: int
    size: int
    strings: Callable[[], Iterator[Symbols]]


@dataclass(frozen=True)
class VerificationPlan:
    """All strings of a verification.

    Attributes:
        asked: their description in the form of a record.
        portions: exhaustive, then random, then adversarial strings, each by increasing length.
        notes: decisions that differ from the request, one line each.
    """

    asked: VerifiedStrings
    portions: tuple[Portion, ...]
    notes: tuple[str, ...]

    @property
    def longest(self) -> int:
        """The largest length of any string."""
        return max((portion.length for portion in self.portions), default=0)


def make_plan(
    task: Task, request: VerificationRequest, bounds: Range = (0, None)
) -> VerificationPlan:
    """Turn a request into a plan.

    Raises:
        RequestError: for a length outside the bounds, or without strings.
    """
    notes: list[str] = []
    exhaustive = _exhaustive_portions(task, request.exhaustive, bounds, notes)
    lengths = _lengths(task, request.lengths, bounds, notes)
    amount = amounts(len(task.source.alphabet), lengths, request.count)
    random = [_random(task, length, request) for length in lengths]
    adversarial = [_adversarial(task, length, request, amount[length]) for length in lengths]
    return VerificationPlan(
        asked=VerifiedStrings(
            exhaustive=exhaustive[-1].length if exhaustive else None,
            lengths=tuple(lengths),
            count=request.count,
            seed=request.seed,
        ),
        portions=(*exhaustive, *random, *adversarial),
        notes=tuple(notes),
    )


def _exhaustive_portions(
    task: Task, limit: int | None, bounds: Range, notes: list[str]
) -> list[Portion]:
    if limit == 0:
        return []
    longest = _longest(limit, bounds, notes)
    size, strings, most = _enumeration(task)
    portions: list[Portion] = []
    total = 0
    for length in range(longest + 1):
        count = size(length)
        if limit is not None and total + count > most:
            raise RequestError(f"--exhaustive {limit}: more than {most:,} strings")
        if length < bounds[0] or not _has_answers(task, length, count):
            continue
        if limit is None and total + count > MAX_DEFAULT:
            notes.append(
                f"exhaustive up to length {length - 1}, not {longest}, which would be more than "
                f"{MAX_DEFAULT:,} strings (--exhaustive N takes any N)"
            )
            break
        total += count
        portions.append(Portion("exhaustive", length, count, partial(strings, length)))
    return portions


def _longest(limit: int | None, bounds: Range, notes: list[str]) -> int:
    """Return the length up to which every string is tested."""
    if limit is not None:
        if not _within(limit, bounds):
            raise RequestError(f"--exhaustive {limit}: the model {_support(bounds)}")
        return limit
    longest = _clipped(DEFAULT_EXHAUSTIVE, bounds)
    if longest != DEFAULT_EXHAUSTIVE:
        notes.append(f"exhaustive up to length {longest}: the model {_support(bounds)}")
    return longest


def _enumeration(
    task: Task,
) -> tuple[Callable[[int], int], Callable[[int], Iterator[Symbols]], int]:
    """Return the number of strings per length, their generator, and the maximum number."""
    num_symbols = len(task.source.alphabet)
    if task.objective.only_viable:
        assert isinstance(task.source, HasMembers)
        viable = ViableStrings(task.source, num_symbols)
        return viable.count, viable.strings, MAX_VIABLE

    def strings(length: int) -> Iterator[Symbols]:
        for block_BN in all_strings(num_symbols, length):
            yield suitable(task, block_BN)

    return partial(pow, num_symbols), strings, MAX_ASKED


def _has_answers(task: Task, length: int, size: int) -> bool:
    """Return whether the strings of a length have answers to judge."""
    return size > 0 if task.objective.only_viable else bool(task.lengths(length, length))


def _lengths(task: Task, given: Sequence[int] | None, bounds: Range, notes: list[str]) -> list[int]:
    """Return the lengths of the long strings, in increasing order."""
    outside = [n for n in given or () if not _within(n, bounds)]
    if outside:
        raise RequestError(f"--lengths {outside[0]}: the model {_support(bounds)}")
    lengths = DEFAULT_LENGTHS if given is None else given
    clipped = sorted({_clipped(length, bounds) for length in lengths})
    if clipped != sorted(set(lengths)):
        notes.append(f"lengths {_list_text(clipped)}: the model {_support(bounds)}")
    rounded = sorted({task.source.round_length(length) for length in clipped})
    available = [n for n in rounded if _within(n, bounds) and task.lengths(n, n)]
    if given is not None and not available:
        raise RequestError(
            f"--lengths {_list_text(clipped)}: task {task.name} has no string of such a length"
        )
    if available != clipped:
        notes.append(f"lengths {_list_text(available)}: {task.name} has no strings of the others")
    return available


def _random(task: Task, length: int, request: VerificationRequest) -> Portion:
    def strings() -> Iterator[Symbols]:
        stream = task.stream("verify", "random", request.seed, length)
        block = max(1, BLOCK_SYMBOLS // max(length, 1))
        for start in range(0, request.count, block):
            count = min(block, request.count - start)
            yield task.strings(stream.child(start), length, count)

    return Portion("random", length, request.count, strings)


def _adversarial(
    task: Task, length: int, request: VerificationRequest, amount: AdversarialLimits
) -> Portion:
    def strings() -> Iterator[Symbols]:
        stream = task.stream("verify", "adversarial", request.seed, length)
        for block_BN in make_adversarial(task, stream, length, amount).strings():
            if block_BN.ndim != 2 or block_BN.shape[1] != length:
                raise TypeError(f"near misses of shape {block_BN.shape}, not (…, {length})")
            yield suitable(task, block_BN)

    return Portion("adversarial", length, amount.total(len(task.source.alphabet), length), strings)


def _clipped(length: int, bounds: Range) -> int:
    least, greatest = bounds
    return max(least, length if greatest is None else min(length, greatest))


def _within(length: int, bounds: Range) -> bool:
    return _clipped(length, bounds) == length


def _support(bounds: Range) -> str:
    least, greatest = bounds
    if greatest is None:
        return f"is made for strings of length {least} and more"
    if least == greatest:
        return f"is made for strings of length {least} only"
    return f"is made for strings of length {least} to {greatest}"


def _list_text(lengths: Sequence[int]) -> str:
    if len(lengths) > 6:
        return f"{lengths[0]} … {lengths[-1]} ({len(lengths)} of them)"
    return ", ".join(map(str, lengths)) or "none"
