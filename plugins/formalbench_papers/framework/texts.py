"""What reproductions on natural language have in common: the corpus, and perplexities by length."""

from __future__ import annotations

import math

from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import Record

from formalbench_papers.framework.bench import Bench

HOW = {
    "sotu": "make it with `formalbench corpus fetch sotu`, and name it: --plugin sotu/sotu.yaml",
    "openwebtext2": (
        "describe its files in a YAML file of this name (docs/plugins.md, Texts), and name it: "
        "--plugin openwebtext2.yaml"
    ),
    "wikitext-103": (
        "describe its files in a YAML file of this name (docs/plugins.md, Texts), and name it: "
        "--plugin wikitext-103.yaml"
    ),
}
"""Corpora that nothing here comes with, and how they are had."""


def text_task(bench: Bench, corpus: str, objective: str) -> str:
    """Return the name of what is asked of a corpus.

    Raises:
        RequestError: one line that says how the corpus is had, if it is not there.
    """
    try:
        bench.host.tasks.get(corpus)
    except RequestError:
        raise RequestError(f"no corpus {corpus}: {HOW[corpus]}") from None
    return f"{corpus}:{objective}"


def perplexities(record: Record) -> dict[int, float]:
    """Return a run's perplexity at each length of its test; nothing of one that did not finish."""
    if record.test is None:
        return {}
    cells = record.test.cells
    sums = cells.metrics[CROSS_ENTROPY]
    if cells.window != 1:
        raise RequestError(f"{record.test_id}: its lengths are summed up {cells.window} by one")
    pairs = zip(sums.total, sums.count, strict=True)
    bits = [total / count / 1000 for total, count in pairs]
    return {n: math.pow(2.0, one) for n, one in zip(cells.length, bits, strict=True)}
