"""Table 1 of Chiang & Cholak (2022): translation, trained on all texts or on short ones alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean

from formalbench.contracts.config import Value
from formalbench.contracts.record import Record

from formalbench_papers.chiang_cholak import SOURCE
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import (
    Answer,
    Claim,
    Findings,
    TableCell,
    across,
    higher,
    seeds_row,
    seeds_text,
)
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
from formalbench_papers.framework.tables import text_task
from formalbench_papers.index import experiment

MODELS = {"baseline": "encoder-decoder", "scaled": "encoder-decoder-logn"}
"""By the names of the table."""

SHORT = 20
"""Words of a short text: the median of the paper's corpus."""

ALL, LONG = "train all, test all", f"train ≤ {SHORT}, test > {SHORT}"

PAPER: Mapping[tuple[str, str], float] = {
    ("baseline", ALL): 32.6,
    ("scaled", ALL): 32.5,
    ("baseline", LONG): 11.4,
    ("scaled", LONG): 12.4,
}
"""BLEU by model and column."""

TRAINED: Mapping[str, Mapping[str, Value]] = {ALL: {"whole": True}, LONG: {"longest": SHORT}}
"""What a column sets of the task."""

SMALL: Mapping[str, Value] = {"width": 128, "heads": 4, "layers": 2, "tied": True}
LARGE: Mapping[str, Value] = {
    **{"width": 512, "heads": 8, "layers": 6, "tied": True},
    **{"dropout": 0.3, "word_dropout": 0.1},
}
"""The defaults of the paper's code."""

SEEDS = {ALL: 1, LONG: 3}
"""At the scale ``quick``."""

CORPORA = {"quick": "debian-en-vi", "paper": "iwslt-en-vi"}
PROTOCOLS = {"quick": "chiang-cholak-table1-quick", "paper": "chiang-cholak-table1"}

ALIKE = 1.0
"""Points of BLEU that are no difference, where the paper has 0.1 and calls it not significant."""

Scores = Mapping[tuple[str, str], Mapping[int, float]]
"""BLEU by model and column, of each seed that finished."""


@experiment(
    "chiang-cholak-table1",
    "Translation, with attention logits scaled by log n and without",
    f"{SOURCE}, Table 1 and §4.4",
    about="BLEU of translations from English to Vietnamese: trained and tested on all texts, and "
    "trained on texts of at most 20 words (the paper: tokens) and tested on longer ones. Numbers "
    "on texts other than the paper's are `approx`: they are shown but not judged.",
    reduced="messages of Debian's programs and LibreOffice's help (`formalbench corpus fetch "
    "debian-en-vi`) instead of the talks of IWSLT'15; 4,096 tokens instead of 8,000; "
    "networks of width 128 with 4 heads and 2 + 2 blocks instead of 512, 8 and 6 + 6; "
    "without dropout; 2,500 steps of 1,024 tokens, about five passes over these texts, "
    "instead of 70,000 of 4,096; one seed for all texts instead of three.",
    core_hours=(3.3, 6500),
    figure=False,
)
def carry_out(bench: Bench) -> Findings:
    """Train both models on all texts and on short ones, and test them on all and on long ones."""
    task = text_task(bench, CORPORA[bench.scale], "translate")
    return findings(
        bench.train_each(
            {
                (model, column): _wanted(model, column, task, bench)
                for column in (LONG, ALL)
                for model in MODELS
            }
        )
    )


def _wanted(model: str, column: str, task: str, bench: Bench) -> CellPlan:
    """Return the runs of a cell."""
    return CellPlan(
        *(model, column, MODELS[model], task, PROTOCOLS[bench.scale]),
        model_options=bench.choose(SMALL, LARGE),
        task_options=TRAINED[column],
        seeds=bench.choose(SEEDS[column], None),
    )


def findings(got: Mapping[tuple[str, str], CellRecords]) -> Findings:
    """Make the table and check the claims.

    Args:
        got: what was trained, by model and column.
    """
    scores = {key: _by_seed(one) for key, one in got.items()}
    cells, rows = [], []
    for key in product(MODELS, (ALL, LONG)):
        seeds = list(scores.get(key, {}).values())
        holds: Answer = "approx" if seeds else None
        cells.append(TableCell(*key, f"{PAPER[key]:.1f}", seeds_text(seeds, 1), holds))
        rows.append(seeds_row(dict(zip(("model", "column"), key, strict=True)), PAPER[key], seeds))
    records = records_of(got.values())
    missing = {
        column: sum(one.unfinished for (_, other), one in got.items() if other == column)
        for column in (ALL, LONG)
    }
    near = {
        model: _by_seed(one, longer=False) for (model, column), one in got.items() if column == LONG
    }
    return Findings(
        rows, claims(scores, near, missing), None, (*REMARKS, *_signatures(records)), cells, records
    )


def _by_seed(cell: CellRecords, *, longer: bool = True) -> dict[int, float]:
    every = {run.seed: bleu_of(run, longer=longer) for run in cell.chosen}
    return {seed: bleu for seed, bleu in every.items() if bleu is not None}


def bleu_of(run: Record, *, longer: bool = True) -> float | None:
    """Return the BLEU of a run; 0 to 100.

    Args:
        run: which.
        longer: whether of the texts longer than those trained on or, without these, of all; else
            of texts as long as those trained on.
    """
    if run.test is None:
        return None
    cells = run.test.cells
    over = [group.startswith("over-") for group in cells.group or ()]
    index = over.index(longer) if longer in over else len(cells.length) - 1
    return 100 * cells.correct[index] / cells.asked[index]


def claims(
    scores: Scores, near: Mapping[str, Mapping[int, float]], missing: Mapping[str, int]
) -> list[Claim]:
    """Check the paper's two claims about its table.

    Args:
        scores: BLEU by model and column.
        near: of those trained on short texts, by model: on texts as short as these.
        missing: the number of seeds without a result, by column.
    """
    short, every = _differences(scores, LONG), _differences(scores, ALL)
    plain, scaled = (list(near.get(model, {}).values()) for model in MODELS)
    level = higher(plain, scaled)
    note = ""
    if plain and scaled:
        gap = fmean(scaled) - fmean(plain)
        note = f" (on texts of the training lengths {gap:+.1f} BLEU)"
    return [
        Claim(
            f"trained on texts of at most {SHORT} words, scaling by log n translates longer ones "
            "better",
            "1.0 BLEU better (p < 0.01)",
            f"{_by(short)}{note}",
            # Of models that differ on texts like those trained on, length is not the reason.
            across((difference > 0 for difference in short), missing[LONG])
            if level == "cannot tell" or not short
            else "cannot tell",
        ),
        Claim(
            "trained and tested on texts of the same lengths, scaling has no effect: at most "
            f"{ALIKE:g} point of BLEU, a limit of ours",
            "0.1 BLEU worse (not significant)",
            _by(every),
            across((abs(difference) <= ALIKE for difference in every), missing[ALL]),
        ),
    ]


def _differences(scores: Scores, column: str) -> list[float]:
    """Return by how much the scaled model is better than the other of its seed."""
    plain, scaled = (scores.get((model, column), {}) for model in MODELS)
    return [scaled[seed] - plain[seed] for seed in sorted(plain.keys() & scaled.keys())]


def _by(differences: Sequence[float]) -> str:
    return ", ".join(f"{one:+.1f} BLEU" for one in differences)


def _signatures(records: Sequence[Record]) -> list[str]:
    """Return how BLEU was computed."""
    signatures = {((one.test and one.test.signatures) or {}).get("bleu") for one in records}
    return [f"BLEU by sacrebleu: {one}." for one in sorted(filter(None, signatures))]


REMARKS = (
    "BLEU on other texts is not comparable, so none is compared with the paper's; the claims are "
    "about which model is better. The paper uses multi-bleu on tokenised text.",
    "As in the paper's code: pre-norm, one matrix shared by input embedding, output embedding and "
    "read-out, label smoothing of 0.1, and beam search with 4 beams. The scale paper also has its "
    "dropout (0.3; words 0.1) and its schedule by validation BLEU. The scale quick makes about "
    "five passes over the texts, without dropout, with a rate that falls linearly at the end. "
    "Initial weights are PyTorch's defaults here and Xavier's in the paper.",
    "The tokeniser is trained on all training texts in both columns; checkpoints are chosen by "
    "greedy BLEU on validation texts of the training lengths.",
    "If every seed of one model is above every seed of the other already on texts of the training "
    "lengths, longer texts cannot show the effect of scaling.",
    "If two models differ by chance alone, all of three seeds favour the same model a quarter of "
    "the time. `formalbench corpus compare` tests with a paired bootstrap over test texts whether "
    "the BLEU of two records differs.",
)
