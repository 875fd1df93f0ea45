"""With `fallback`, a learning rate is tried where a seed of each rate before it did not learn."""

import pytest
from formalbench.host import PluginHost
from formalbench.running.estimate import due, estimate
from formalbench.running.plan import RunOptions, RunPlan, RunRequest, key_of, make_plan
from formalbench.running.session import execute, finished
from formalbench.store import Store

FALLBACK = """
    name: {name}
    version: 1
    extends: tiny
    learning_rates: [0.001, 0.01, 0.0001]
    seeds: 2
    fallback: true
    decay: {{validated: {validated}}}
"""


@pytest.fixture
def plan(tiny, odd_models, write):
    """Plan the runs of a model on two tasks, where any or no validation is good enough."""
    paths = [
        write(f"{name}.yaml", FALLBACK.format(name=name, validated=validated))
        for name, validated in (("easy", 0.01), ("hard", 1.0))
    ]
    host = PluginHost.load([tiny, odd_models, *paths])

    def plan(protocol, models=("bag",)):
        return host, make_plan(host, RunRequest(models, ("first", "parity"), protocol=protocol))

    return plan


def told(runs):
    return [(run.task.name.partition(":")[0], run.learning_rate, run.seed) for run in runs]


def cell(task, rate):
    return [(task, rate, seed) for seed in range(2)]


def test_the_next_rate_is_tried_where_a_seed_did_not_learn(plan, tmp_path):
    host, made = plan("hard")
    records = execute(host, made, Store(tmp_path / "hard"), RunOptions(jobs=1))
    assert len(records) == len(made.runs) == 2 * 3 * 2
    host, made = plan("easy")
    records = execute(host, made, Store(tmp_path / "easy"), RunOptions(jobs=1))
    assert {record.learning_rate for record in records} == {0.001}
    assert len(records) == 2 * 2


def test_what_is_due_follows_from_the_records(plan, tmp_path):
    host, made = plan("hard")
    records = execute(host, made, Store(tmp_path / "store"), RunOptions(jobs=1))
    every = {key_of(run): record for run, record in zip(made.runs, records, strict=True)}

    def after(*rates, perfect=()):
        """Return what is due once the runs at some rates are done, of which some were perfect."""
        done = {}
        for run in made.runs:
            record = every[key_of(run)]
            if told([run])[0] in perfect:
                right = {"correct": record.selected.asked}
                selected = record.selected.model_copy(update=right)
                record = record.model_copy(update={"selected": selected})
            if run.learning_rate in rates:
                done[key_of(run)] = record
        return told(due(made.runs, done))

    assert after() == cell("first", 0.001) + cell("parity", 0.001)
    assert after(0.001) == cell("first", 0.01) + cell("parity", 0.01)
    assert after(0.001, perfect=[("first", 0.001, 1)]) == cell("first", 0.01) + cell("parity", 0.01)
    assert after(0.001, perfect=cell("first", 0.001)) == cell("parity", 0.01)
    assert after(0.001, 0.01, perfect=cell("parity", 0.01)) == cell("first", 0.0001)
    assert after(0.01) == cell("first", 0.001) + cell("parity", 0.001)
    assert after(0.001, 0.01, 0.0001) == []
    one_seed = {key_of(made.runs[0]): every[key_of(made.runs[0])]}
    assert told(due(made.runs, one_seed)) == [("first", 0.001, 1), *cell("parity", 0.001)]


@pytest.mark.parametrize(
    ("status", "says"),
    [("error", False), ("out-of-memory", False), ("diverged", True), ("timeout", True)],
)
def test_what_failed_before_its_training_ended_says_nothing_of_its_rate(
    plan, tmp_path, status, says
):
    host, made = plan("hard")
    (run, *_) = made.runs
    records = execute(host, made, Store(tmp_path / "store"), RunOptions(jobs=1))
    every = {key_of(run): record for run, record in zip(made.runs, records, strict=True)}
    first = {key: one for key, one in every.items() if one.learning_rate == 0.001}
    stopped = first[key_of(run)].training.model_copy(update={"ended": "stopped"})
    first[key_of(run)] = first[key_of(run)].model_copy(
        update={"status": status, "message": "for tests", "training": stopped, "test": None}
    )
    others = cell("first", 0.01) if says else []
    assert told(due(made.runs, first)) == others + cell("parity", 0.01)


def test_an_estimate_counts_the_rates_that_are_due(plan, tmp_path):
    host, made = plan("hard")
    store = Store(tmp_path / "store")
    found = estimate(made, "cpu", {}, ())
    assert (found.runs, found.finished, len(found.units)) == (4, 0, 4)
    execute(host, plan("easy")[1], store, RunOptions(jobs=1))
    done = finished(plan("easy")[1], store)
    found = estimate(plan("easy")[1], "cpu", done, ())
    assert (found.runs, found.finished, len(found.units)) == (4, 4, 0)


def test_runs_at_a_later_rate_alone_have_an_estimate(plan):
    """The missing part of a plan has no runs at the first rate where these are finished."""
    _, made = plan("hard")
    later = RunPlan(tuple(run for run in made.runs if run.learning_rate == 0.01))
    assert told(due(later.runs, {})) == cell("first", 0.01) + cell("parity", 0.01)
    assert estimate(later, "cpu", {}, ()).runs == 4


def test_an_exact_model_has_no_rates(plan, tmp_path):
    host, made = plan("hard", models=("rejecting",))
    records = execute(host, made, Store(tmp_path / "store"), RunOptions(jobs=1))
    assert [record.status for record in records] == [*("finished", "finished")]


def test_a_fallback_needs_to_know_where(tiny, write, refused):
    path = write("p.yaml", "name: p\nversion: 1\nextends: tiny\nfallback: true\n")
    line = refused("show", "protocol", "p", "--plugin", tiny, "--plugin", path)
    assert "fallback needs decay.validated" in line


def test_what_is_tried_changes_no_identity(plan):
    runs = plan("hard")[1].runs
    bare = runs[0].protocol.model_copy(update={"fallback": None})
    assert "fallback" not in runs[0].protocol.train_facts()
    assert bare.train_facts() == runs[0].protocol.train_facts()
