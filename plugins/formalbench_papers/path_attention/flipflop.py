"""Table 1 of Yang et al. (2025): one layer of attention of four kinds on flip-flop strings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from formalbench.contracts.config import Value
from formalbench.documents.text import percent
from formalbench.metrics.answers import ANSWERS

from formalbench_papers.framework.bench import Bench, draw_strings, retest
from formalbench_papers.framework.claims import (
    Claim,
    Findings,
    at_least,
    at_worst,
    below,
    every,
    rises,
)
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
from formalbench_papers.framework.scores import Score
from formalbench_papers.framework.tables import RULE, judged, published
from formalbench_papers.index import experiment

TASK = "flip-flop"

KINDS = {TASK: 0.8, f"{TASK}, sparse": 0.98, f"{TASK}, dense": 0.1}
"""By the share of instructions that are ignored; the first is trained on."""

_SIZE: Mapping[str, Value] = {"layers": 1, "heads": 2, "width": 64, "causal": True}

MODELS: dict[str, Mapping[str, Value]] = {
    "RoPE": {**_SIZE, "positions": "rope"},
    "stick-breaking": {**_SIZE, "positions": "none", "attention": "stick-breaking"},
    "FoX": {**_SIZE, "positions": "none", "forget": True},
    "PaTH": {**_SIZE, "positions": "path"},
}

PROTOCOLS = {"quick": "path-flipflop-quick", "paper": "path-flipflop"}
LENGTHS = {"quick": 128, "paper": 512}
STRINGS = {"quick": 1024, "paper": 4096}

GUESSING = 0.5
"""A bit is 1 as often as 0."""

PERFECT = 0.99
SUBSTANTIAL = 0.20
FAILING = 0.80
"""The paper's others are at 63.7 % at most."""

TABLE = published("yang-2025-path-table-1")

Key = tuple[str, str]
"""A model and a kind of strings."""


@experiment(
    "path-flipflop",
    "The last bit written, read by PaTH and by other attention",
    "Yang et al. (2025), PaTH Attention: Position Encoding via Accumulating Householder "
    "Transformations, Table 1; the task from Liu et al. (2023)",
    about="The share of bits read right, in percent, by one layer of attention with two heads "
    "and width 64, on strings like those in training (80 % of instructions are ignored) and on "
    "sparser (98 %) and denser (10 %) ones. The paper prints errors. Averages over seeds; ours "
    f"with an interval and the number of seeds. {RULE}",
    reduced="strings of 128 symbols instead of 512, at most 3,000 steps of 32, one learning rate, "
    "1,024 test strings of each kind instead of 4,096.",
    core_hours=(0.9, None),
    figure=False,
    inside=True,
)
def carry_out(bench: Bench) -> Findings:
    """Train every model on one kind of strings, and test it on all of them."""
    protocol = PROTOCOLS[bench.scale]
    got = bench.train_each(
        {
            model: CellPlan(
                *(model, TASK, "transformer", TASK, protocol, options),
                reduced=bench.scale == "quick",
            )
            for model, options in reversed(MODELS.items())
        }
    )
    scores = _tested(bench, got)
    cells, rows = judged(
        (model, kind, TABLE.result(model, kind), scores.get((model, kind)), got.get(model))
        for model, kind in product(MODELS, KINDS)
    )
    return Findings(rows, claims(scores), None, _REMARKS, cells, records_of(got.values()))


def _tested(bench: Bench, records: Mapping[str, CellRecords]) -> dict[Key, Score]:
    """Test what was trained on strings of every kind."""
    length, strings = LENGTHS[bench.scale], STRINGS[bench.scale]
    scores: dict[Key, Score] = {}
    for kind, ignored in KINDS.items():
        task = bench.host.task(TASK, {} if ignored == KINDS[TASK] else {"ignored": ignored})
        cells = draw_strings(task, [length], strings)
        for model, runs in records.items():
            bench.report(f"{model} on {kind}")
            score = retest(bench, runs, task, cells, (ANSWERS, GUESSING))
            if score is not None:
                scores[model, kind] = score
    return scores


_REMARKS = (
    "We found no steps, batch size or rate in the paper; the scale paper uses those of Liu et al. "
    "(2023), with two rates.",
    "The network only predicts the bit after every read. A language model would also be trained to "
    "predict every other symbol, most of which are random.",
    "The first kind of test strings has the distribution of the training strings, but new samples. "
    "At 512 symbols no training string recurs, and at 128 almost none.",
)


def claims(scores: Mapping[Key, Score]) -> list[Claim]:
    """Check the paper's claims about its table."""
    others = [model for model in MODELS if model != "PaTH"]
    sparse, dense = f"{TASK}, sparse", f"{TASK}, dense"
    ours = {kind: scores["PaTH", kind] for kind in KINDS if ("PaTH", kind) in scores}
    all_dense = {model: scores[model, dense] for model in MODELS if (model, dense) in scores}
    rest = {model: scores[model, sparse] for model in others if (model, sparse) in scores}
    margin, is_ahead = "", None
    if sparse in ours and len(rest) == len(others):
        gap = (ours[sparse].mean or 0.0) - max(score.mean or 0.0 for score in rest.values())
        margin = f"{percent(gap)} points at least, on average"
        is_ahead = every(rises(score, ours[sparse], SUBSTANTIAL) for score in rest.values())
    return [
        Claim(
            "PaTH reads 99 % of bits right on average, of every kind of strings",
            "99.9999 at least",
            at_worst(ours, "mean"),
            every((at_least(score, PERFECT) for score in ours.values()), of=len(KINDS)),
        ),
        Claim(
            "every kind of attention reads 99 % of bits right on average in dense strings",
            "99.99 at least",
            at_worst(all_dense, "mean"),
            every((at_least(score, PERFECT) for score in all_dense.values()), of=len(MODELS)),
        ),
        *(
            Claim(
                f"{model} reads less than {percent(FAILING)} % of bits right on average in sparse "
                "strings",
                f"{TABLE.result(model, sparse).mean:.1f}",
                f"{percent(rest[model].mean)}, {rest[model].outcome}" if model in rest else "",
                below(rest[model], FAILING) if model in rest else None,
            )
            for model in others
        ),
        Claim(
            "PaTH is ahead of every other kind of attention in sparse strings, by 20 points",
            "36.3 points at least",
            margin,
            is_ahead,
        ),
    ]
