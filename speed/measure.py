"""Measure everything and write the tables into README.md: `make speed`."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

import cohorts
import regulargpt
import samplers
import startup
import torch
from formalbench.device import cpu_name, usable_cores
from harness import table

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- measured -->", "<!-- end -->"


def main() -> None:
    torch.set_num_threads(1)
    parts = [
        f"{cpu_name()}, {usable_cores()} cores, one thread; Python {platform.python_version()}, "
        f"torch {metadata.version('torch')}, NumPy {metadata.version('numpy')}. "
        "Median of 5 alternating repeats; the range is over the pairs.\n"
    ]
    for make in (
        lambda: table("RegularGPT", regulargpt.measure()),
        regulargpt.growth,
        lambda: table("Cohorts on a CPU", cohorts.measure()),
        lambda: table("Samplers", samplers.measure()),
        startup.measure,
    ):
        parts.append(make())
        print(parts[-1], flush=True)
    text = README.read_text("utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n" + "\n".join(parts) + f"\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
