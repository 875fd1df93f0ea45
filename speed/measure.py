"""Measure and write the tables into README.md, part by part: `make speed`."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

README = Path(__file__).with_name("README.md")


class LeftOutError(Exception):
    """A part that cannot be measured here, and why."""


@dataclass(frozen=True)
class Part:
    """A part of the measurements, with tables of its own.

    Attributes:
        make: returns its Markdown.
        threads: of this process's matrix products, for the line that tells of the machine.
        theirs: libraries of the other program, whose versions that line tells, too.
        python: whether its interpreter is the ``jax`` or the ``peer`` one.
    """

    make: Callable[[argparse.Namespace], str]
    threads: str = "one thread"
    theirs: Sequence[str] = ()
    python: str = "jax"


def _regulargpt(arguments: argparse.Namespace) -> str:
    import regulargpt
    from harness import table

    return table(regulargpt.measure()) + "\n" + regulargpt.growth()


def _regulargpt_long(arguments: argparse.Namespace) -> str:
    import regulargpt

    return regulargpt.long()


def _regulargpt_transformer(arguments: argparse.Namespace) -> str:
    import regulargpt

    return regulargpt.against_transformer()


def _language_models(arguments: argparse.Namespace) -> str:
    import language_models

    _need(sys.executable, "transformers", "install it: pip install transformers")
    return language_models.report()


def _tokens(arguments: argparse.Namespace) -> str:
    import tokens

    return tokens.measure()


def _cohorts(arguments: argparse.Namespace) -> str:
    import cohorts
    from harness import table

    return table(cohorts.measure(), "On a CPU, a training step")


def _gpu(arguments: argparse.Namespace) -> str:
    import cohorts
    import torch

    if not torch.cuda.is_available():
        raise LeftOutError("there is no GPU here")
    return f"{torch.cuda.get_device_name()}.\n\n{cohorts.measure_gpu()}"


def _jobs(arguments: argparse.Namespace) -> str:
    import jobs
    from harness import table

    rows = jobs.measure()
    if not rows:
        raise LeftOutError("there is one core only")
    return table(rows)


def _many_units(arguments: argparse.Namespace) -> str:
    import many_units

    return many_units.measure()


def _recurrent(arguments: argparse.Namespace) -> str:
    import recurrent

    _need(arguments.jax_python, "jax", "install it (the extra `speed`) or name --jax-python")
    return recurrent.measure(arguments.jax_python)


def _peer(arguments: argparse.Namespace) -> str:
    import peer

    return peer.measure(_checkout(arguments))


def _memory(arguments: argparse.Namespace) -> str:
    import peer

    return peer.measure_memory(_checkout(arguments))


def _testing(arguments: argparse.Namespace) -> str:
    import peer

    return peer.measure_testing(_checkout(arguments))


def _protocol(arguments: argparse.Namespace) -> str:
    import protocol

    return protocol.measure(_checkout(arguments))


def _recurrences(arguments: argparse.Namespace) -> str:
    import recurrences

    return recurrences.measure()


def _limits(arguments: argparse.Namespace) -> str:
    import limits

    return limits.measure()


def _samplers(arguments: argparse.Namespace) -> str:
    import samplers
    from harness import table

    return table(samplers.measure())


def _startup(arguments: argparse.Namespace) -> str:
    import startup

    return startup.measure()


def _leaderboard(arguments: argparse.Namespace) -> str:
    import leaderboard

    return leaderboard.measure()


def _checking(arguments: argparse.Namespace) -> str:
    import checking

    return checking.measure()


_PEER = ("jax", "dm-haiku")

PARTS: dict[str, Part] = {
    "startup": Part(_startup),
    "leaderboard": Part(_leaderboard),
    "checking": Part(_checking),
    "samplers": Part(_samplers),
    "regulargpt": Part(_regulargpt),
    "regulargpt-long": Part(_regulargpt_long),
    "regulargpt-transformer": Part(_regulargpt_transformer),
    "language-models": Part(_language_models, theirs=("transformers",)),
    "tokens": Part(_tokens),
    "cohorts": Part(_cohorts),
    "gpu": Part(_gpu),
    "jobs": Part(_jobs, "threads as said"),
    "many-units": Part(_many_units),
    "recurrent": Part(_recurrent, "cores as said", ("jax",)),
    "recurrences": Part(_recurrences),
    "limits": Part(_limits),
    "peer": Part(_peer, "cores as said", _PEER, "peer"),
    "memory": Part(_memory, "cores as said", _PEER, "peer"),
    "testing": Part(_testing, "both on all cores", _PEER, "peer"),
    "protocol": Part(_protocol, "ours trained by one thread", _PEER, "peer"),
}
"""In the order they are measured in; the name is that of the markers in README.md."""


def _checkout(arguments: argparse.Namespace):
    from peer import Checkout

    if arguments.peer is None:
        raise LeftOutError("it needs the peer's checkout: --peer PATH")
    _need(arguments.peer_python, "haiku", "name an interpreter that has it by --peer-python")
    return Checkout(str(Path(arguments.peer).resolve()), arguments.peer_python)


def _need(python: str, module: str, remedy: str) -> None:
    if python == sys.executable:
        found = importlib.util.find_spec(module) is not None
    else:
        found = subprocess.run([python, "-c", f"import {module}"], check=False).returncode == 0
    if not found:
        raise LeftOutError(f"{python} has no {module}: {remedy}")


def machine(part: Part, arguments: argparse.Namespace) -> str:
    """Return the line that tells what a part was measured on."""
    from formalbench.device import cpu_name, usable_cores

    python = arguments.peer_python if part.python == "peer" else arguments.jax_python
    versions = [f"{name} {metadata.version(name)}" for name in ("torch", "numpy")]
    versions += [f"{name} {version(python, name)}" for name in part.theirs]
    return (
        f"{cpu_name()}, {usable_cores()} cores, {part.threads}; "
        f"Python {platform.python_version()}, {', '.join(versions)}."
    )


def version(python: str, library: str) -> str:
    """Return the version of a library, as an interpreter has it."""
    code = f"from importlib import metadata; print(metadata.version({library!r}))"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def put(text: str, name: str, content: str) -> str:
    """Return the text with `content` between the markers of a part.

    Raises:
        ValueError: if the markers are not there, once each and in order.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{begin.strip()} and {end} must be there once each")
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}{content.strip()}\n{end}{after}"


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ", ".join(PARTS)
    parser.add_argument("--only", metavar="NAME[,NAME]", help=f"measure these parts: {names}")
    parser.add_argument("--peer", metavar="PATH", help="a neural_networks_chomsky_hierarchy")
    parser.add_argument("--jax-python", default=sys.executable, help="an interpreter with jax")
    parser.add_argument("--peer-python", help="one with the peer's requirements; as --jax-python")
    parser.add_argument("--readme", type=Path, default=README, help="where the tables go")
    arguments = parser.parse_args(words)
    arguments.peer_python = arguments.peer_python or arguments.jax_python
    arguments.parts = arguments.only.split(",") if arguments.only else list(PARTS)
    if unknown := [name for name in arguments.parts if name not in PARTS]:
        parser.error(f"--only {unknown[0]}: there are {names}")
    return arguments


def main() -> int:
    """Measure; returns 1 if a part that was asked for by name was left out."""
    arguments = parse()
    import torch
    from formalbench.device import keep_freed_memory

    torch.set_num_threads(1)
    keep_freed_memory()  # as the engine does in a process that trains on a CPU
    left_out = 0
    began = time.perf_counter()
    for place, name in enumerate(arguments.parts, start=1):
        part, start = PARTS[name], time.perf_counter()
        print(f"{place}/{len(arguments.parts)} {name}", file=sys.stderr, flush=True)
        try:
            made = part.make(arguments)
        except LeftOutError as why:
            print(f"  left out: {why}", file=sys.stderr)
            left_out += 1
            continue
        content = f"{made.strip()}\n\n{machine(part, arguments)}"
        text = arguments.readme.read_text("utf-8")
        arguments.readme.write_text(put(text, name, content), "utf-8")
        print(f"{content}\n", flush=True)
        now = time.perf_counter()
        print(f"  {now - start:.0f} s; {now - began:.0f} s in all", file=sys.stderr, flush=True)
    return 1 if arguments.only and left_out else 0


if __name__ == "__main__":
    sys.exit(main())
