"""Tokenising a text of 100 MB: time and peak memory."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import markdown, show, tell
from turns import peak_bytes

BYTES = 100_000_000
WORDS = 50_000
"""Different ones, made of letters; the n-th most frequent is 1/n as frequent."""

KINDS = ("bytes", "words", "bpe")
VOCABULARY = 8192


def write_text(path: Path) -> None:
    """Write a text of words, a thousand of them a line."""
    chance = random.Random(0)
    known = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(1, 12))) for _ in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    size = 0
    with path.open("w", encoding="utf-8") as file:
        while size < BYTES:
            size += file.write(" ".join(chance.choices(known, weights, k=1000)) + "\n")


def make_tokens(kind: str, path: Path) -> None:
    """Make the tokens of a text, and say how long it took, how many they are and the memory."""
    import time

    from formalbench_text.description import CorpusDescription
    from formalbench_text.tokens import tokens_of

    file = [{"file": path.name}]
    tokeniser = {"kind": kind} | ({} if kind == "bytes" else {"vocabulary": VOCABULARY})
    data = {"name": "big", "corpus": {"train": file, "validation": file, "test": file}}
    small = path.with_name("small.txt")
    small.write_text("a few words\n", encoding="utf-8")
    data["corpus"] |= {"validation": [{"file": small.name}], "test": [{"file": small.name}]}
    start = time.perf_counter()
    described = CorpusDescription.of(path.with_suffix(".yaml"), {**data, "tokeniser": tokeniser})
    count = len(tokens_of(described).parts["train"].ids)
    print(time.perf_counter() - start, count, own_peak() >> 20)


def own_peak() -> int:
    """Return the bytes of memory that this process held at most.

    Linux counts what its parent held into what `resource` tells.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return peak_bytes()
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def measure() -> str:
    """Return the table."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "text.txt"
        write_text(path)
        one_thread = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        for kind in KINDS:
            done = subprocess.run(
                [sys.executable, __file__, kind, str(path)],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, **one_thread, "FORMALBENCH_CACHE": str(Path(name) / "cache")},
            )
            seconds, count, peak = done.stdout.split()
            rows.append((kind, f"{int(count):,}", show(float(seconds)), f"{peak} MiB"))
            tell(" ".join(rows[-1]))
    return markdown(("tokeniser", "tokens", "time", "most memory"), rows)


if __name__ == "__main__":
    make_tokens(sys.argv[1], Path(sys.argv[2]))
