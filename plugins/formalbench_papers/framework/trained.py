"""Networks trained for a reproduction, to be looked into: from their weights on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.store import Store, weights_path
from formalbench.store.weights import load_network
from torch import nn

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.measurements import Step
from formalbench_papers.framework.runs import LEARNED, Wanted


class NoWeightsError(RequestError):
    """A run whose weights are not kept, and whose network was not looked into before."""


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network.

    Attributes:
        bench: knows where its weights are, and what was found in it before.
        record: of its run.
    """

    bench: Bench
    record: Record

    @cached_property
    def module(self) -> nn.Module:
        """The network with the selected weights, in double precision.

        Raises:
            NoWeightsError: one line, if they are not there.
        """
        path = Store(self.bench.folder).path_of(self.record)
        weights = weights_path(path)
        if self.record.weights is None or not weights.is_file():
            raise NoWeightsError(f"{path} kept no weights to look into: remove it to train again")
        network: nn.Module = load_network(self.bench.host, self.record, weights).double()
        return network

    @property
    def accuracy(self) -> float:
        """The share of test strings answered right."""
        assert self.record.test is not None
        return self.record.test.accuracy

    @property
    def learned(self) -> bool:
        """Whether it learned the training lengths: `LEARNED` of the validation strings."""
        return self.record.selected is not None and self.record.selected.accuracy >= LEARNED

    def find(self, step: Step, look: Callable[[], Any]) -> Any:
        """Return what a look into the network finds; nobody looks twice.

        Args:
            step: all that decides it beside the network.
            look: does it; returns what JSON can say.
        """
        return self.bench.measured({"test_id": self.record.test_id, **step}, look)


def trained(bench: Bench, wanted: Sequence[Wanted]) -> list[list[TrainedNetwork]]:
    """Train what is wanted, and return its networks, those of each in the order of their seeds.

    Returns:
        One list per cell; an empty one where nothing was trained yet.

    Raises:
        RequestError: one line, if no run of something finished.
    """
    every = []
    for got in bench.train(wanted):
        finished = [one for one in got.chosen if one.status == "finished"] if got else []
        if got and not finished:
            first = got.records[0]
            raise RequestError(
                f"no run of {got.wanted.model} on {got.wanted.task} finished: "
                f"{first.status}, {first.message}"
            )
        every.append([TrainedNetwork(bench, record) for record in finished])
    return every


def records_of(every: Iterable[Iterable[TrainedNetwork]]) -> list[Record]:
    """Return the records of networks."""
    return [network.record for networks in every for network in networks]
