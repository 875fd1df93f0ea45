"""Networks trained for a reproduction, to be looked into: from their weights on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.store import Store, weights_path
from formalbench.store.weights import load_network
from torch import nn

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.runs import Wanted


@dataclass(frozen=True, slots=True)
class TrainedNetwork:
    """A trained network.

    Attributes:
        record: of its run.
        module: with the selected weights, in double precision.
    """

    record: Record
    module: nn.Module

    @property
    def accuracy(self) -> float:
        """The share of test strings answered right."""
        assert self.record.test is not None
        return self.record.test.accuracy


def trained(bench: Bench, wanted: Sequence[Wanted]) -> list[list[TrainedNetwork]]:
    """Train what is wanted, and return its networks, those of each in the order of their seeds.

    Raises:
        RequestError: one line, if no run of something finished, or one kept no weights.
    """
    every = []
    for got in bench.train(wanted):
        finished = [record for record in got.chosen if record.status == "finished"]
        if not finished:
            first = got.records[0]
            raise RequestError(
                f"no run of {got.wanted.model} on {got.wanted.task} finished: "
                f"{first.status}, {first.message}"
            )
        every.append([_network(bench, record) for record in finished])
    return every


def records_of(every: Iterable[Iterable[TrainedNetwork]]) -> list[Record]:
    """Return the records of networks."""
    return [network.record for networks in every for network in networks]


def _network(bench: Bench, record: Record) -> TrainedNetwork:
    path = Store(bench.folder).path_of(record)
    if record.weights is None:
        raise RequestError(f"{path} kept no weights to look into: remove it to train again")
    return TrainedNetwork(record, load_network(bench.host, record, weights_path(path)).double())
