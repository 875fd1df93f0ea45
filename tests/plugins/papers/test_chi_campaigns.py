"""Tables 1 and 2 of the RegularGPT paper: small campaigns from training to a table."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from formalbench.cli.main import run_command_line
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.host import PluginHost
from formalbench_papers.chi import table1 as chi_table1
from formalbench_papers.chi import table2 as chi_table2
from formalbench_papers.framework.bench import Bench, retest
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.framework.tables import PaperModel

TINY = """\
schema_version: 1
name: tiny
version: 1
seeds: 2
learning_rates: [0.01]
batch: 4
steps: 4
evaluate_every: 2
decay: {steps: 2}
validation: {every: 4, lengths: 2, strings: 4}
test: {lengths: 2, strings: 8}
"""

SMALL = {"width": 4}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Make both tables small: a protocol of four steps, two models, one or two tasks."""
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    rnn = PaperModel("RNN", "rnn", SMALL, SMALL)
    transformer = replace(chi_table1.TRANSFORMER, quick={**SMALL, "heads": 1})
    how = {"models": (rnn,), "quick": ("tomita-6", "parity"), "protocols": {"quick": "tiny"}}
    monkeypatch.setattr(chi_table1, "TABLE", replace(chi_table1.TABLE, **how))
    monkeypatch.setattr(chi_table2, "MODELS", {"RNN": rnn, "Transformer": transformer})
    monkeypatch.setattr(chi_table2, "PROTOCOLS", {"quick": "tiny"})
    monkeypatch.setattr(chi_table2, "PROBABILITIES", (0.5, 0.9))
    monkeypatch.setattr(chi_table2, "STRINGS", 4)
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))

    def run(capsys, *arguments):
        words = ["reproduce", *arguments, "--plugin", file, "--output", tmp_path / "out"]
        words += ["--results", tmp_path / "results", "--device", "cpu", "--jobs", 1]
        code = run_command_line([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def results(folder):
    return {file: file.stat().st_mtime_ns for file in (folder / "results").rglob("*.json")}


def test_a_small_campaign_makes_table_1_and_resumes(capsys, tmp_path, tiny):
    code, out, err = tiny(capsys, "chi-table1")
    assert code == 0, err  # four steps do not teach an RNN its training lengths
    records = results(tmp_path)
    assert len(records) == 4  # two tasks, two seeds
    assert "Scale: quick. Reduced: " in " ".join(out.split())
    assert "2 seeds" in out
    page = (tmp_path / "out" / "chi-table1.md").read_text()
    assert "## Cell by cell: " in page
    assert "10 not run at this scale" in page
    assert "`formalbench reproduce chi-table1 --scale quick`" in page
    assert not list((tmp_path / "out").glob("*.svg"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "chi-table1.csv").read_text())))
    assert len(rows) == 12
    assert {row["row"] for row in rows if row["mean"]} == {"parity", "tomita-6"}

    again = tiny(capsys, "chi-table1", "--json")
    assert again[0] == 0
    verdicts = {claim["verdict"] for claim in json.loads(again[1])["claims"]}
    assert verdicts == {"cannot tell", "not run at this scale"}
    assert results(tmp_path) == records  # nothing was trained again
    data = json.loads(again[1])
    ours = {one["row"]: one["ours"] for one in data["cells"] if one["ours"]}
    assert all(text in page for text in ours.values())
    assert len(ours) == 2


def test_other_tasks_are_shown_if_they_have_records(capsys, tmp_path, tiny, monkeypatch):
    code, out, _ = tiny(capsys, "chi-table1", "--no-training")
    assert (code, results(tmp_path)) == (0, {})
    assert "Cell by cell: 12 not run at this scale" in " ".join(out.split())
    words = ["run", "--model", "rnn", "--set", "width=4", "--task", "d3", "--protocol", "tiny"]
    words += ["--plugin", tmp_path / "tiny.yaml", "--results", tmp_path / "results", "--jobs", 1]
    assert run_command_line([*map(str, words), "--device", "cpu", "--json"]) == 0
    capsys.readouterr()
    _, out, _ = tiny(capsys, "chi-table1", "--no-training")
    assert "11 not run at this scale" in " ".join(out.split())
    assert len(results(tmp_path)) == 2


@pytest.mark.slow
def test_a_small_campaign_makes_table_2(capsys, tmp_path, tiny):
    code, first, err = tiny(capsys, "chi-table2")
    assert code == 1, err
    assert len(results(tmp_path)) == 8  # two probabilities, two models, two seeds
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "chi-table2.csv").read_text())))
    assert len(rows) == 16
    assert all(row["mean"] and row["seeds"] == "2" for row in rows)
    same = {(row["row"], row["column"]): row for row in rows}
    at_half = same["extrapolation, trained at 0.5, RNN", "P(1) = 0.9"]
    again = score_again(tmp_path)
    assert again.mean == pytest.approx(float(same["extrapolation, RNN", "P(1) = 0.5"]["mean"]))
    assert at_half["runs"] == same["extrapolation, RNN", "P(1) = 0.5"]["runs"]
    for weights in (tmp_path / "results").rglob("*.safetensors"):
        weights.unlink()
    _, out, _ = tiny(capsys, "chi-table2", "--no-training")
    counted = [line.strip() for line in first.splitlines() if "Cell by cell: " in line]
    assert counted[0] in out  # what the networks answered is kept
    (tmp_path / "out" / "chi-table2.measured.jsonl").unlink()
    _, out, err = tiny(capsys, "chi-table2", "--no-training")
    assert "12 not run at this scale" in " ".join(out.split())
    assert "kept no weights to look into" in err


def score_again(folder):
    """Test the weights of the RNN for 0.5 on the strings that its runs were tested on."""
    host = PluginHost.load([folder / "tiny.yaml"])
    bench = Bench(host, "quick", lambda line: None, results=folder / "results", device="cpu")
    (got,) = replace(bench, training=False).train(
        [Wanted("RNN", "", "rnn", "parity", "tiny", SMALL)]
    )
    task = host.task("parity")
    return retest(bench, got, task, draw_test_set(task, host.protocol("tiny")))
