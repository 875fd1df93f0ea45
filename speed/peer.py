"""Against DeepMind's `neural_networks_chomsky_hierarchy`, from a checkout.

Both have the same cores: one, and all. Ours trains on one by default, on all with
`formalbench run --threads`; it tests on all. The peer, as it is shipped, has all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness import REPEATS, Comparison, Test, alternate, markdown, show, table, tell
from turns import Contender, usable_cores

TEST_LENGTHS = (41, 133, 225, 316, 408, 500)
FIRST_STEPS = 500
STRINGS = 512


@dataclass(frozen=True)
class Checkout:
    """Where the peer is, and the interpreter that has what it needs."""

    path: str
    python: str

    def start(self, cores: int | None = None) -> Contender:
        """Start it."""
        return Contender("peer_steps.py", self.path, python=self.python, cores=cores)


@dataclass(frozen=True)
class Pair:
    """One network, as ours and as the peer's.

    Attributes:
        name: for the table.
        model, options: ours.
        theirs: the peer's kind, options and, if it has any, positions.
        window: steps of a measurement.
    """

    name: str
    model: str
    options: dict[str, Any]
    theirs: dict[str, Any]
    window: int

    def train(self, program: Contender, first: int, last: int, steps: int) -> float:
        """Train ours."""
        ours = {"model": self.model, "options": self.options}
        return program.seconds(do="train", **ours, first=first, last=last, steps=steps)


def _transformer(positions: str, theirs: str) -> Pair:
    shape = {"width": 64, "heads": 8, "layers": 5, "norm": "post", "activation": "relu"}
    return Pair(
        name=f"transformer, 5 layers, width 64, 8 heads, {positions}",
        model="transformer",
        options=shape | {"positions": positions, "causal": False},
        theirs={
            "kind": "transformer_encoder",
            "options": {"embedding_dim": 64, "num_layers": 5, "num_heads": 8},
            "positions": theirs,
        },
        window=10,
    )


def _recurrent(kind: str, window: int) -> Pair:
    theirs = {"kind": kind, "options": {"hidden_size": 256}}
    return Pair(f"{kind}, width 256", kind, {"width": 256}, theirs, window)


def _with_memory(kind: str, model: str, sizes: dict[str, int]) -> Pair:
    """Return a network of width 256 with a memory of cells of 8 numbers, theirs with 40 of them."""
    theirs = {"kind": kind, "options": {"hidden_size": 256} | sizes}
    return Pair(f"{model}, width 256", model, {"width": 256, "cell": 8}, theirs, 15)


STACK = _with_memory("stack_rnn", "stack-rnn", {"stack_cell_size": 8, "stack_size": 40})
TAPE = _with_memory("tape_rnn", "tape-rnn", {"memory_cell_size": 8, "memory_size": 40})
RNN, LSTM = _recurrent("rnn", 50), _recurrent("lstm", 20)
SINUSOIDAL = _transformer("sinusoidal", "SIN_COS")
RELATIVE = _transformer("relative", "RELATIVE")


def measure(peer: Checkout) -> str:
    steady = [
        at_forty(pair, peer, cores)
        for pair in (RNN, LSTM, SINUSOIDAL)
        for cores in sorted({1, usable_cores()})
    ]
    first = [first_steps(pair, peer) for pair in (RNN, LSTM, SINUSOIDAL)]
    return "\n".join(
        (
            table(steady, "A training step, against the peer"),
            table(first, "The first 500 steps, against the peer, with what it compiles"),
        )
    )


def measure_memory(peer: Checkout) -> str:
    """Compare training steps of the networks with a stack and a tape, on one core."""
    steady = [at_forty(pair, peer, 1) for pair in (STACK, TAPE)]
    first = [first_steps(pair, peer, 1) for pair in (STACK, TAPE)]
    return "\n".join((table(steady), table(first)))


def measure_testing(peer: Checkout) -> str:
    head = ("network", "ours", "peer", "peer / ours", "ours, memory", "peer, memory", "share")
    rows = []
    for pair in (RNN, LSTM, SINUSOIDAL, RELATIVE):
        mine, other = test_ours(pair, STRINGS), test_theirs(pair, peer, STRINGS)
        seconds = [test.integrated(41, 500) for test in (mine, other)]
        memory = [test.peak_bytes / 2**20 for test in (mine, other)]
        cells = [*map(show, seconds), f"**{seconds[1] / seconds[0]:.3g}**"]
        cells += [f"{size:.0f} MiB" for size in memory]
        rows.append((pair.name, *cells, f"**{memory[0] / memory[1]:.2g}**"))
        tell(" ".join(rows[-1]))
    return markdown(head, rows, "Testing on every length 41–500, against the peer") + (
        f"\n{STRINGS} strings a length; each program once, at lengths "
        f"{', '.join(map(str, TEST_LENGTHS))}, with straight lines between. Peak memory is that "
        "of the whole process.\n"
    )


def test_ours(pair: Pair, strings: int) -> Test:
    """Test ours at a few lengths, in a process of its own."""
    with Contender("our_steps.py") as ours:
        return _test(ours, strings, model=pair.model, options=pair.options)


def test_theirs(pair: Pair, peer: Checkout, strings: int) -> Test:
    """Test the peer's at a few lengths, in a process of its own."""
    with peer.start() as theirs:
        return _test(theirs, strings, **pair.theirs)


def _test(program: Contender, strings: int, **network: Any) -> Test:
    answer = program.ask(do="test", lengths=list(TEST_LENGTHS), strings=strings, **network)
    return Test(TEST_LENGTHS, answer["seconds"], answer["peak"])


def at_forty(pair: Pair, peer: Checkout, cores: int) -> Comparison:
    """Compare training steps at length 40, compiled before."""
    with (
        Contender("our_steps.py", cores=cores) as ours,
        theirs_compiled(pair, peer, 40, 40, cores) as theirs,
    ):
        pair.train(ours, 40, 40, pair.window)
        return alternate(
            (f"ours, {of(cores)}", lambda: pair.train(ours, 40, 40, pair.window)),
            (f"peer, {of(cores)}", theirs),
            f"{pair.name}, a step at T = 40, batch 128",
            REPEATS,
            units=(pair.window, pair.window),
        )


@contextmanager
def theirs_compiled(
    pair: Pair, peer: Checkout, first: int, last: int, cores: int | None = None, warm: int = 1
) -> Iterator[Callable[[], float]]:
    """Start the peer's training on lengths first … last; give what times a window of it."""
    with peer.start(cores) as program:
        request = {"do": "windows", "first": first, "last": last, "window": pair.window}
        program.ask(**request, **pair.theirs)
        for _ in range(warm):
            program.ask()
        yield lambda: program.seconds()


def of(cores: int) -> str:
    """Return a number of cores in words."""
    return "1 core" if cores == 1 else f"{cores} cores"


def first_steps(pair: Pair, peer: Checkout, cores: int | None = None) -> Comparison:
    """Compare the first steps on lengths 1–40, compilation included, in fresh processes."""
    cores = cores or usable_cores()

    def ours() -> float:
        with Contender("our_steps.py", cores=cores) as program:
            return pair.train(program, 1, 40, FIRST_STEPS)

    def theirs() -> float:
        with peer.start(cores) as program:
            return program.seconds(do="first", steps=FIRST_STEPS, **pair.theirs)

    return alternate(
        (f"ours, {of(cores)}", ours),
        (f"peer, {of(cores)}", theirs),
        f"{pair.name}, the first {FIRST_STEPS} steps, T uniform in 1–40",
        1,
    )
