"""Texts and translations as files, and their description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from formalbench.contracts.language import Split

from formalbench_text.completing import as_yaml, completed
from formalbench_text.fetch.recipe import CorpusFacts
from formalbench_text.fetch.texts import WORD
from formalbench_text.pairs.description import SIDES

VOCABULARY = 4096
"""Tokens of both languages together."""

SHORT = 20
"""Words and marks of the texts that are short; Chiang and Cholak (2022), section 4.4, train on
these."""


def write_pairs(
    about: CorpusFacts,
    pairs: Mapping[Split, Iterable[tuple[str, str]]],
    told: Mapping[Split, str],
    languages: tuple[str, str],
    folder: Path,
) -> list[str]:
    """Write pairs, a line of two files each, as they come, and their description.

    Args:
        about: what they are and where they come from.
        pairs: of each split, without line ends in them.
        told: what there are so many of, in words.
        languages: the endings of the files.
        folder: where they go.

    Returns:
        How many there are, a line for each split.
    """
    counts, files = [], {}
    for split, some in pairs.items():
        names = [f"{split}.{language}" for language in languages]
        lengths = _write(some, [folder / name for name in names])
        files[split] = {side: {"file": name} for side, name in zip(SIDES, names, strict=True)}
        number = f"{lengths.total():,} {told[split]}, {lengths[True]:,}"
        counts.append(f"{split}: {number} of more than {SHORT} words and marks")
    data = {
        "name": about.name,
        "summary": about.summary,
        "reference": about.source if len(about.source) <= 200 else "",
        "pairs": files,
        "tokeniser": {"kind": "bpe", "vocabulary": VOCABULARY},
        "short": SHORT,
    }
    path = folder / f"{about.name}.yaml"
    path.write_text(as_yaml(completed(path, data)), encoding="utf-8")
    return counts


def _write(pairs: Iterable[tuple[str, str]], paths: list[Path]) -> Counter[bool]:
    """Write pairs; return how many of their texts are long."""
    lengths: Counter[bool] = Counter()
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="utf-8")) for path in paths]
        for pair in pairs:
            lengths[len(WORD.findall(pair[0])) > SHORT] += 1
            for file, side in zip(files, pair, strict=True):
                file.write(f"{side}\n")
    return lengths
