"""The corpora of reproductions on natural language, which nothing here brings along."""

from __future__ import annotations

from formalbench.contracts.errors import RequestError

from formalbench_papers.framework.bench import Bench

HOW = {
    "debian-en-vi": (
        "make it with `formalbench corpus fetch debian-en-vi`, and name it: "
        "--plugin debian-en-vi/debian-en-vi.yaml"
    ),
    "iwslt-en-vi": (
        "describe its files in a YAML file of this name (docs/plugins.md, Translations), and name "
        "it: --plugin iwslt-en-vi.yaml"
    ),
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
