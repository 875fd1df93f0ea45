"""What a row's records say, in sentences."""

from __future__ import annotations

from built_records import TO_ITS_END
from formalbench.statistics.board import ExactModel
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.board.summary import MOST_NAMED, verdict_of, verdict_of_verified


def said(records, **view):
    (board,) = build_page(records, View("test", (), **view)).boards
    return {row.model: verdict_of(board, row) for row in board.rows}


def test_what_was_learned_and_how_far_it_goes(make_record):
    tasks = {"far": [100] * 4, "near": [100, 99, 60, 50], "lost": [90, 80, 70, 60]}
    records = [
        make_record(task=f"{task}:classify", accuracy=right, seed=seed, fingerprint="0" * 64)
        for task, right in tasks.items()
        for seed in range(2)
    ]
    records += [
        make_record(task="half:classify", validation=held, seed=seed, fingerprint="0" * 64)
        for seed, held in enumerate((1.0, 0.6))
    ]
    never = {"accuracy": 1.0, "validation": 0.6, "fingerprint": "0" * 64}
    records.append(make_record(task="never:classify", **never))
    assert said(records)["regulargpt"] == (
        "Learned 3 of 5 tasks with every seed, within 2,000 steps. "
        "With some seeds: half (1 of 2). "
        "Not learned: never. "
        "Accuracy stays at 99 % or more up to the longest tested length on far; up to 51 on near. "
        "It is below 99 % at the shortest test length on lost."
    )


def test_what_failed_in_its_test_was_learned_and_takes_no_part_in_the_reach(make_record):
    failed = {"status": "diverged", "training": TO_ITS_END}
    records = [make_record(), make_record(seed=1, **failed)]
    records += [make_record(task="first:classify", seed=seed, **failed) for seed in range(2)]
    assert said(records)["regulargpt"] == (
        "Learned 1 of 1 task with every seed, within 2,000 steps. "
        "No run finished on first. Not all runs finished: parity (1 of 2)."
    )
    records += [make_record("rnn", "first:classify")]
    assert said(records)["regulargpt"] == (
        "Learned 2 of 2 tasks with every seed, within 2,000 steps. "
        "No run finished on first. Not all runs finished: parity (1 of 2)."
    )


def test_many_tasks_are_counted_and_what_is_not_scored_is_left_out(make_record):
    records = [
        make_record(task=f"task-{n}:classify", validation=0.6, fingerprint="0" * 64)
        for n in range(MOST_NAMED + 3)
    ]
    told = said(records)["regulargpt"]
    assert f"Learned 0 of {MOST_NAMED + 3} tasks" in told
    assert told.endswith("and 3 more.")
    assert "not tested on any task that counts" in said([make_record(chance=1.0)])["regulargpt"]


def verified(task, *, exhaustive=12, to=10_000, errors=0):
    sizes = {"depth": 1, "width": 1, "parameters": 1, "break_length": None, "bits": ()}
    told = {"exhaustive": exhaustive, "tested_to": to, "strings": 8590, "errors": errors}
    return ExactModel("m", ("m", ""), task, margin=1.0, commands=(), records=(), **told, **sizes)


def test_what_was_verified_is_told_with_how_far():
    rows = [verified("parity"), verified("first", errors=2105, exhaustive=None, to=None)]
    assert verdict_of_verified(rows) == (
        "Verified, not trained: right on every tested string of parity (exhaustive to length 12, "
        "sampled to 10,000); wrong on first (2,105 of 8,590 strings are wrong)."
    )
    rows = [verified("d2", exhaustive=None, to=50), verified("parity"), verified("first")]
    assert verdict_of_verified(rows) == (
        "Verified, not trained: right on every tested string of d2 (sampled to 50) "
        "and of parity and first (exhaustive to length 12, sampled to 10,000)."
    )
