"""The single files of the examples, loaded as their heads say, and run."""

import csv
import json
import operator
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from formalbench import ParameterInfo
from formalbench.checks import check_plugin
from formalbench.documents.reproduction import Document
from formalbench.host import PluginHost
from formalbench_papers import Bench
from formalbench_papers.framework.report import Circumstances, as_markdown, document

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
SHORT = (
    *("--set", "protocol.decay.steps=20", "--set", "protocol.learning_rates=0.003"),
    *("--set", "protocol.curriculum.kind=uniform", "--set", "protocol.validation.every=20"),
    *("--set", "protocol.test.lengths=42,60", "--set", "protocol.test.strings=32"),
    *("--set", "protocol.validation.lengths=4", "--seeds", "1", "--device", "cpu"),
)


@pytest.fixture
def run(tmp_path: Path):
    """Run a model on a task with an example loaded, and return the records."""
    environment = os.environ | {
        "FORMALBENCH_RESULTS": str(tmp_path / "results"),
        "FORMALBENCH_CACHE": str(tmp_path / "cache"),
    }

    def call(file: str, *arguments: str, steps: int = 40) -> list[dict]:
        command = [sys.executable, "-m", "formalbench", "run", "--json", *SHORT, *arguments]
        command += ["--set", f"protocol.steps={steps}"]
        done = subprocess.run(
            [*command, "--plugin", str(EXAMPLES / file)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "dropped" not in done.stderr
        return json.loads(done.stdout)

    return call


def test_the_index_tells_of_every_file():
    text = (EXAMPLES / "README.md").read_text("utf-8")
    assert [file.name for file in FILES if f"]({file.name})" not in text] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_imports_from_the_facade_alone(file):
    lines = [line for line in file.read_text("utf-8").splitlines() if "import" in line]
    assert [line for line in lines if line.startswith("from formalbench.")] == []


def test_a_network_of_mixers_runs(run):
    (record,) = run(
        "hybrid.py:MambaAttention", "--model", "mamba-attention[width=8]", "--task", "parity"
    )
    assert record["status"] == "finished"
    text = (EXAMPLES / "hybrid.py").read_text("utf-8")
    assert len([line for line in text.splitlines() if line.strip()]) <= 16


def test_the_string_function_keeps_the_contract():
    checks = check_plugin(EXAMPLES / "rewriting.py")
    assert {check.subject for check in checks} >= {
        "task running-parity:rewrite",
        "task running-parity:transduce",
    }
    assert [check for check in checks if not check.passed] == []


@pytest.mark.slow
def test_hidden_symbols_are_learned(run):
    asked = ("--model", "transformer[width=32, causal=false]", "--task", "tomita-2:masked-symbol")
    (record,) = run("masked_symbol.py", *asked, steps=300)
    assert record["test"]["metric"] == "answer-accuracy"
    cells = record["test"]["cells"]
    symbols = map(operator.mul, cells["length"], cells["strings"])
    assert sum(cells["answers"]) < sum(symbols)
    assert {"string-accuracy", "cross-entropy"} <= set(cells["metrics"])
    # 10 again and again: a hidden symbol follows from its neighbour, and is learned fast.
    assert record["selected"]["correct"] / record["selected"]["answers"] > 0.8


def test_a_string_is_rewritten(run):
    (record,) = run("rewriting.py", "--model", "rnn[width=32]", "--task", "running-parity")
    assert record["task"]["name"] == "running-parity:rewrite"
    assert {"answer-accuracy", "cross-entropy"} <= set(record["test"]["cells"]["metrics"])


@pytest.mark.slow
def test_a_metric_is_measured_beside_the_objectives_own(run):
    (record,) = run("brier_score.py", "--model", "gru[width=8]", "--task", "first")
    sums = record["test"]["cells"]["metrics"]["brier-score"]
    assert sums["count"] == record["test"]["cells"]["strings"]
    pairs = zip(sums["total"], sums["count"], strict=True)
    assert all(0 <= total <= 2 * count for total, count in pairs)
    assert record["test"]["extra_metrics"] == {"brier-score": 1}


@pytest.mark.slow
def test_an_optimiser_trains(run):
    arguments = ("--model", "gru[width=16]", "--task", "first")
    (lars,) = run("lars.py", *arguments, "--set", "protocol.optimiser.name=lars")
    (adam,) = run("lars.py", *arguments)
    assert lars["protocol"]["optimiser"]["name"] == "lars"
    assert lars["train_id"] != adam["train_id"]
    assert lars["selected"]["metrics"] != adam["selected"]["metrics"]


def test_a_step_of_lars_is_what_the_paper_says(load_example):
    module = load_example("lars.py")
    matrix = ParameterInfo("weight", (1, 2), slice(2), "hidden")
    layout = (matrix, ParameterInfo("bias", (1,), slice(2, 3)))
    config = module.LarsConfig(weight_decay=0.1, trust=0.5)
    parameters, momentum = torch.tensor([[3.0, 4.0, 1.0]]), torch.tensor([[1.0, 0.0, 1.0]])
    gradient, rate = torch.tensor([[0.3, 0.4, 2.0]]), torch.tensor([[0.01]])
    lars = module.Lars(config).with_layout(layout)
    lars.step(parameters, gradient, [momentum], rate, torch.zeros(0), 0.1)
    # The matrix's direction has norm 1, and its step 0.5 times its norm, 5; the bias's is as it is.
    step = torch.tensor([[0.9 + 0.01 * 2.5 * 0.6, 0.01 * 2.5 * 0.8, 0.9 + 0.01 * 2.1]])
    torch.testing.assert_close(momentum, step)
    torch.testing.assert_close(parameters, torch.tensor([[3.0, 4.0, 1.0]]) - step)


@pytest.mark.slow
def test_a_tracker_hears_every_number(run, tmp_path):
    run("csv_tracker.py", "--model", "gru[width=8]", "--task", "first")
    with (tmp_path / "tracked.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["metric"] for row in rows} >= {
        "train/loss",
        "train/error",
        "validation/accuracy",
        "validation/cross-entropy",
    }
    assert {row["step"] for row in rows if row["metric"] == "train/loss"} == {"20", "40"}


@pytest.mark.slow
def test_an_executor_carries_units_out(run):
    arguments = ("--model", "gru[width=8]", "--task", "first,parity")
    pooled = run("process_pool.py", *arguments, "--executor", "process-pool", "--results", "one")
    plain = run("process_pool.py", *arguments, "--executor", "serial", "--results", "two")
    assert [record["status"] for record in pooled] == ["finished", "finished"]
    assert [r["test"]["cells"] for r in pooled] == [r["test"]["cells"] for r in plain]


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
