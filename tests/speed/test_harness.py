"""What the measurements rest on: no test here asserts on time."""

import importlib
import sys
from pathlib import Path

import pytest
from formalbench.contracts.task import Task
from formalbench.store import Store

FOLDER = Path(__file__).parents[2] / "speed"


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    """Let the scripts import each other, as they do when one is run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:  # plain names such as `peer` are not to stay
        if (FOLDER / f"{name}.py").is_file():
            del sys.modules[name]


def load(name):
    return importlib.import_module(name)


def test_two_programs_take_turns_and_a_ratio_is_of_a_pair():
    harness, said = load("harness"), []

    def program(name, times):
        times = iter(times)
        return name, lambda: said.append(name) or next(times)

    row = harness.alternate(
        program("a", [1.0, 2.0, 4.0]), program("b", [3.0, 4.0, 32.0]), "x", 3, units=(1, 2)
    )
    assert "".join(said) == "ababab"
    assert (row.seconds_a, row.seconds_b) == (2.0, 2.0)
    assert (row.ratio, row.low, row.high) == (1.5, 1.0, 4.0)


def test_lengths_between_those_tested_lie_on_straight_lines():
    test = load("harness").Test((2, 4, 10), (20.0, 40.0, 46.0), 0)
    assert test.integrated(2, 10) == pytest.approx(20 + 30 + sum(range(40, 47)))
    with pytest.raises(ValueError, match="outside 2–10"):
        test.integrated(1, 10)


def test_a_part_writes_between_its_own_markers():
    measure = load("measure")
    text = "a\n<!-- one -->\nold\n<!-- end one -->\nb\n<!-- two -->\nkept\n<!-- end two -->\n"
    assert measure.put(text, "one", "\nnew\n") == text.replace("old", "new")
    with pytest.raises(ValueError, match="once each"):
        measure.put(text, "three", "new")


PROGRAM = """
import os, turns
line = turns.Line()
print("noise on the way")
def threads(): return {"seconds": 0.5, "threads": os.environ["OMP_NUM_THREADS"]}
line.serve({"threads": threads, "end": lambda: exit(3)})
"""


@pytest.mark.slow
def test_a_program_answers_and_tells_when_it_cannot(tmp_path, monkeypatch):
    turns = load("turns")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    before = turns.usable_cores()
    with turns.Contender(str(script), cores=1) as program:
        assert program.ask(do="threads") == {"seconds": 0.5, "threads": "1"}
        assert program.seconds(do="threads") == 0.5
        with pytest.raises(turns.ContenderError, match=r"program\.py ended with 3"):
            program.ask(do="end")
    assert turns.usable_cores() == before


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 4])
def test_both_train_on_strings_of_the_same_lengths(monkeypatch, every):
    our_steps, recurrent = load("our_steps"), load("recurrent")
    lengths, sample = [], Task.sample

    def noted(task, stream, length, count):
        if count == 128:  # and not those of the validation
            lengths.append(length)
        return sample(task, stream, length, count)

    monkeypatch.setattr(Task, "sample", noted)
    our_steps.train("rnn", {"width": 4}, every, 40, 6, every=every)
    assert lengths == recurrent.the_lengths(6, every)
    assert len(set(lengths)) > 1
    assert all(length % every == 0 for length in lengths)


def test_products_written_by_us_are_counted(monkeypatch):
    limits = load("limits")
    monkeypatch.setattr(limits, "STEPS", 1)
    with limits.counting() as counter:
        limits.take_steps("lstm")
    limits.check_count("lstm", counter.get_total_flops())
    with pytest.raises(AssertionError):
        limits.check_count("lstm", counter.get_total_flops() / 3)


@pytest.mark.slow
def test_every_published_cell_of_quick_makes_records(monkeypatch, tmp_path):
    checking = load("checking")
    monkeypatch.setattr(checking, "RECORDS", 150)
    size, groups = checking.make(tmp_path)
    found = Store(tmp_path).files()
    assert len(found) == 150
    assert size == sum(path.stat().st_size for path in found)
    assert groups == len(
        {(r.model.name, str(r.model.options), r.task.name) for r in found.values()}
    )
    assert all(record.status == "finished" for record in found.values())


@pytest.mark.slow
def test_every_unit_is_done_once_or_recorded_as_failed(own_place, monkeypatch, tmp_path):
    monkeypatch.setattr("formalbench_executors.slurm.TICK", 0.01)
    monkeypatch.setattr("formalbench_executors.slurm.QUIET", 0.05)
    many_units = load("many_units")
    done = many_units.simulate(120, 16, 0.3, tmp_path / "place")
    many_units.check(done)
    failed = [record for record in done.records if record.status != "finished"]
    assert len(done.records) == 120
    assert 0 < len(failed) < 20  # 2 in a hundred are lost before they write anything, twice
    assert 120 < done.cluster.tried <= 120 + 40 + len(failed)
    assert len(done.cluster.store.records()) == 120
