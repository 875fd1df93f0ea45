"""Training steps of another version against this one: `python speed/versions.py CHECKOUT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harness import alternate, table
from turns import FOLDER, Contender

REPEATS = 7
ROOMS = ("benchmark", "leaderboard", "plugins", "tasks")
LONG = 256
CHUNKED = ("deltanet", "gated-deltanet", "mamba-2", "rwkv-7", "slice")
STEPS = {
    "rnn": 60,
    "lstm": 30,
    "gru": 30,
    "transformer": 15,
    "regulargpt": 12,
    "slstm": 8,
    "mlstm": 8,
    "deltanet": 12,
    "gated-deltanet": 10,
    "deltaproduct": 10,
    "mamba-2": 12,
    "rwkv-7": 10,
    "slice": 10,
}
"""By model: steps of one measurement."""
CASES = [
    *((model, {"width": 256}, 40, STEPS[model] // 4) for model in ("rnn", "lstm", "gru")),
    *((model, {}, 40, steps) for model, steps in STEPS.items()),
    *((model, {}, LONG, 3) for model in CHUNKED),
]
"""Model, options, length of the strings, steps."""


def start(root: Path) -> Contender:
    """Start the training of a checkout, on one core."""
    os.environ["PYTHONPATH"] = os.pathsep.join(str(root / room) for room in ROOMS)
    return Contender(str(root / "speed" / "our_steps.py"), cores=1)


def main(checkout: Path) -> None:
    """Compare all cases and print the table."""
    rows = []
    with start(FOLDER.parent) as now, start(checkout.resolve()) as before:
        for model, options, length, steps in CASES:
            what = {"do": "train", "model": model, "options": options, "steps": steps}
            what |= {"first": length, "last": length}
            for contender in (now, before):
                contender.seconds(**what)
            named = [
                (name, lambda one=one, what=what: one.seconds(**what))
                for name, one in (("now", now), ("before", before))
            ]
            inputs = ", ".join(
                [model, *(f"{key} {value}" for key, value in options.items()), f"T = {length}"]
            )
            rows.append(alternate(*named, inputs, REPEATS, units=(steps, steps)))
    print(table(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
