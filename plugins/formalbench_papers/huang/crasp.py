"""Huang et al. (2025), section 5: which languages transformers learn for longer strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from formalbench.contracts.config import Value
from formalbench.documents.text import percent

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Answer, Claim, Findings, at_least, below
from formalbench_papers.framework.runs import LEARNED, CellPlan, CellRecords, records_of
from formalbench_papers.framework.scores import Score
from formalbench_papers.framework.tables import RULE, judged, published
from formalbench_papers.index import experiment

_SHAPE: dict[str, Value] = {"causal": True, "layers": 2}
_LARGE: dict[str, Value] = {"causal": True, "layers": 4, "width": 256, "heads": 4}

POSITIONS: dict[str, dict[str, Value]] = {
    "NoPE": {"positions": "none"},
    # 101 first positions: a string of 50 then reaches every one that a string of 150 has.
    "APE": {"positions": "learned", "shifted": 101},
}

WINDOWS = {"51-100": range(51, 101), "101-150": range(101, 151)}
INSIDE = ("majority", "ab-or-bbaa", "subsequence-ab")
OUTSIDE = ("parity", "ab-or-aabb", "contains-ab")
"""Pairs of similar languages, one in C-RASP and one not."""

PROTOCOLS = {"quick": "huang-crasp-quick", "paper": "huang-crasp"}

PRINTED = ("majority", "parity")
"""Those that the paper prints numbers of."""

TASKS = tuple(task for pair in zip(INSIDE, OUTSIDE, strict=True) for task in pair)

GENERALIZED = 0.95
"""What a language that is learned reaches on longer strings; the paper's figure is read so."""

TABLE = published("huang-2025-length-generalization")

Key = tuple[str, str]
"""A task and positions."""


@experiment(
    "huang-crasp",
    "Transformers on longer strings of languages inside and outside of C-RASP",
    "Huang et al. (2025), A Formal Framework for Understanding Length Generalization in "
    "Transformers, section 5; the languages from Yang, Veseli et al. (2026)",
    about="Accuracy of causal transformers on 51-100 and 101-150 symbols after training on at "
    "most 50, without positions (NoPE) and with learned positions that begin at any of them "
    "(APE): "
    "the average over seeds, in percent; ours with its interval and the number of seeds. "
    "The paper prints numbers for majority and parity only. Other claims compare pairs of "
    f"similar languages, of which one is in C-RASP and the other is not. {RULE}",
    reduced="two layers of width 64 and at most 3,000 steps, half of them on lengths that grow as "
    "the network learns, instead of the smallest of several sizes and 30,000; one learning "
    "rate; 20 test lengths with 256 strings each instead of every length.",
    core_hours=(1.3, None),
    figure=False,
)
def carry_out(bench: Bench) -> Findings:
    """Train a model with and without positions on every language."""
    shape = bench.choose(_SHAPE, _LARGE)
    protocol = PROTOCOLS[bench.scale]
    plans = {
        (task, kind): CellPlan(
            *(task, kind, "transformer", task, protocol, shape | POSITIONS[kind]),
            reduced=bench.scale == "quick",
        )
        for task, kind in product(TASKS, POSITIONS)
    }
    got = bench.train_each(plans)
    places = []
    for task, window, kind in product(PRINTED, WINDOWS, POSITIONS):
        cell, row = got.get((task, kind)), f"{task}, {window}"
        score = None if cell is None else Score.of_window(cell, WINDOWS[window])
        places.append((row, kind, TABLE.result(kind, row), score, cell))
    cells, rows = judged(places)
    return Findings(rows, claims(got), None, _REMARKS, cells, records_of(got.values()))


_REMARKS = (
    "The paper's models generate the answer as the next symbol; ours have one read-out at the last "
    "symbol. Its tasks with whole strings as answers (sort, copy, addition) are left out, because "
    "our models give such answers in one step.",
    "In the paper each string of each batch gets a random first position; here the first position "
    "is a function of the string.",
    "The languages other than majority and parity are from the suite `crasp`; the paper uses those "
    "of Bhattamishra et al. and shows them in a figure.",
    f"A claim is judged by the models that learned the training lengths ({LEARNED:.0%} on "
    "validation); the others say nothing about longer strings.",
)


def claims(got: Mapping[Key, CellRecords]) -> list[Claim]:
    """Check the paper's conjecture and its numbers."""

    def claim(task: str, statement: str, judge: Callable[[Score, float], Answer]) -> Claim:
        printed = task in PRINTED
        paper = (
            f"{TABLE.result('NoPE', f'{task}, 101-150').mean:.1f}"
            if printed
            else "the conjecture (no number)"
        )
        text = f"{task} is {statement} {GENERALIZED:.0%} on 101-150 on average"
        if (cell := got.get((task, "NoPE"))) is None:
            return Claim(text, paper, "", None)
        score, learned = Score.of_window(cell, WINDOWS["101-150"]), Score.of_validation(cell)
        ours = (
            f"{percent(score.mean)} ({percent(learned.mean)} on the training's lengths; "
            f"{score.outcome})"
        )
        # Of what did not learn the training lengths nothing can be said.
        holds = judge(score, GENERALIZED) if at_least(learned, LEARNED) is True else "cannot tell"
        return Claim(text, paper, ours, holds)

    inside = "in C-RASP: a transformer without positions that learned it reaches"
    outside = "not in C-RASP: a transformer without positions stays below"
    return [
        *(claim(task, inside, at_least) for task in INSIDE),
        *(claim(task, outside, below) for task in OUTSIDE),
    ]
