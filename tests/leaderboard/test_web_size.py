"""The size of a page of a hundred models on sixty tasks."""

import random
from dataclasses import replace

import pytest
from formalbench.host import PluginHost
from formalbench.statistics.board import Board, ExactModels, Page, Row
from formalbench.statistics.result import CellResults, Result, SeedResult, TaskFacts
from formalbench_leaderboard.board.comparison import settings_of
from formalbench_leaderboard.page.descriptions import definitions, details
from formalbench_leaderboard.page.page import render_page

MODELS, TASKS, SEEDS, STRINGS = 100, 60, 3, 256
LENGTHS = tuple(range(41, 501, 29))
MOST_BYTES = 2_000_000 - 300_000
"""But for its map, which has the rest (test_map_drawing.py)."""


def made_run(draw, seed):
    # As hard to pack as can be: every cell is a draw of its own.
    cells = CellResults(
        LENGTHS,
        (STRINGS,) * len(LENGTHS),
        tuple(float(draw.randrange(STRINGS)) for _ in LENGTHS),
    )
    record = f"{draw.getrandbits(64):016x}"
    return SeedResult(
        seed, record, "done", draw.random(), cells, 100 * draw.random(), draw.random(), True, 2000
    )


def made_result(draw, model, task):
    runs = tuple(made_run(draw, seed) for seed in range(SEEDS))
    shares = [draw.random() for _ in range(8)]
    command = f"formalbench run --model {model} --task {task} --protocol quick --seeds {SEEDS}"
    return Result(
        task,
        *shares[:6],
        *shares[6:],
        SEEDS,
        SEEDS,
        (),
        0.001,
        command,
        draw.randrange(41, 500),
        draw.randrange(41, 500),
        draw.random(),
        SEEDS,
        2000,
        runs,
    )


def made_page(tasks):
    draw = random.Random(0)
    facts = tuple(
        TaskFacts(
            title=task,
            metric="accuracy",
            chance_constant=0.5,
            chance_length=0.5,
            first=LENGTHS[0],
            last=LENGTHS[-1],
            cells=len(LENGTHS),
            strings=len(LENGTHS) * STRINGS,
            lengths=LENGTHS,
            language_class="star-free",
        )
        for task in tasks
    )
    rows = []
    for number in range(MODELS):
        model = f"transformer[positions=relative, width={number}]"
        results = tuple(made_result(draw, model, task) for task in tasks)
        score = draw.random()
        standing = (score, score / 2, 1.0, number, number + 9, score, score, score)
        row = Row(model, (model, ""), "learned", (1000, 2000), results, number, *standing, False)
        rows.append(row)
    board = Board("quick", 2, tuple(tasks), (), facts, tuple(rows), ())
    return Page("all", (board,), ExactModels(), (), ())


def made_details(page, host, make_record):
    """Return what the views tell, and of each row how it was run."""
    how = settings_of([make_record()], lambda name: {f"option-{n}": n for n in range(16)})
    (board,) = page.boards
    rows = {row.model: {**how, "seeds": row.model} for row in board.rows}
    return {**details(page, host, []), "settings": {board.name: rows}}


@pytest.mark.slow
def test_a_page_of_a_hundred_models_on_sixty_tasks_is_within_two_megabytes(make_record):
    host = PluginHost.load()
    named = [entry.spec for entry in host.tasks.all() if entry.plugin.name == "formalbench-tasks"]
    names = [spec.name for spec in named if "{" not in spec.name and "classify" in spec.objectives]
    tasks = names[:TASKS]
    assert len(tasks) == TASKS
    records = [make_record(task=f"{task}:classify", fingerprint="0" * 64) for task in tasks]
    page = made_page(tasks)
    told = made_details(page, host, make_record)
    known = replace(definitions(host, records, "all"), details=told)
    assert sum(bool(task.drawing) for task in known.tasks.values()) > 20
    assert len(told["theory"]) > 20
    text = render_page(page, known)["index.html"]
    assert text.count('data-sort="') > MODELS * TASKS
    size = len(text.encode())
    assert MOST_BYTES / 4 < size <= MOST_BYTES
