"""Constructions trained with and without layer norm, as by Steffen, Glaus & Saeedi (2022), §5.

The weights begin as written by hand and are then all trained, one network for each string length.

Source of the networks: the report, §4, and its code (bglaus/AFLT-Project-Dyck-Self-Attention), with
layer norm and without. Positions i are counted from 1, CLS first, and k is the number of closing
minus that of opening brackets up to i.

The first layer finds k/i and 1/i by attention to what came before, then I[k = 0]/i, I[k > 0]/i and,
if depth is bounded, I[-k > D]/i; the second I[k = 0 and i = n]/i. The output is the sum over all
positions of the last minus twice each fault: 1/n for members, 0 or less for others.

Legend: B strings, N positions (CLS included), W width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
import torch
from formalbench.contracts.config import Value
from formalbench.contracts.network import Batch, Example
from formalbench.contracts.task import Task
from formalbench.documents.charts import BLUES, RED
from formalbench.documents.text import percent
from formalbench.statistics.intervals import RunAccuracy
from torch import Tensor, nn

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import (
    Answer,
    Claim,
    Findings,
    Row,
    at_least,
    every,
    higher,
)
from formalbench_papers.framework.curves import (
    MeasuredAt,
    mean_of,
    measure,
    random_strings,
    train_and_test,
)
from formalbench_papers.framework.scores import score_of
from formalbench_papers.index import experiment
from formalbench_papers.steffen import SOURCE
from formalbench_papers.steffen.dyck import (
    FEWEST,
    LEARNED,
    LENGTHS,
    RULE,
    Curves,
    DyckPoint,
    Published,
    cells,
    draw_points,
    first_alone,
    members,
    paired,
)

HEADS = 2
"""Of which the second has no weights to begin with."""


class AuthorsNetwork(nn.Module):
    """Recognises a language of one type of brackets; all weights but the embedding are trained.

    Args:
        deepest: D; None for Dyck-1.
        norm: whether to have layer norm after each branch; then a second half of the stream is the
            first one negated, which keeps its mean at 0.
    """

    embedding: Tensor

    def __init__(self, deepest: int | None = None, *, norm: bool = False) -> None:
        super().__init__()
        bounded = deepest is not None
        self.deepest = deepest
        half = 12 if bounded else 10
        width = 2 * half if norm else half
        self.register_buffer("embedding", torch.eye(3, half))  # (, ) and CLS
        self.first = AuthorsLayer(width, 5 if bounded else 3, norm=norm)
        self.second = AuthorsLayer(width, 1, norm=norm)
        self.answer = nn.Linear(width, 1)
        for weight in (self.answer.weight, self.answer.bias):
            nn.init.zeros_(weight)
        # Where the stream has k/i, 1/i, I[k = 0]/i and I[k > 0]/i.
        count, inverse, none, more = (6, 5, 7, 8) if bounded else (4, 5, 7, 6)
        with torch.no_grad():
            self._write_first(count, inverse, none, more, bounded=bounded)
            last = 10 if bounded else 8
            self.second.up.weight[0, [0, 1, 2, 3, none]] = torch.tensor([-1.0, -1, -1, 1, 1])
            self.second.down.weight[last, 0] = 1
            if norm:
                self.first.negate(half)
                self.second.down.weight[half + last, 0] = 1  # not negated, as in their code
            self.answer.weight[0, last] = 1
            self.answer.weight[0, [more, 9] if bounded else [more]] = -2

    def _write_first(
        self, count: int, inverse: int, none: int, more: int, *, bounded: bool
    ) -> None:
        attention, up, down = self.first.attention, self.first.up.weight, self.first.down.weight
        values = attention.in_proj_weight[2 * attention.embed_dim :]
        counting, marking = (1, 0) if bounded else (0, 1)
        values[counting, :2] = torch.tensor([-1.0, 1.0])
        values[marking, 2] = 1
        attention.out_proj.weight[count, counting] = 1
        attention.out_proj.weight[inverse, marking] = 1
        up[:3, count] = 1  # k + 1, k and k - 1, over i
        up[:3, inverse] = torch.tensor([1.0, 0, -1])
        down[none, :3] = torch.tensor([1.0, -2, 1])
        down[more, :3] = torch.tensor([0.0, 1, -1])
        if bounded:
            up[3:, [4, count]] = -1  # -k - D and -k - D - 1, over i
            up[4, inverse] = -1
            down[9, 3:] = torch.tensor([1.0, -1.0])

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of non-members, 0, and of members; (B, 2)."""
        strings_BN = nn.functional.pad(batch.symbols, (1, 0), value=2)
        x_BNW = self.embedding[strings_BN]
        length = strings_BN.shape[1]
        x_BNW[:, -1, 3] = 1
        if self.deepest is not None:
            places_N = torch.arange(1, length + 1, dtype=x_BNW.dtype, device=x_BNW.device)
            x_BNW[:, :, 4] = self.deepest / places_N
        if self.answer.in_features > x_BNW.shape[2]:
            x_BNW = torch.cat((x_BNW, -x_BNW), dim=-1)
        hidden_NN = nn.Transformer.generate_square_subsequent_mask(
            length, device=x_BNW.device, dtype=x_BNW.dtype
        )
        x_BNW = self.second(self.first(x_BNW, hidden_NN), None)
        logits_B = self.answer(x_BNW).sum((1, 2))
        return torch.stack((torch.zeros_like(logits_B), logits_B), dim=-1)


class AuthorsLayer(nn.Module):
    """PyTorch's encoder layer with ReLU, all weights 0, and layer norm left out unless asked for.

    Args:
        width: W.
        hidden: units of the feed-forward network.
        norm: whether to have layer norm after each branch, with ε = 10⁻⁵.
    """

    def __init__(self, width: int, hidden: int, *, norm: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, HEADS, batch_first=True)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        for weight in self.parameters():
            nn.init.zeros_(weight)
        self.norms = nn.ModuleList(nn.LayerNorm(width) if norm else nn.Identity() for _ in range(2))

    def negate(self, half: int) -> None:
        """Let the second half of the stream get the first half's additions, negated."""
        for weight in (self.attention.out_proj.weight, self.down.weight):
            weight[half:] = -weight[:half]

    def forward(self, x_BNW: Tensor, hidden_NN: Tensor | None) -> Tensor:
        """Return the stream after it, (B, N, W).

        Args:
            x_BNW: the stream.
            hidden_NN: added to the logits of attention; None for nothing.
        """
        read_BNW, _ = self.attention(x_BNW, x_BNW, x_BNW, attn_mask=hidden_NN, need_weights=False)
        x_BNW = self.norms[0](x_BNW + read_BNW)
        result_BNW: Tensor = self.norms[1](x_BNW + self.down(self.up(x_BNW).relu()))
        return result_BNW


LANGUAGES = {"dyck-1": "Dyck-1", "dyck-1-3": "Dyck-(1, 3)"}
DEEPEST = {"dyck-1": None, "dyck-1-3": 3}
PLAIN, NORMED = "without layer norm", "with layer norm"

NETWORK = "AuthorsNetwork, version 1"
"""Another number measures everything again."""

COLORS = {PLAIN: RED, NORMED: BLUES[3]}

PUBLISHED: Published = {
    ("dyck-1", PLAIN): (
        *((1.0, 0.0), (1.0, 0.0), (1.0, 0.001), (1.0, 0.0014)),
        *((1.0, 0.0121), (0.976, 0.2738), (0.888, 0.4292), (0.643, 0.8707)),
    ),
    ("dyck-1", NORMED): (
        *((1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 0.0001)),
        *((1.0, 0.0002), (1.0, 0.0003), (1.0, 0.0034), (0.647, 0.8516)),
    ),
    ("dyck-1-3", PLAIN): (
        *((1.0, 0.0), (1.0, 0.0), (1.0, 0.0001), (1.0, 0.0016)),
        *((1.0, 0.0376), (0.705, 0.8161), (0.602, 0.9502), (0.573, 1.0113)),
    ),
    ("dyck-1-3", NORMED): (
        *((1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 0.0001)),
        *((1.0, 0.0003), (1.0, 0.0024), (0.718, 0.7576), (0.495, 1.0289)),
    ),
}
"""The authors' accuracy and cross-entropy in bits at each of `LENGTHS`, from the outputs in their
repository (bglaus/AFLT-Project-Dyck-Self-Attention, src/resultsImpr…Train): one run, the mean over
its last ten epochs of 100 test strings each."""

STANDARD_FAILS = (50, 76)
"""Lengths that the authors' constructions learn and their standard transformer does not."""

RATE = 3e-4
STEPS = 15_000
EPOCH = 100
"""Updates, and strings of a test."""

LAST = 10
"""Epochs at the end of the training that are tested."""


@experiment(
    "steffen-learnability",
    "Constructions for Dyck-1 and Dyck-(1, 3), trained with and without layer norm",
    f"{SOURCE} (slides and report), report, Figures 3 and 4",
    about="Cross-entropy and accuracy of constructions that were trained further on strings of "
    "one length, with and without layer norm, against that length. Lines: the mean over "
    "the seeds; hollow marks: the authors' run; dashed: chance.",
    reduced="lengths 50 and 100 instead of six from 26 to 200, and two seeds instead of three.",
    core_hours=(0.4, 2.0),
)
def carry_out(bench: Bench) -> Findings:
    """Train each construction at every length with enough members."""
    curves: Curves = {}
    rows: list[Row] = []
    for task, length, how in _settings(bench.choose((50, 100), LENGTHS)):
        seeds = range(bench.choose(2, 3))
        tests = [_trained(bench, task, length, how, seed) for seed in seeds]
        point = _point(task, how, tests)
        curves.setdefault((task, how), []).append(point)
        rows += _rows(task, how, tests)
    return Findings(
        rows,
        claims(curves),
        lambda: draw_points(curves, PUBLISHED, LANGUAGES, COLORS, "{}"),
        _REMARKS,
        cells(curves, PUBLISHED, LANGUAGES),
    )


def _settings(lengths: Sequence[int]) -> Iterator[tuple[str, int, str]]:
    """Name every task, length and construction, the shortest strings first."""
    for length in lengths:
        for task in LANGUAGES:
            if members(task, length) >= FEWEST:
                yield from ((task, length, how) for how in (PLAIN, NORMED))


def _trained(bench: Bench, name: str, length: int, how: str, seed: int) -> MeasuredAt:
    """Return what a trained construction does over its last epochs; train it if nobody did."""
    bench.report(f"{LANGUAGES[name]} {how}, length {length}, seed {seed}")
    options: dict[str, Value] = {"outside": "changed", "split": "by-string"}
    step = {
        **{"network": NETWORK, "norm": how == NORMED, "task": name},
        **{"task_options": options, "find": "training", "length": length, "seed": seed},
        **{"steps": STEPS, "rate": RATE, "tests": LAST, "strings": EPOCH},
    }

    def train() -> dict[str, float | int]:
        task: Task = bench.host.task(name, options)
        network = AuthorsNetwork(DEEPEST[name], norm=how == NORMED)
        return asdict(_train(network, task, length, seed))

    return MeasuredAt(**bench.measured(step, train))


def _train(network: nn.Module, task: Task, length: int, seed: int) -> MeasuredAt:
    """Train a network on one string per update; return the mean of the tests of its last epochs."""
    source = task.of("train")
    tests_BN = random_strings(task.of("test"), length, LAST * EPOCH)
    by_epoch: dict[int, Example] = {}

    def example_of(step: int) -> Example:
        epoch, place = divmod(step, EPOCH)
        if epoch not in by_epoch:  # a hundred strings take little longer than one
            stream = task.stream("reproduce", "learnability", length, seed, epoch)
            order_B = np.argsort(stream.child("order").integers(1 << 32, EPOCH))
            by_epoch.clear()
            by_epoch[epoch] = source.sample(stream, length, EPOCH).rows(order_B)
        return by_epoch[epoch].rows(slice(place, place + 1))

    def test_of(step: int) -> MeasuredAt:
        first = (STEPS - step) // EPOCH * EPOCH
        return measure(network, task, tests_BN[first : first + EPOCH])

    marks = range(STEPS - (LAST - 1) * EPOCH, STEPS + 1, EPOCH)
    courses = train_and_test(network, task, example_of, test_of, STEPS, marks, RATE)
    return mean_of([test for _, test in courses])


def _point(task: str, how: str, tests: Sequence[MeasuredAt]) -> DyckPoint:
    length = tests[0].length
    runs = [RunAccuracy(test.accuracy, test.strings) for test in tests]
    return DyckPoint(
        length,
        score_of(runs, 0.5, ("learnability", task, how, str(length))),
        tuple(test.accuracy for test in tests),
        tuple(test.mean_bits for test in tests),
    )


def _rows(task: str, how: str, tests: Sequence[MeasuredAt]) -> Iterator[Row]:
    for seed, test in enumerate(tests):
        accuracy, bits = PUBLISHED[task, how][LENGTHS.index(test.length)]
        yield {
            **{"task": task, "construction": how, "seed": seed, **asdict(test)},
            **{"paper_accuracy": accuracy, "paper_bits": bits},
        }


def claims(curves: Curves) -> list[Claim]:
    """Check the report's claims about Figures 3 and 4."""
    return [
        claim
        for task in LANGUAGES
        for claim in (_learns_longer(curves, task), _lowers(curves, task), _beats(curves, task))
    ]


def _learns_longer(curves: Curves, task: str) -> Claim:
    pairs = paired(curves, task, PLAIN, NORMED)
    learned = [
        tuple(at_least(point.score, LEARNED) for point in reversed(pair)) for pair in pairs.values()
    ]
    return Claim(
        f"{LANGUAGES[task]}: layer norm improves learnability: there is a length at which the "
        f"construction reaches {LEARNED:.0%} with it alone",
        "report, §5 and §6; slides, Conclusions",
        "; ".join(
            f"n = {length}: {percent(normed.score.mean)} with, {percent(plain.score.mean)} without"
            for length, (plain, normed) in pairs.items()
        ),
        first_alone(learned),
    )


def _lowers(curves: Curves, task: str) -> Claim:
    pairs = paired(curves, task, PLAIN, NORMED)
    learned = {
        length: pair for length, pair in pairs.items() if at_least(pair[0].score, LEARNED) is True
    }
    holds: Answer = "cannot tell" if pairs else None
    if learned:
        holds = every(higher(plain.bits, normed.bits) for plain, normed in learned.values())
    return Claim(
        f"{LANGUAGES[task]}: layer norm lowers the cross-entropy at every length that is learned "
        f"without it ({LEARNED:.0%} in every seed)",
        "report, §6",
        "; ".join(
            f"n = {length}: {normed.mean_bits:.2g} bits with, {plain.mean_bits:.2g} without"
            for length, (plain, normed) in learned.items()
        )
        or ("no such length" if pairs else ""),
        holds,
    )


def _beats(curves: Curves, task: str) -> Claim:
    points = [one for one in curves.get((task, PLAIN), ()) if one.length in STANDARD_FAILS]
    return Claim(
        f"{LANGUAGES[task]}: without layer norm, too, the construction learns strings that a "
        f"standard transformer does not: {LEARNED:.0%} at n = 50 and 76",
        "report, §5; a standard transformer: 52.5 and 51.7 % (Dyck-1)",
        "; ".join(f"n = {point.length}: {point.text}" for point in points),
        every(at_least(point.score, LEARNED) for point in points),
    )


_REMARKS = (
    "The networks are those of the authors' code, in single precision as there: the same weights, "
    "all of which are trained but for the embedding; 15,000 updates of one string, Adam at 0.0003, "
    "ε = 10⁻⁵. The report (§4) prints the same weights but for the output, where it subtracts each "
    "fault once and the code twice. Some units stand at the kink of ReLU to begin with, so that "
    "rounding decides whether they have a gradient.",
    "Numbers are means over the last ten tests, after every 100 updates, of 100 strings each, as "
    "in the authors' code. The authors have one run.",
    "Non-members are members with one symbol changed. Training and test strings are kept apart by "
    f"a hash; lengths with fewer than {FEWEST} members are left out, as in `steffen-dyck`.",
    RULE,
)
