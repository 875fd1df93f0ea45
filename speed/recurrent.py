"""RNN and LSTM training steps: ours against a step written in JAX and jitted.

Each in a process of its own, taking turns. Drawing the strings is part of both (ours from a
counter-based stream, JAX's from NumPy's generator).
"""

from __future__ import annotations

from formalbench.training.curriculum import draw_length
from harness import REPEATS, Comparison, alternate, table
from our_steps import make_protocol
from turns import Contender, usable_cores

WIDTH = 256
STEPS = {"rnn": 50, "lstm": 6}
UNIFORM_STEPS = {"rnn": 60, "lstm": 20}
FIRST_STEPS = 500
LONGEST, EVERY = 40, 8
UNROLL = {"rnn": 40, "lstm": 1}  # the fastest once compiled; 1 is the fastest to compile


def measure(jax_python: str) -> str:
    rows = []
    for kind in STEPS:
        rows += _at_forty(kind, jax_python)
        rows += _uniform(kind, jax_python)
    return table(rows)


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _inputs(kind: str, what: str) -> str:
    return f"{kind}, width {WIDTH}, batch 128, {what}"


def _at_forty(kind: str, python: str) -> list[Comparison]:
    """Compare steps at length 40, compiled before, on one core and on all."""
    rows, steps = [], STEPS[kind]
    for cores in sorted({1, usable_cores()}):
        with (
            Contender("our_steps.py", cores=cores) as ours,
            Contender("jax_step.py", python=python, cores=cores) as theirs,
        ):
            mine = {"do": "train", "model": kind, "options": {"width": WIDTH}, "first": 40}
            other = {"do": "train", "kind": kind, "width": WIDTH, "unroll": UNROLL[kind]}

            def engine(mine=mine, ours=ours) -> float:
                return ours.seconds(**mine, last=40, steps=steps)

            def library(other=other, theirs=theirs) -> float:
                return theirs.seconds(**other, lengths=[40] * steps)

            engine(), library()
            mine_named = (f"ours, {_cores(cores)}", engine)
            other_named = (f"JAX, {_cores(cores)}", library)
            inputs = _inputs(kind, "a step at T = 40")
            rows.append(alternate(mine_named, other_named, inputs, units=(steps, steps)))
    return rows


def _uniform(kind: str, python: str) -> list[Comparison]:
    """Compare steps on lengths 1–40: the first 500 with compilation, and later ones.

    Ours has one core, as the engine trains a run; JAX has all, to compile with, too.
    """
    with (
        Contender("our_steps.py", cores=1) as ours,
        Contender("jax_step.py", python=python) as theirs,
    ):

        def engine(steps: int, every: int = 1) -> float:
            what = {"model": kind, "options": {"width": WIDTH}}
            return ours.seconds(
                do="train", **what, first=every, last=LONGEST, every=every, steps=steps
            )

        def library(steps: int, every: int = 1, **options: object) -> float:
            lengths = the_lengths(steps, every)
            return theirs.seconds(do="train", kind=kind, width=WIDTH, lengths=lengths, **options)

        engine(20), library(20, recompile=True, padded=40)  # one-time costs

        def pair(
            steps: int,
            what: str,
            name: str,
            repeats: int,
            unit: int = 1,
            every: int = 1,
            **options: object,
        ) -> Comparison:
            return alternate(
                ("ours, 1 core", lambda: engine(steps, every)),
                (f"{name}, {_cores(usable_cores())}", lambda: library(steps, every, **options)),
                _inputs(kind, what),
                repeats,
                units=(unit, unit),
            )

        best, steps = {"unroll": UNROLL[kind]}, UNIFORM_STEPS[kind]
        first = f"the first {FIRST_STEPS} steps, T uniform in 1–40"
        # Once each: a pair takes half a minute and more.
        rows = [pair(FIRST_STEPS, first, "JAX, padded to 40", 1, recompile=True, padded=40, **best)]
        if kind == "rnn":  # an LSTM takes JAX as long either way
            rows.append(pair(FIRST_STEPS, first, "JAX, compiled for each T", 1, recompile=True))
        library(steps, EVERY, **best)  # JAX compiles each length: all would take minutes
        later = f"a step, T uniform in {EVERY}, {2 * EVERY}, …, {LONGEST}, compiled before"
        return [*rows, pair(steps, later, "JAX", REPEATS, steps, EVERY, **best)]


def the_lengths(steps: int, every: int = 1) -> list[int]:
    """Return the lengths that ours trains on, so that both train on the same."""
    protocol, whole = make_protocol(steps), range(every, LONGEST + 1, every)
    return [draw_length(protocol, whole, step) for step in range(steps)]
