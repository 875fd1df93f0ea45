"""From nothing to a score: an RNN on parity, trained and tested at every length 41–500.

Ours is the command a user runs, as a whole process: it trains by the `quick` protocol to its
stopping rule, and tests. The peer trains for 10,000 steps, its default. Its cost is put
together from parts: the first 500 steps with compilation, the rate after that, and testing.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from formalbench.contracts.protocol import Testing
from formalbench.host import PluginHost
from harness import markdown, show, tell
from peer import FIRST_STEPS, RNN, Checkout, test_theirs, theirs_compiled

PEER_STEPS = 10_000
WARM_WINDOWS = 8  # until every length is compiled
STRINGS = (512, 64)


def measure(peer: Checkout) -> str:
    training = _train_theirs(peer)
    head = ("strings a length", "ours", "peer", "peer / ours", "of ours: training", "steps")
    rows = []
    notes = []
    for strings in STRINGS:
        seconds, record = run_ours(strings)
        tell(f"ours, {strings} strings a length: {show(seconds)}")
        testing = test_theirs(RNN, peer, strings).integrated(41, 500)
        total = training + testing
        trained = record["training"]
        ratio = f"{total / seconds:.3g}"  # not bold: it is not of equal work
        steps = f"{trained['steps']} ({trained['ended']})"
        rows.append(
            (str(strings), show(seconds), show(total), ratio, show(trained["seconds"]), steps)
        )
        notes.append(f"{show(testing)} with {strings} strings")
    return markdown(
        head, rows, "From nothing to a score: ours until mastered, the peer its 10,000 steps"
    ) + (
        "\nAn RNN of width 256 on parity, tested at every length 41–500; each once. Of the peer's "
        f"time, training takes {show(training)} (the first {FIRST_STEPS} of {PEER_STEPS:,} steps "
        "measured, the rest at the rate measured once everything is compiled), testing "
        f"{' and '.join(notes)} (integrated from six lengths).\n"
    )


def run_ours(strings: int) -> tuple[float, dict[str, Any]]:
    """Run the command in fresh folders; return its wall time and the run's record."""
    host = PluginHost.load()
    with tempfile.TemporaryDirectory() as folder:
        protocol = host.protocol("quick").model_dump(mode="json")
        testing = Testing(lengths="all", strings=strings).model_dump(mode="json")
        name = f"quick-all-{strings}"
        file = Path(folder, "protocol.yaml")
        file.write_text(yaml.safe_dump(protocol | {"name": name, "test": testing}), "utf-8")
        command = [sys.executable, "-m", "formalbench", "run", "--model", "rnn"]
        command += ["--task", "parity", "--set", "width=256", "--seeds", "1", "--device", "cpu"]
        command += ["--plugin", str(file), "--protocol", name, "--json"]
        places = dict.fromkeys(("FORMALBENCH_RESULTS", "FORMALBENCH_CACHE"), folder)
        start = time.perf_counter()
        done = subprocess.run(
            command, check=True, env=os.environ | places, stdout=subprocess.PIPE, text=True
        )
        seconds = time.perf_counter() - start
    (record,) = json.loads(done.stdout)
    return seconds, record


def _train_theirs(peer: Checkout) -> float:
    """Return the seconds of the peer's training."""
    with peer.start() as program:
        first = program.seconds(do="first", steps=FIRST_STEPS, **RNN.theirs)
    with theirs_compiled(RNN, peer, 1, 40, warm=WARM_WINDOWS) as window:
        step = statistics.median(window() for _ in range(5)) / RNN.window
    tell(f"peer: first {FIRST_STEPS} steps {show(first)}, later {1 / step:.3g} steps/s")
    return first + (PEER_STEPS - FIRST_STEPS) * step
