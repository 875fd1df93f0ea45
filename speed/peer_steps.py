"""The peer, as a program that takes turns: `python peer_steps.py CHECKOUT`.

The peer is DeepMind's `neural_networks_chomsky_hierarchy` (Delétang et al. 2023). Its own
training loop and its own range evaluation run, unchanged; what is ours is the clock, which
sits in the curriculum and in the sampler that the loops call. Runs under the peer's interpreter.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from turns import Line, peak_bytes

PACKAGE = "neural_networks_chomsky_hierarchy"


class Peer:
    """What is used of the peer, from a checkout (a folder of the package's name)."""

    def __init__(self, checkout: Path) -> None:
        if checkout.name != PACKAGE:
            raise SystemExit(f"the checkout must be a folder called {PACKAGE}: {checkout}")
        sys.path.insert(0, str(checkout.parent))
        import haiku
        from neural_networks_chomsky_hierarchy.experiments import (
            constants,
            range_evaluation,
            training,
            utils,
        )
        from neural_networks_chomsky_hierarchy.models import positional_encodings

        self.haiku, self.constants, self.utils = haiku, constants, utils
        self.training, self.range_evaluation = training, range_evaluation
        self.positions = positional_encodings
        self.task = constants.TASK_BUILDERS["parity_check"]()

    def network(self, kind: str, options: Mapping[str, Any], positions: str | None) -> Any:
        """Build a network that answers parity from the last position."""
        options = dict(options)
        if positions is not None:
            options["positional_encodings"] = self.positions.PositionalEncodings[positions]
            options["positional_encodings_params"] = self.positions.SinCosParams()
        builder = self.constants.MODEL_BUILDERS[kind]
        body = builder(output_size=self.task.output_size, return_all_outputs=True, **options)
        padded = self.utils.make_model_with_empty_targets(body, self.task, 0, single_output=True)
        return self.haiku.transform(padded)

    def loss(self, output: Any, target: Any) -> tuple[Any, dict[str, Any]]:
        """Return the mean cross-entropy."""
        return self.task.pointwise_loss_fn(output, target).sum(-1).mean(), {}

    def accuracy(self, output: Any, target: Any) -> Any:
        """Return the share of right answers."""
        return self.task.accuracy_fn(output, target).mean()

    def train(self, network: Any, curriculum: Any, steps: int, log_every: int) -> None:
        """Run the peer's training loop: batch 128, clipping at 1, Adam."""
        parameters = self.training.ClassicTrainingParams(
            seed=0,
            model_init_seed=0,
            training_steps=steps,
            log_frequency=log_every,
            task=self.task,
            length_curriculum=curriculum,
            batch_size=128,
            model=network,
            loss_fn=self.loss,
            learning_rate=1e-3,
            accuracy_fn=self.accuracy,
        )
        self.training.TrainingWorker(parameters).run()


class Lengths:
    """A curriculum by the peer's interface: lengths uniform in first … last."""

    def __init__(self, first: int, last: int) -> None:
        self.values = range(first, last + 1)

    def sample_sequence_length(self, step: int) -> int:
        """Return a length."""
        return random.choice(self.values)


class InTurns(Lengths):
    """A curriculum that is asked for windows of steps, and waits between them.

    The loop reads the loss back at steps 0, w, 2w, …, and so has finished its work when it
    asks for the length of the step after.
    """

    def __init__(self, first: int, last: int, line: Line, window: int) -> None:
        super().__init__(first, last)
        self.line, self.window, self.start = line, window, time.perf_counter()

    def sample_sequence_length(self, step: int) -> int:
        """Return a length; at the end of a window, answer and wait for the next request."""
        if step % self.window == 1:
            if step > 1:
                self.line.answer(seconds=time.perf_counter() - self.start)
                self.line.next()
            self.start = time.perf_counter()
        return super().sample_sequence_length(step)


class Clocked:
    """A sampler that notes when the first batch of each length is drawn."""

    def __init__(self, sample: Any) -> None:
        self.sample, self.starts = sample, {}

    def __call__(self, key: Any, batch: int, length: int) -> Any:
        """Return a batch."""
        self.starts.setdefault(length, time.perf_counter())
        return self.sample(key, batch, length)


def main() -> None:
    peer, line = Peer(Path(sys.argv[1]).resolve()), Line()

    def first(
        kind: str, options: dict[str, Any], steps: int, positions: str | None = None
    ) -> dict[str, Any]:
        """Time the first steps on lengths 1–40, compilation included; once a process."""
        network = peer.network(kind, options, positions)
        start = time.perf_counter()
        peer.train(network, Lengths(1, 40), steps - 1, steps - 1)
        return {"seconds": time.perf_counter() - start}

    def windows(
        kind: str,
        options: dict[str, Any],
        first: int,
        last: int,
        window: int,
        positions: str | None = None,
    ) -> dict[str, Any]:
        """Train from now on, and answer a request a window of steps."""
        network = peer.network(kind, options, positions)
        peer.train(network, InTurns(first, last, line, window), sys.maxsize - 1, window)
        raise AssertionError("it trains for ever")

    def test(
        kind: str,
        options: dict[str, Any],
        lengths: Sequence[int],
        strings: int,
        positions: str | None = None,
    ) -> dict[str, Any]:
        """Run the peer's range evaluation at some lengths."""
        import jax

        network, module = peer.network(kind, options, positions), peer.range_evaluation
        key = jax.random.PRNGKey(0)
        weights = network.init(key, peer.task.sample_batch(key, 8, 10)["input"])
        sample = Clocked(peer.task.sample_batch)
        # It tests every length from 1 on. Of a few only, by another `range` in its module:
        # with two arguments that is the range of lengths.
        module.range = lambda *ends: iter(lengths) if len(ends) == 2 else range(*ends)
        module.range_evaluation(
            module.EvaluationParams(
                model=network,
                params=weights,
                accuracy_fn=peer.accuracy,
                sample_batch=sample,
                max_test_length=max(lengths),
                total_batch_size=strings,
                sub_batch_size=64,
            )
        )
        stamps = [*(sample.starts[length] for length in lengths), time.perf_counter()]
        return {"seconds": list(differences(stamps)), "peak": peak_bytes()}

    line.serve({"first": first, "windows": windows, "test": test})


def differences(stamps: Sequence[float]) -> Iterator[float]:
    """Return the times between stamps."""
    for before, after in pairwise(stamps):
        yield after - before


if __name__ == "__main__":
    main()
