"""The example of a reproduction: carried out with a protocol of a blink, checked, paged."""

from __future__ import annotations

from pathlib import Path

import pytest
from formalbench.checks import check_plugin
from formalbench.documents.reproduction import Document
from formalbench.host import PluginHost
from formalbench_papers import Bench
from formalbench_papers.framework.report import Circumstances, as_markdown, document

FILE = Path(__file__).parents[2] / "examples" / "reproduction.py"
TINY = """
name: tiny
version: 1
seeds: 1
learning_rates: [0.01]
steps: 4
batch: 4
evaluate_every: 2
decay: {steps: 2}
validation: {every: 4, lengths: 2, strings: 4}
test: {lengths: 2, strings: 8}
"""


def test_it_keeps_the_contract():
    checks = check_plugin(FILE)
    assert "reproduction deletang-parity" in [check.subject for check in checks]
    assert [check for check in checks if not check.passed] == []


@pytest.fixture
def told(load_example, tmp_path, monkeypatch) -> Document:
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    protocol = tmp_path / "tiny.yaml"
    protocol.write_text(TINY)
    example = load_example("reproduction.py")
    monkeypatch.setitem(example.PROTOCOLS, "quick", "tiny")
    host = PluginHost.load([protocol])
    bench = Bench(host, "quick", print, tmp_path / "results", "cpu", 1)
    (spec,) = example.formalbench_reproductions()
    how = Circumstances("quick", 1.0, "2026-11-22", "a machine")
    return document(spec, spec.factory(bench), how)


@pytest.mark.slow
def test_it_finds_what_so_little_training_gives(told):
    assert [(cell.row, cell.column) for cell in told.cells] == [
        *(("even-pairs", model) for model in ("RNN", "Transformer")),
        *(("parity", model) for model in ("RNN", "Transformer")),
    ]
    assert [cell.paper for cell in told.cells] == ["100.0", "67.7", "100.0 / 95.5", "52.0 / 50.4"]
    assert told.claims[0].verdict == "cannot tell"  # it has not learned the training lengths
    assert told.records == 4
    assert "PARITY" in as_markdown(told)
