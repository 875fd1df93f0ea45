"""What there is to do on a GPU, in the order of its worth."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent

SUITES = ("default", "state-tracking", "chomsky", "dyck")

MODELS = (
    "rnn",
    "gru",
    "lstm",
    *(
        f"transformer[positions={positions}]"
        for positions in ("none", "sinusoidal", "relative", "rope", "alibi")
    ),
    "transformer[randomised=2048]",
    "transformer-logn",
    "regulargpt",
    "regulargpt-c3",
    "looped-transformer",
    "mamba-2",
    "deltanet",
    "deltanet[eigenvalues=-1..1]",
    "deltaproduct",
    "rwkv-7",
    "mlstm",
    "slstm",
    "slice",
    "stack-rnn",
)

COHORTS = ("regulargpt", "transformer", "lstm", "rnn", "deltanet", "mamba-2")


@dataclass(frozen=True)
class Part:
    """Something to do, by a program of its own.

    Attributes:
        name: of its log, and in the index.
        what: it is, in a line.
        command: the program and its arguments.
        resumes: whether it goes on where it was cut off; if not, it begins anew the next time.
    """

    name: str
    what: str
    command: Sequence[str]
    resumes: bool = False


def parts(device: str, out: Path, *, short: bool = False) -> list[Part]:
    """Return all parts.

    Args:
        device: ``cuda``, ``cuda:i`` or, to rehearse, ``cpu``.
        out: the folder that everything goes to.
        short: whether each is to do as little as it can.
    """
    return [
        *_checks(device, short),
        *_measurements(device, short),
        *_records(device, out, short),
    ]


def _checks(device: str, short: bool) -> Iterator[Part]:
    few = ["-k", "rnn-"] if short else []
    yield Part("machine", "the machine, and its torch", _measure("machine", device))
    for name, what in (
        ("answers", "answers and gradients are those of the CPU, in double precision"),
        ("cohorts", "a cohort gives the numbers of its runs alone"),
        ("graphs", "recorded steps give the numbers of others; training goes through"),
    ):
        yield Part(
            f"test-{name}", what, _pytest(f"tests/device/test_{name}.py", "--device", device, *few)
        )
    if not short:
        yield Part(
            "test-training",
            "what the tests keep for a GPU",
            _pytest("tests/benchmark/test_training_parts.py"),
        )


def _measurements(device: str, short: bool) -> Iterator[Part]:
    more = ["--short"] if short else []
    for kind, what in (
        ("graphs", "training steps with CUDA graphs and without"),
        ("cohorts", "cohorts of 9 and 27 against one run at a time"),
    ):
        for model in COHORTS[-1:] if short else COHORTS:
            yield Part(
                f"{kind}-{model}",
                f"{model}: {what}",
                _measure(kind, device, "--model", model, *more),
            )
    yield Part(
        "kernels",
        "families against flash-linear-attention's kernels",
        _measure("kernels", device, *more),
    )


def _records(device: str, out: Path, short: bool) -> Iterator[Part]:
    """Return the records, suite by suite and model by model."""
    base = [sys.executable, "-m", "formalbench", "run", "--quiet", "--device", device]
    base += ["--results", str(out / "results")]
    if short:
        less = ["steps=20", "evaluate_every=10", "batch=4", "learning_rates=0.001", "seeds=1"]
        less += ["test.lengths=50", "test.strings=4", "validation.every=20"]
        settings = [word for one in less for word in ("--set", f"protocol.{one}")]
        command = [*base, "--model", "rnn", "--set", "model.width=8", "--task", "parity"]
        yield Part("records-short", "a record", [*command, *settings], resumes=True)
        return
    for suite, model in product(SUITES, MODELS):
        command = [*base, "--model", model, "--suite", suite, "--protocol", "standard"]
        name = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in model)
        yield Part(f"records-{suite}-{name}", f"{model} on {suite}", command, resumes=True)


def _measure(kind: str, device: str, *more: str) -> list[str]:
    return [sys.executable, str(HERE / "measure.py"), kind, "--device", device, *more]


def _pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
