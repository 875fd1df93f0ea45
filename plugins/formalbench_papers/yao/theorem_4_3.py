"""Theorem 4.3 of Yao et al. (2021): how far the recogniser gets with positions of b bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from formalbench.contracts.config import Value
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.documents.charts import BLUES, GREY, INK, RED
from formalbench.documents.figures import Figure, Panel, Series

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings
from formalbench_papers.framework.curves import MeasuredAt, measure, random_strings, spread_lengths
from formalbench_papers.index import experiment

MODEL, TASK = "yao-hard-2-2", "dyck-2-2"

EVERY_LENGTH_TO = 64
"""Every even length is tested up to this one; beyond it, some."""

DRAWN = 12
"""Lengths beyond that, up to the one where positions run out."""

NEAR = 8
"""Every even length is tested that is this near to 2^b."""

FLIPS = 8
"""Brackets of each member that get another type, one at a time."""


@dataclass(frozen=True, slots=True)
class Break:
    """Results with positions of a number of bits.

    Attributes:
        bits: b; 0 for positions that are not rounded.
        tests: what each length gave, shortest first; the last one is the first with an error.
    """

    bits: int
    tests: tuple[MeasuredAt, ...]

    @property
    def broken(self) -> bool:
        """Whether there was an error."""
        return self.tests[-1].accuracy < 1

    @property
    def length(self) -> int:
        """The largest tested length with no error up to it; 0 if there is none."""
        right = [one.length for one in self.tests if one.accuracy == 1]
        return max(right, default=0)


@experiment(
    "yao-theorem-4-3",
    "How many bits of position a hard-attention network needs for Dyck-(2, 2)",
    "Yao, Peng, Papadimitriou & Narasimhan (2021), Self-attention networks can process "
    "bounded hierarchical languages, Theorem 4.3",
    about="The recogniser of Theorem 4.1 with positions rounded to b bits: the length up to which "
    "it makes no error, against b. It doubles with every bit, so the number of bits must "
    "grow with the logarithm of the length.",
    reduced="Positions of up to 11 bits instead of 16.",
    core_hours=(0.003, 0.14),
)
def carry_out(bench: Bench) -> Findings:
    """Measure, for each number of bits, the first length at which something is answered wrong."""
    task = bench.task(TASK)
    least, most = bench.choose((4, 11), (4, 16))
    breaks = []
    for bits in range(least, most + 1):
        bench.report(f"{MODEL}, positions of {bits} bits")
        breaks.append(_until_it_breaks(bench, task, bits, lengths_for(bits)))
    bench.report(f"{MODEL}, positions in double precision")
    exact = _until_it_breaks(bench, task, 0, [2**bits for bits in range(1, most + 1)])
    rows = [
        {"position_bits": one.bits or "", **asdict(test)}
        for one in (*breaks, exact)
        for test in one.tests
    ]
    return Findings(rows, claims(breaks, exact), lambda: _draw(breaks), _REMARKS)


_REMARKS = (
    "The theorem is about every hard-attention network. Here it is shown for one, which rounds its "
    "positions i/n to multiples of 2^-b and computes everything else in double precision. It meets "
    "the bound, up to a constant number of bits.",
    "The break length is the largest tested length with no error up to it. Tested is every even "
    f"length up to {EVERY_LENGTH_TO}, {DRAWN} spread over those beyond, and every even one within "
    f"{NEAR} of 2^b.",
    "At each length 44 strings: ([])([])… and ()([])([])…, both with the two types exchanged as "
    f"well; each of these four with the type of one bracket changed, at {FLIPS} places; and 8 "
    "random strings, half of them members.",
)


def lengths_for(bits: int) -> list[int]:
    """Return the lengths to test, on both sides of 2^bits; even ones, as members are."""
    limit = 2**bits
    every = range(2, min(EVERY_LENGTH_TO, limit) + 1, 2)
    near = range(max(2, limit - NEAR), limit + NEAR + 1, 2)
    beyond = (
        spread_lengths(EVERY_LENGTH_TO, limit, DRAWN, even=True) if limit > EVERY_LENGTH_TO else []
    )
    return sorted({*every, *near, *beyond})


def _until_it_breaks(bench: Bench, task: Task, bits: int, lengths: Sequence[int]) -> Break:
    """Measure up to and with the first length at which an answer is wrong."""
    options: dict[str, Value] = {"position_bits": bits} if bits else {}

    def measure_them() -> list[dict[str, float]]:
        network = bench.network(MODEL, task, **options)
        tests = []
        for length in lengths:
            tests.append(measure(network, task, informative_strings(task, length)))
            if tests[-1].accuracy < 1:
                break
        return [asdict(test) for test in tests]

    step = {"model": MODEL, "options": options, "task": TASK, "lengths": list(lengths)}
    return Break(bits, tuple(MeasuredAt(**test) for test in bench.measured(step, measure_them)))


def informative_strings(task: Task, length: int) -> Symbols:
    """Return members whose neighbours must be told apart, their type flips, and random strings.

    Args:
        task: over two types of brackets, each close after its opening one.
        length: even.
    """
    # In ([]) the ] must not take ( for its neighbour, nor the ) the [: whichever two neighbouring
    # positions become one, one of the two alignments has them there.
    block, pair = np.array([0, 2, 3, 1]), np.array([0, 1])
    left = np.concatenate([np.tile(block, length // 4), pair[: length % 4]])
    right = np.concatenate([pair[: length % 4], np.tile(block, length // 4)])
    if length % 4 == 0:
        right = np.concatenate([pair, np.tile(block, length // 4 - 1), pair])
    members_BN = np.stack([left, right, (left + 2) % 4, (right + 2) % 4])
    places_F = np.unique(np.linspace(0, length - 1, FLIPS).round().astype(np.int64))
    flips_BN = np.repeat(members_BN, len(places_F), axis=0)
    rows, columns = np.arange(len(flips_BN)), np.tile(places_F, len(members_BN))
    flips_BN[rows, columns] = (flips_BN[rows, columns] + 2) % 4
    return np.concatenate([members_BN, flips_BN, random_strings(task, length, 8)])


def claims(found: Sequence[Break], exact: Break) -> list[Claim]:
    """Check the theorem."""
    bits = [float(one.bits) for one in found]
    lengths = [one.length for one in found]
    tokens = np.array(lengths) + 2  # with those that begin and end a string
    slope = float(np.polyfit(bits, np.log2(tokens), 1)[0])
    doubled = [one.length == 2**one.bits - 2 for one in found]
    ends = f"b = {found[0].bits}: {lengths[0]:,}; b = {found[-1].bits}: {lengths[-1]:,}"
    return [
        Claim(
            "for every tested b, positions of b bits break the network at some length",
            "Theorem 4.3: no o(log n) bits do",
            f"an error for each of b = {found[0].bits} … {found[-1].bits}",
            all(one.broken for one in found),
        ),
        Claim(
            "the break length doubles with every bit",
            "log n bits are needed (Theorem 4.3), O(log n) are enough (Theorem 4.1)",
            f"log₂ of it, in tokens, grows by {slope:.3f} a bit; {ends}",
            abs(slope - 1) < 0.05,
        ),
        Claim(
            "b bits are enough for as many tokens as there are distinct positions",
            "a vector of o(log n) bits cannot represent n positions uniquely (§4)",
            f"2^b - 2 brackets and the two tokens around them, for {sum(doubled)} of "
            f"{len(doubled)} b",
            all(doubled),
        ),
        Claim(
            "without rounding, the same network makes no error",
            "Theorem 4.1",
            f"no error up to {exact.length:,}, the longest tested",
            not exact.broken and exact.length >= max(lengths),
        ),
    ]


def _draw(found: Sequence[Break]) -> Figure:
    def tested(right: bool, color: str, label: str, style: str) -> Series:
        points = [
            (one.bits, test.length)
            for one in found
            for test in one.tests
            if (test.accuracy == 1) is right
        ]
        return Series([x for x, _ in points], [y for _, y in points], color, label, style)

    bits = [one.bits for one in found]
    lines = [
        Series(bits, [2**b for b in bits], GREY, "2ᵇ", "--", width=1),
        tested(True, BLUES[1], "tested, no error", "_"),
        Series(bits, [one.length for one in found], INK, "break length: no error up to here", "o-"),
        tested(False, RED, "first error", "x"),
    ]
    panel = Panel(
        lines,
        title="Dyck-(2, 2), three hard-attention layers",
        x="bits of a position, b",
        y="string length",
        log="y",
    )
    return Figure([[panel]])
