"""Linear recurrences: chunks against one symbol after the other, Mamba against mambapy, memory.

What is timed is a mixer, forward and backward, on one core, by the CPU time that it takes.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import torch
from formalbench.host.host import load
from formalbench.host.options import make_config
from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from harness import Comparison, compare, cpu_clock, table

WIDTH = 64
SHAPES = ((128, 40), (32, 512))
"""Batch and length: of a training step on short strings, and of one on long ones."""

REPEATS = 3
LENGTHS = (2048, 4096, 8192, 16384)
IN_CHUNKS = ("deltanet", "mamba-2", "rwkv-7", "gla", "mingru")
REMEMBERED = ("deltanet", "rwkv-7", "mamba", "slice")
SPECS = {spec.name: spec for spec in LINEAR_RECURRENCES}


class _Task:
    alphabet = ("0", "1")


def mixer(name: str, **options: object) -> torch.nn.Module:
    """Return one mixer of a family, at its defaults but for what is said."""
    config = make_config(SPECS[name], {"width": WIDTH, "layers": 1, **options})
    return load(SPECS[name].factory)(_Task(), config).blocks[0].mixer


def measure() -> str:
    """Return the tables."""
    rows = [_chunks(name, *shape) for name in IN_CHUNKS for shape in SHAPES]
    if importlib.util.find_spec("mambapy") is not None:
        rows.append(_mamba(*SHAPES[-1]))
    return f"{table(rows)}\n{_memory()}"


def _step(network: torch.nn.Module, x_BTW: torch.Tensor, *more: object) -> None:
    answer = network(x_BTW, *more)
    answer = answer[0] if isinstance(answer, tuple) else answer
    answer.square().mean().backward()


def _inputs(batch: int, length: int) -> torch.Tensor:
    return torch.randn(batch, length, WIDTH)


def _what(name: str, batch: int, length: int) -> str:
    return f"{name}, batch {batch}, T = {length}, width {WIDTH}, forward and backward"


def _chunks(name: str, batch: int, length: int) -> Comparison:
    x_BTW = _inputs(batch, length)
    chunked, looped = mixer(name), mixer(name, chunk=1)
    return compare(
        ("in chunks", lambda: _step(chunked, x_BTW, ())),
        ("symbol by symbol", lambda: _step(looped, x_BTW, ())),
        _what(name, batch, length),
        REPEATS,
        by=cpu_clock,
    )


def _mamba(batch: int, length: int) -> Comparison:
    from mambapy.mamba import MambaBlock, MambaConfig

    x_BTW = _inputs(batch, length)
    mine, theirs = mixer("mamba"), MambaBlock(MambaConfig(d_model=WIDTH, n_layers=1))
    return compare(
        ("ours", lambda: _step(mine, x_BTW, ())),
        ("mambapy", lambda: _step(theirs, x_BTW)),
        _what("mamba", batch, length),
        REPEATS,
        by=cpu_clock,
    )


def _memory() -> str:
    """Return what a step adds to the peak memory of a process, by length."""
    head = " | ".join(f"{length:,}" for length in LENGTHS)
    lines = [f"| memory of a step at T = | {head} |", "| --- |" + " ---: |" * len(LENGTHS)]
    for name in REMEMBERED:
        cells = " | ".join(f"{_in_a_process(name, length):.0f} MiB" for length in LENGTHS)
        lines.append(f"| {name}, batch 1 | {cells} |")
    return "\n".join(lines) + "\n"


def _in_a_process(name: str, length: int) -> float:
    command = [sys.executable, str(Path(__file__)), name, str(length)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def peak_mib() -> float:
    """Return the peak memory of this process so far, in MiB (Linux).

    Not `getrusage`: what it says begins with the peak of the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kib) / 1024


def main() -> None:
    """Print what a step of a family at a length adds to the peak, in MiB."""
    torch.set_num_threads(1)
    name, length = sys.argv[1], int(sys.argv[2])
    network = mixer(name)
    _step(network, _inputs(1, 64), ())
    before = peak_mib()
    _step(network, _inputs(1, length), ())
    print(peak_mib() - before)


if __name__ == "__main__":
    main()
