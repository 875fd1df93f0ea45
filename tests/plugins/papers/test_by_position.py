"""Where in a string the right close is predicted: against a walk through every string."""

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.host import PluginHost
from formalbench.metrics.close_brackets import MICRO
from formalbench.store import Store, weights_path
from formalbench.store.weights import load_network
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.yao.figure4a import by_position

TINY = """
name: tiny
version: 1
seeds: 2
learning_rates: [0.01]
steps: 60
batch_tokens: 128
evaluate_every: 20
curriculum: {kind: generated}
decay: {steps: 20}
validation: {every: 20, tokens: 300}
test: {tokens: 1500}
"""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    torch.set_num_threads(1)
    (tmp_path / "tiny.yaml").write_text(TINY)
    host = PluginHost.load([tmp_path / "tiny.yaml"])
    return Bench(host, "quick", lambda line: None, tmp_path / "results", "cpu", 1)


def walked(bench, record):
    """Query the network after every prefix separately, with a stack."""
    task = record.protocol.apply(bench.host.task(record.task.name))
    network = load_network(bench.host, record, weights_path(Store(bench.folder).path_of(record)))
    closes = task.source.closes
    right, asked = np.zeros((2, 2000), dtype=int)
    (cell,) = draw_test_set(task, record.protocol).cells
    for example in cell.examples:
        for string in example.inputs.astype(np.int64):
            with torch.no_grad():
                logits = network(Batch(torch.from_numpy(string[None])))[0]
            stack = []
            for position in range(len(string) + 1):
                if stack:
                    shares = logits[position, list(closes)].exp()
                    asked[position] += 1
                    right[position] += bool(shares[stack[-1]] / shares.sum() > 0.8)
                if position < len(string):
                    name = task.alphabet[string[position]]
                    opened = [
                        task.alphabet[i] for i in range(len(task.alphabet)) if i not in closes
                    ]
                    if name in opened:
                        stack.append(opened.index(name))
                    else:
                        stack.pop()
    return right, asked


@pytest.mark.slow
def test_positions_are_counted_as_a_walk_counts_them(bench):
    options = {"width": 8, "heads": 1, "positions": "scalar-6000"}
    wanted = Wanted("row", "column", "transformer", "dyck-2-3:generate", "tiny", options)
    (got,) = bench.train([wanted])
    found = by_position(bench, got.records)
    for placed, record in zip(found, got.records, strict=True):
        right, asked = walked(bench, record)
        assert {place: (one.total, one.count) for place, one in placed.items()} == {
            place: (right[place], asked[place]) for place in np.flatnonzero(asked).tolist()
        }
        assert (right.sum(), asked.sum()) == record.test.cells.whole(MICRO)
    weights_path(Store(bench.folder).path_of(got.records[0])).unlink()
    assert by_position(bench, got.records) == found  # what was found is kept
    again = Bench(bench.host, "quick", bench.report, bench.results, "cpu", 1)
    assert [one is None for one in by_position(again, got.records)] == [True, False]
