"""Metrics that plugins add to an objective's, on the board."""

import csv
import io
import json

import pytest
from formalbench.contracts.metric import Measure, Metric
from formalbench.contracts.record import parse_record
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.board.tables import of_task
from formalbench_leaderboard.renderers import renderer


@pytest.fixture
def measured(make_record):
    """Return a function: a record in which a plugin's metric was measured at four lengths."""

    def make(model="regulargpt", seed=0, **sums):
        data = json.loads(make_record(model, seed=seed).to_json())
        data["test"]["extra_metrics"] = {"f1": 1}
        data["test"]["cells"]["metrics"] |= {
            name.replace("_", "-"): {"total": total, "count": count}
            for name, (total, count) in sums.items()
        }
        return parse_record(json.dumps(data), "it")

    return make


def page_of(*records):
    return build_page(records, View("test", ("parity",)))


def test_it_is_the_mean_over_cells_and_seeds(measured, make_record):
    page = page_of(
        measured(f1=([10, 0, 30, 0], [100, 100, 50, 0]), f10=([1] * 4, [1] * 4)),
        measured(seed=1, f1=([50] * 4, [100] * 4)),
        measured("rnn", f1_rare=([1, 2, 3, 4], [4] * 4)),
        make_record("lstm"),
    )
    (board,) = page.boards
    found = {row.model: row.results[0].metrics for row in board.rows}
    assert found == {
        "regulargpt": {"f1": pytest.approx(((0.1 + 0.0 + 0.6) / 3 + 0.5) / 2)},
        "rnn": {"f1-rare": pytest.approx(0.625)},
        "lstm": {},
    }


def test_every_face_has_a_column_where_there_is_one(measured, make_record):
    page = page_of(measured(f1=([25] * 4, [100] * 4)), make_record("rnn"))
    (board,) = page.boards
    sheet = of_task(board, "parity")
    place = sheet.headings.index("f1")
    cells = {line[0]: line[place] for line in sheet.texts}
    assert cells == {"regulargpt": "0.25", "rnn": "–"}
    lines = list(csv.DictReader(io.StringIO(renderer("csv")(page))))
    assert {line["model"]: line["f1"] for line in lines} == {"regulargpt": "0.25", "rnn": ""}
    assert "|   f1 |" in renderer("markdown")(page)
    rows = json.loads(renderer("json")(page))["measured"][0]["rows"]
    runs = {row["model"]: row["results"][0]["runs"][0].get("metrics") for row in rows}
    assert runs == {"regulargpt": {"f1": 0.25}, "rnn": None}


def test_nothing_changes_where_there_is_none(make_record):
    page = page_of(make_record("rnn"))
    assert "f1" not in of_task(page.boards[0], "parity").headings
    assert '"metrics"' not in renderer("json")(page)


def test_one_that_is_no_mean_is_finished_over_merged_counts(host, monkeypatch):
    """Batch by batch, the mean of F1 would be another number."""
    import torch
    from formalbench.contracts.task import Task
    from formalbench.evaluation import evaluate
    from formalbench.evaluation.cells import Cell, TestSet

    class F1(Metric):
        name = "f1"

        def measure(self, logits, example):
            said, right = logits.argmax(-1).bool(), example.targets.bool()
            counts = ((said & right), (said & ~right), (~said & right), said | True)
            return torch.stack([count.sum() for count in counts]).double()

        def finish(self, state):
            hit, wrong, missed, count = state
            return {"f1": Measure(count * 2 * hit / (2 * hit + wrong + missed), round(count))}

    class FirstTwo(torch.nn.Module):
        """Says 1 if both of the first symbols are 1."""

        def forward(self, batch):
            both = (batch.symbols[:, 0] & batch.symbols[:, 1]).float()
            return torch.stack((1 - both, both), dim=1)

    base = host.task("first")
    task = Task("first", 1, base.source, base.objective, extra_metrics=(F1(),))
    example = task.sample(task.stream("test", 6), 6, 64)
    strings = TestSet((Cell(6, 6, (example,)),))
    monkeypatch.setattr(evaluate, "MAX_SYMBOLS", 6 * 8)  # eight strings a batch
    (score,) = evaluate.evaluate(FirstTwo(), task, strings, torch.device("cpu"))
    first, second = example.inputs[:, 0], example.inputs[:, 1]
    hit, missed = int((first & second).sum()), int((first & ~second & 1).sum())
    assert score.measures["f1"].mean == pytest.approx(2 * hit / (2 * hit + missed))
    assert score.measures["f1"].count == 64
