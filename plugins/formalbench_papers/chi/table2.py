"""Table 2 of Chi et al. (2023): PARITY with 1s more or less probable than 0s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from formalbench.analysis.reproduced import Verdict, count_verdicts
from formalbench.analysis.text import percent
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import cell_lengths
from formalbench.host.tables import read_table

from formalbench_papers.chi.models import REGULARGPT, REMARKS, RNN, TRANSFORMER, on_parameters
from formalbench_papers.chi.specs import TABLES
from formalbench_papers.framework import accuracies
from formalbench_papers.framework.accuracies import Score
from formalbench_papers.framework.answers import at_least, every, opposite
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Claim, Findings
from formalbench_papers.framework.retest import draw_strings, retest
from formalbench_papers.framework.runs import Got, Wanted

MODELS = {"RegularGPT": REGULARGPT, "RNN": RNN, "Transformer": TRANSFORMER}
"""By the names of the table."""

PROTOCOLS = {"quick": "quick", "paper": "chi-table1"}

PROBABILITIES = (0.5, 0.1, 0.9, 0.3, 0.7)
"""Of a 1, the most telling first."""

SAME, FURTHER = "same length", "extrapolation"
AT_HALF = ", trained at 0.5"
SETTINGS = (SAME, FURTHER, f"{SAME}{AT_HALF}", f"{FURTHER}{AT_HALF}")
"""Trained on strings with as many 1s as those of the test; and on strings with half of them."""

LENGTH = 40
SAME_STRINGS, STRINGS = 1024, 64
"""Strings of `LENGTH`, and of each longer length, for models trained at 0.5."""

PERFECT = 0.99

CHANCE, NEAR = 50.0, 1.0
"""Of PARITY, in percent, and how close to it a number of the paper is no other."""

TABLE = read_table(TABLES[1])

Key = tuple[str, str, float]
"""A setting, a model and a probability."""


def carry_out(bench: Bench) -> Findings:
    """Train every model at every probability, and test those trained at 0.5 at the others."""
    wanted = [
        Wanted(
            model,
            _column(p),
            used.name,
            "parity",
            PROTOCOLS[bench.scale],
            used.options(bench.scale),
            {"p": p},
        )
        for p in PROBABILITIES
        for model, used in MODELS.items()
    ]
    held = bench.train(wanted)
    got: dict[tuple[str, float], Got] = {}
    for (p, model), found in zip(product(PROBABILITIES, MODELS), held, strict=True):
        if found is not None:
            got[model, p] = found
    scores: dict[Key, Score] = {}
    for (model, p), found in got.items():
        scores[SAME, model, p] = Score.of_validation(found)
        scores[FURTHER, model, p] = Score.of_test(found)
    return findings(got, {**scores, **_trained_at_half(bench, got)})


def _trained_at_half(bench: Bench, got: Mapping[tuple[str, float], Got]) -> dict[Key, Score]:
    """Test the models that were trained at 0.5 on strings of every probability."""
    protocol = bench.host.protocol(PROTOCOLS[bench.scale])
    scores: dict[Key, Score] = {}
    for p in PROBABILITIES:
        task: Task = bench.host.task("parity", {} if p == 0.5 else {"p": p})
        lengths = cell_lengths(task, protocol)
        same = draw_strings(task, [LENGTH], SAME_STRINGS)
        further = draw_strings(task, lengths, STRINGS)
        for model in MODELS:
            if (model, 0.5) not in got:
                continue
            bench.report(f"{model}, trained at 0.5, tested at {p:g}")
            for setting, cells in ((SAME, same), (FURTHER, further)):
                score = retest(bench, got[model, 0.5], task, cells)
                if score is not None:
                    scores[f"{setting}{AT_HALF}", model, p] = score
    return scores


def findings(
    got: Mapping[tuple[str, float], Got],
    scores: Mapping[Key, Score],
) -> Findings:
    """Make the table and check the claims.

    Args:
        got: what was trained, by model and probability.
        scores: what is known of it.
    """
    cells, rows, telling = [], [], []
    for setting, model, p in product(SETTINGS, MODELS, sorted(PROBABILITIES)):
        score = scores.get((setting, model, p))
        trained = 0.5 if setting.endswith(AT_HALF) else p
        paper = TABLE.result(model, f"{setting.removesuffix(AT_HALF)}, p={p:g}")
        cell = accuracies.cell(f"{setting}, {model}", _column(p), paper, score)
        cells.append(cell)
        if _can_tell(paper.mean):
            telling.append(cell.verdict)
        rows.append(accuracies.data(cell, paper, score, got.get((model, trained))))
    records = [record for found in got.values() for record in found.records]
    titles = {used.name: model for model, used in MODELS.items()}
    remarks = (_apart(telling), *_REMARKS, on_parameters(records, titles), *REMARKS)
    return Findings(rows, claims(scores), None, remarks, cells, records)


def _can_tell(paper: float | None) -> bool:
    """Say whether a number of the table is neither 100 nor chance, in percent.

    Any model that solves PARITY repeats the one, any that guesses the other, so such cells say
    nothing of how like the paper's models ours are.
    """
    return paper is not None and CHANCE + NEAR < paper < 100.0


def _apart(verdicts: Sequence[Verdict]) -> str:
    return (
        "In most cells the paper's number is 100.0 or chance, which any model has that solves "
        f"PARITY or guesses. Of the {len(verdicts)} cells with another number, which can tell "
        f"whether ours is like the paper's, {count_verdicts(verdicts)}."
    )


_REMARKS = (
    "Whether P(1) differs in training, in testing or in both is not said: §5.3 only alters “the "
    "probability of sampling 1s”, §2.2 blames sums that were not seen in training. So both "
    "are shown: trained and tested at P(1), and trained at 0.5 and tested at P(1).",
    "“Same length” is length 40 in the paper, and here for models trained at 0.5 "
    f"({SAME_STRINGS:,} strings). For models trained at P(1) it is the validation of the tested "
    "checkpoint: fresh strings of lengths spread over 1–40. The checkpoint was chosen on them, "
    "so these numbers are a little too good; those on longer strings are not.",
    f"Models trained at 0.5 are tested on {STRINGS} longer strings a length.",
    "With P(1) other than 0.5, bits are independent and the classes come as they come. At length "
    "40 and beyond they are as good as balanced; among short strings of few 1s most are even.",
)


def _column(p: float) -> str:
    return f"P(1) = {p:g}"


def claims(scores: Mapping[Key, Score]) -> list[Claim]:
    """Hold what was found against what the paper says about its table."""
    robust = product(SETTINGS, ("RegularGPT", "RNN"))
    return [
        *(_is_robust(setting, model, scores) for setting, model in robust),
        _struggles(SAME, scores),
        _struggles(f"{SAME}{AT_HALF}", scores),
        _does_not_extrapolate(FURTHER, scores),
        _does_not_extrapolate(f"{FURTHER}{AT_HALF}", scores),
    ]


def _of(scores: Mapping[Key, Score], setting: str, model: str) -> dict[float, Score]:
    every = {p: scores.get((setting, model, p)) for p in sorted(PROBABILITIES)}
    return {p: score for p, score in every.items() if score is not None}


def _is_robust(setting: str, model: str, scores: Mapping[Key, Score]) -> Claim:
    found = _of(scores, setting, model)
    return Claim(
        f"{model}, {setting}: 99 % on average at every P(1)",
        "100.0 everywhere",
        _least(found),
        every(at_least(score, PERFECT) for score in found.values()),
    )


def _struggles(setting: str, scores: Mapping[Key, Score]) -> Claim:
    found = _of(scores, setting, "Transformer")
    return Claim(
        f"the Transformer, {setting}: not 99 % on average at every P(1)",
        "77.2 at least (P(1) = 0.9); “struggles … even for the same length”",
        _least(found),
        opposite(every(at_least(score, PERFECT) for score in found.values())),
    )


def _does_not_extrapolate(setting: str, scores: Mapping[Key, Score]) -> Claim:
    found = _of(scores, setting, "Transformer")
    away = [p for p, score in found.items() if score.at_chance in (False, None)]
    shown = ", ".join(f"{percent(score.mean)} at {p:g}" for p, score in found.items())
    return Claim(
        f"the Transformer, {setting}: at chance at every P(1) (within 2 points of it, and 0 "
        "within the interval of its scaled accuracy)",
        "49.7 to 50.3",
        f"{shown}{_not_at_chance(away)}" if found else "",
        every(score.at_chance or False for score in found.values()),
    )


def _not_at_chance(away: Sequence[float]) -> str:
    return f"; not at chance at {', '.join(f'{p:g}' for p in away)}" if away else ""


def _least(found: Mapping[float, Score]) -> str:
    if not found:
        return ""
    worst = min(found, key=lambda p: found[p].mean or 0.0)
    score = found[worst]
    interval = f"{percent(score.low)}–{percent(score.high)}; {score.outcome}"
    return f"{percent(score.mean or 0.0)} at least (P(1) = {worst:g}; {interval})"
