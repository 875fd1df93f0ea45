"""Figure 4b of Chi et al. (2023): how local the receptive field of RegularGPT is on text."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.documents.charts import BLUES
from formalbench.documents.figures import Figure
from formalbench.documents.text import percent, plural

from formalbench_papers.chi import SOURCE
from formalbench_papers.chi.figure4 import Field, field_of, field_panel
from formalbench_papers.chi.table3 import CORPORA, LENGTHS, wanted_runs
from formalbench_papers.framework.bench import Bench, records_of_networks, trained
from formalbench_papers.framework.claims import Claim, Findings, Row, across
from formalbench_papers.framework.tables import text_task
from formalbench_papers.index import experiment

MODEL = "RegularGPT 128/6"
"""The largest chunk in Table 3 whose perplexity stays flat."""

CHUNK = 128

LAST = 8
"""Tokens at the end of a chunk: a chunk passes on the vector of its last token only."""

LENGTH = 2048

WINDOWS = 96


@experiment(
    "chi-fig4b",
    "The receptive field of RegularGPT on text",
    f"{SOURCE}, Figure 4b and §7.4; the tool from Chi et al. (2022b)",
    about="How much each of 2,048 tokens changes the prediction of the last one, in a network "
    "trained on windows of 512: the norm of the gradient with respect to its vector, added "
    "up from the most recent token (right) to the earliest (left). If only recent tokens "
    "count, the curve rises within a few tokens.",
    reduced="bytes of State of the Union addresses instead of OpenWebText2, and the network of "
    "chi-table3 at the scale quick: width 64, two blocks a level.",
    core_hours=(0.6, 2000),
    inside=True,
)
def carry_out(bench: Bench) -> Findings:
    """Train the model of Table 3, unless it is there, and measure its field on longer windows."""
    task = text_task(bench, CORPORA[bench.scale], "causal-lm")
    (networks,) = every = trained(bench, [wanted_runs(MODEL, task, bench)])
    bench.report(f"gradients of windows of {LENGTH} tokens, {plural(len(networks), 'network')}")
    step = {"length": LENGTH, "strings": WINDOWS}
    fields = [field_of(network, MODEL, task, _windows, step) for network in networks]
    return Findings(
        _rows(fields),
        claims(fields),
        lambda: _draw(fields),
        _REMARKS,
        records=records_of_networks(every),
    )


def _windows(task: Task) -> Symbols:
    """Return windows of a task's test."""
    windows_BN: Symbols = task.source.fixed(LENGTH, "")[:WINDOWS]  # type: ignore[attr-defined]
    return windows_BN


_REMARKS = (
    "The tool is that of Figure 4a: the norm of the gradient of the loss of the last token with "
    "respect to the vector of each token before it, as a share of the sum over the window, added "
    f"up from the most recent token to the earliest; the mean over {WINDOWS} windows of the test.",
    "The paper does not say which model of Table 3 the figure shows. Its tokens are word pieces; "
    "those of the scale quick are bytes: a window of the same size covers less text there.",
    f"A field counts as local if 99 % of the gradient is in the last {LENGTHS[0]} tokens, as many "
    "as a window of the training has; the limit is ours, since the paper only shows a curve. On "
    "PARITY the field covers all positions (Figure 4a). One network decides nothing.",
    "Each chunk passes on the vector of its last token only, so the curve rises in steps at the "
    "ends of earlier chunks.",
)


def claims(fields: Sequence[Field]) -> list[Claim]:
    """Check the paper's claims about its figure."""
    reach = ", ".join(f"{field.reach:.0f}" for field in fields)
    chunk, window = (
        ", ".join(percent(field.cumulative[-1 - last :][0]) for field in fields)
        for last in (CHUNK, LENGTHS[0])
    )
    ends = ", ".join(percent(_share_of_ends(field)) for field in fields)
    return [
        Claim(
            f"On text RegularGPT's receptive field is local: 99 % of the gradient is in the last "
            f"{LENGTHS[0]} of {LENGTH:,} tokens",
            "“settles on the local windowed-attention pattern” (§7.4; Figure 4b)",
            f"in the last {reach} tokens; {chunk} % in the last {CHUNK}, which are a chunk, and "
            f"{window} % in the last {LENGTHS[0]}; of that before the last "
            f"chunk, {ends} % is in the last {LAST} tokens of each chunk "
            f"({plural(len(fields), 'network')})"
            if fields
            else "",
            across(field.reach <= LENGTHS[0] for field in fields),
        )
    ]


def _share_of_ends(field: Field) -> float:
    """Return how much of the gradient before the last chunk is in the last tokens of a chunk.

    The last token is only asked for, so the last chunk ends at the token before it.
    """
    before = LENGTH - 1 - CHUNK
    total = field.cumulative[0] - field.cumulative[before]
    cuts = range(before, LAST - 1, -CHUNK)
    ends = sum(field.cumulative[cut - LAST] - field.cumulative[cut] for cut in cuts)
    return ends / total if total else 0.0


def _rows(fields: Sequence[Field]) -> list[Row]:
    return [
        {"seed": field.seed, "position": position, "cumulative": round(share, 6)}
        for field in fields
        for position, share in enumerate(field.cumulative, start=1)
    ]


def _draw(fields: Sequence[Field]) -> Figure:
    label = "RegularGPT, mean of windows"
    lines = [field.line(BLUES[1 + field.seed % 3], label) for field in fields]
    return Figure([[field_panel(LENGTH, "all tokens alike", lines)]])
