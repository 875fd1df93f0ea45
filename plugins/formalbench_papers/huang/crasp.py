"""Huang et al. (2025), section 5: which languages transformers learn for longer strings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from formalbench.contracts.config import Value
from formalbench.documents.text import percent
from formalbench.host.host import read_table

from formalbench_papers.framework import scores
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Answer, Claim, Findings, at_least, below, every
from formalbench_papers.framework.runs import Got, Wanted
from formalbench_papers.framework.scores import Score
from formalbench_papers.huang import specs

_SHAPE: Mapping[str, Value] = {"causal": True, "layers": 2}
_LARGE: Mapping[str, Value] = {"causal": True, "layers": 4, "width": 256, "heads": 4}

POSITIONS: Mapping[str, Mapping[str, Value]] = {
    "NoPE": {"positions": "none"},
    # 101 first positions: a string of 50 then reaches every one that a string of 150 has.
    "APE": {"positions": "learned", "shifted": 101},
}

WINDOWS = {"51-100": range(51, 101), "101-150": range(101, 151)}

INSIDE = ("majority", "ab-or-bbaa", "subsequence-ab")
OUTSIDE = ("parity", "ab-or-aabb", "contains-ab")
"""Languages in C-RASP, and beside each one that is not."""

PROTOCOLS = {"quick": "huang-crasp-quick", "paper": "huang-crasp"}

PRINTED = ("majority", "parity")
"""Those that the paper prints numbers of."""

TASKS = tuple(task for pair in zip(INSIDE, OUTSIDE, strict=True) for task in pair)

GENERALIZED = 0.95
"""What a language that is learned reaches on longer strings; the paper's figure is read so."""

LEARNED = 0.99
"""On strings as long as those of the training: who has not learned them says nothing of longer."""

TABLE = read_table(specs.TABLE)

Key = tuple[str, str]
"""A task and positions."""


def carry_out(bench: Bench) -> Findings:
    """Train a model with and without positions on every language."""
    shape = bench.choose(_SHAPE, _LARGE)
    protocol = PROTOCOLS[bench.scale]
    wanted = [
        Wanted(task, kind, "transformer", task, protocol, {**shape, **POSITIONS[kind]})
        for task, kind in product(TASKS, POSITIONS)
    ]
    pairs = zip(wanted, bench.train(wanted), strict=True)
    return findings({(one.row, one.column): found for one, found in pairs if found is not None})


def findings(got: Mapping[Key, Got]) -> Findings:
    """Make the table and check the claims."""
    cells, rows = [], []
    for task, window, kind in product(PRINTED, WINDOWS, POSITIONS):
        found = got.get((task, kind))
        score = None if found is None else Score.of_window(found, WINDOWS[window])
        row = f"{task}, {window}"
        paper = TABLE.result(kind, row)
        cell = scores.cell(row, kind, paper, score)
        cells.append(cell)
        rows.append(scores.data(cell, paper, score, found))
    records = [record for found in got.values() for record in found.records]
    return Findings(rows, claims(got), None, _REMARKS, cells, records)


_REMARKS = (
    "The paper's models say the answer as the next symbol; ours have one read-out at the last "
    "symbol. Its tasks with whole strings as answers (sort, copy, addition) are not here: our "
    "models say such answers all at once.",
    "The paper's positions begin at a random first one, drawn anew for every string of every "
    "batch; here it is a function of the string.",
    "The languages other than majority and parity are from the suite `crasp`; those of the paper "
    "are Bhattamishra et al.'s, and it shows them in a figure.",
    f"A claim is about the models that learned strings of the training's lengths ({LEARNED:.0%} on "
    "validation): of the others it cannot be said what they do on longer ones.",
)


def claims(got: Mapping[Key, Got]) -> list[Claim]:
    """Hold what was found against the paper's conjecture and its numbers."""
    found: list[Claim] = []
    for task in INSIDE:
        found.append(_generalizes(got, task))
    for task in OUTSIDE:
        found.append(_does_not(got, task))
    return found


def _generalizes(got: Mapping[Key, Got], task: str) -> Claim:
    score = _longest(got, task)
    return Claim(
        f"{task} is in C-RASP: a transformer without positions that learned it reaches "
        f"{GENERALIZED:.0%} on 101-150 on average",
        _paper_says(task),
        _shown(got, task, score),
        _unless_unlearned(got, task, None if score is None else at_least(score, GENERALIZED)),
    )


def _does_not(got: Mapping[Key, Got], task: str) -> Claim:
    score = _longest(got, task)
    return Claim(
        f"{task} is not in C-RASP: a transformer without positions stays below "
        f"{GENERALIZED:.0%} on 101-150 on average",
        _paper_says(task),
        _shown(got, task, score),
        _unless_unlearned(got, task, None if score is None else below(score, GENERALIZED)),
    )


def _longest(got: Mapping[Key, Got], task: str) -> Score | None:
    found = got.get((task, "NoPE"))
    return None if found is None else Score.of_window(found, WINDOWS["101-150"])


def _unless_unlearned(got: Mapping[Key, Got], task: str, holds: Answer) -> Answer:
    """Return the answer, or that it cannot be told where the training lengths were not learned."""
    if holds is None:
        return None
    return holds if _learned(got, task) else "cannot tell"


def _learned(got: Mapping[Key, Got], task: str) -> bool:
    return every([at_least(Score.of_validation(got[task, "NoPE"]), LEARNED)]) is True


def _paper_says(task: str) -> str:
    if task not in PRINTED:
        return "the conjecture (no number)"
    return f"{TABLE.result('NoPE', f'{task}, 101-150').mean:.1f}"


def _shown(got: Mapping[Key, Got], task: str, score: Score | None) -> str:
    if score is None:
        return ""
    learned = Score.of_validation(got[task, "NoPE"])
    return (
        f"{percent(score.mean)} ({percent(learned.mean)} on the training's lengths; "
        f"{score.outcome})"
    )
