"""What is measured on a GPU, a table each: graphs on and off, cohorts, published kernels."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

from cohorts import LENGTH, make_step
from formalbench.training.gradients import BatchedGradients
from formalbench.training.step import GraphedGroup, Group
from harness import Program, alternate, clock, markdown, table
from kernels import KERNELS, contest

WIDTHS = (16, 64, 256)
RUNS = (9, 27)
STEPS = 20


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("machine", "graphs", "cohorts", "kernels"))
    parser.add_argument("--model", default="rnn")
    parser.add_argument("--device", required=True)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.kind == "machine":
        print(machine(options.device))
    elif options.kind == "kernels":
        print(kernels(options.device, options.short))
    else:
        measure = graphs if options.kind == "graphs" else cohorts
        print(measure(options.model, options.device, options.short))


def machine(device: str) -> str:
    """Return what the machine is."""
    lines = [f"Python {sys.version.split()[0]}, torch {torch.__version__}, {device}"]
    if device != "cpu":
        lines.append(f"{torch.cuda.get_device_name(device)}, CUDA {torch.version.cuda}")
        shown = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False)
        lines.append(shown.stdout)
    return "\n".join(lines)


def graphs(model: str, device: str, short: bool) -> str:
    """Compare steps with recordings and without; on a CPU both are without."""
    recorded = Group if device == "cpu" else GraphedGroup
    rows = []
    for width, runs in _sizes(short, (1, 9)):
        make = partial(
            make_step, model, width, _length(short), runs, BatchedGradients, device=device
        )
        (with_them, _), (without, _) = make(kind=recorded), make(kind=Group)
        names = (
            ("graphs", _timed(with_them, device, short)),
            ("none", _timed(without, device, short)),
        )
        rows.append(alternate(*names, _inputs(model, width, runs, short)))
    return table(rows)


def cohorts(model: str, device: str, short: bool) -> str:
    """Compare cohorts with a run alone; times are a run's share of a step."""
    recorded = Group if device == "cpu" else GraphedGroup
    rows = []
    for width, runs in _sizes(short, RUNS):
        make = partial(make_step, model, width, _length(short), device=device, kind=recorded)
        (together, _), (alone, _) = make(runs, BatchedGradients), make(1, BatchedGradients)
        names = (
            ("a cohort", _timed(together, device, short)),
            ("alone", _timed(alone, device, short)),
        )
        rows.append(alternate(*names, _inputs(model, width, runs, short), units=(runs, 1)))
    return table(rows)


def kernels(device: str, short: bool) -> str:
    """Compare with published kernels: how far answers differ, and how long both take."""
    rows, sizes = [], {"length": 64, "batch": 1} if short else {}
    for name in KERNELS:
        ours, theirs, why = contest(name, device, **sizes)
        ours()
        if theirs is None:
            rows.append((name, "", "", "", why))
            continue
        try:
            differ = float((ours() - theirs()).abs().max())
            row = alternate(
                ("ours", _timed(ours, device, short)),
                ("theirs", _timed(theirs, device, short)),
                name,
            )
        except Exception as error:  # noqa: BLE001  another's kernel, on a machine nobody has seen
            rows.append((name, "", "", "", f"{type(error).__name__}: {error}".split("\n")[0]))
        else:
            times = [f"{1e3 * seconds:.3g} ms" for seconds in (row.seconds_a, row.seconds_b)]
            rows.append(
                (name, *times, f"{row.ratio:.3g}", f"answers differ by at most {differ:.2g}")
            )
    return markdown(("family", "ours", "theirs", "theirs / ours", "note"), rows)


def _timed(program: Program, device: str, short: bool) -> Callable[[], float]:
    """Return what measures a program, after calls that set it up."""
    steps = 1 if short else STEPS

    def many() -> None:
        for _ in range(steps):
            program()
        if device != "cpu":
            torch.cuda.synchronize()

    many()
    return lambda: clock(many) / steps


def _sizes(short: bool, runs: tuple[int, ...]) -> list[tuple[int, int]]:
    if short:
        return [(WIDTHS[0], 2)]
    return [(width, count) for width in WIDTHS for count in runs]


def _length(short: bool) -> int:
    return 3 if short else LENGTH


def _inputs(model: str, width: int, runs: int, short: bool) -> str:
    return f"{model}, width {width}, R = {runs}, batch 128, T = {_length(short)}"


if __name__ == "__main__":
    main()
