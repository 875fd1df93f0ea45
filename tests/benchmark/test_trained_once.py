"""No run is trained twice: more seeds train the new ones, another test tests what is kept."""

import json
from collections import Counter

import pytest
from formalbench.contracts.hooks import hookimpl
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store, weights_path
from formalbench.training import trainer


@pytest.fixture
def trained(monkeypatch):
    """The seeds that were trained since it was last asked."""
    seeds = []
    real = trainer.train_cohort

    def train_cohort(cohort):
        seeds.extend(member.seed for member in cohort.members)
        return real(cohort)

    monkeypatch.setattr(trainer, "train_cohort", train_cohort)

    def trained():
        told = sorted(seeds)
        seeds.clear()
        return told

    return trained


@pytest.fixture
def run(run):
    """Run a request in this process, and return its records."""

    def records(*arguments, **options):
        done = run(*arguments, "--json", **options)
        assert done.code == 0, done.err
        return done.data

    return records


def test_more_seeds_train_the_new_ones(run, trained, results):
    run("--seeds", 3)
    assert trained() == [0, 1, 2]
    before = {path: path.read_bytes() for path in results.rglob("*.*")}
    assert [row["seed"] for row in run("--seeds", 5)] == [0, 1, 2, 3, 4]
    assert trained() == [3, 4]
    assert [row["seed"] for row in run("--seeds", "7,1,11")] == [7, 1, 11]
    assert trained() == [7, 11]
    assert all(path.read_bytes() == contents for path, contents in before.items())


def test_a_model_is_resolved_and_built_for_planning_and_for_training(run, monkeypatch):
    calls = []

    def count(name, real):
        def counted(self, *rest):
            calls.append(name)
            return real(self, *rest)

        monkeypatch.setattr(PluginHost, name, counted)

    count("select_model", PluginHost.select_model)
    count("build_network", PluginHost.build_network)
    done = run("--executor", "serial")
    assert len(done) == 2
    assert Counter(calls) == {"select_model": 2, "build_network": 1 + len(done)}


OPTIMISER = """
from formalbench import Optimiser, OptimiserSpec, hookimpl

class Sign(Optimiser):
    def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        parameters_RP.sub_(rate * gradient_RP.sign())

@hookimpl
def formalbench_optimisers():
    yield OptimiserSpec("sign", "the sign of the gradient", Sign)
"""

METRIC = """
import torch
from formalbench import Metric, MetricSpec, hookimpl

class Ones(Metric):
    name = "ones"

    def measure(self, logits, example):
        ones = torch.ones(len(logits), dtype=torch.float64)
        return torch.stack((ones.sum(), ones.sum()))

@hookimpl
def formalbench_metrics():
    yield MetricSpec("ones", 1, "always one", Ones, ("classify",))
"""


def test_other_code_of_an_optimiser_trains_again(run, trained, write):
    file = write("sign.py", OPTIMISER)
    asked = ("--plugin", file, "--set", "protocol.optimiser.name=sign", "--seeds", 1)
    (first,) = run(*asked)
    assert trained() == [0]
    assert list(first["code"]) == ["optimiser"]
    assert run(*asked) == [first]
    assert trained() == []
    file = write("sign.py", OPTIMISER.replace("rate * grad", "2 * rate * grad"))
    (other,) = run(*asked)
    assert trained() == [0]
    assert other["train_id"] != first["train_id"]
    assert other["code"] != first["code"]


def test_other_code_of_a_metric_tests_again(run, trained, write):
    (plain,) = run("--seeds", 1)
    trained()
    file = write("ones.py", METRIC)
    (first,) = run("--plugin", file, "--seeds", 1)
    write("ones.py", METRIC.replace("ones.sum(), ones", "ones.sum() / 2, ones"))
    (other,) = run("--plugin", file, "--seeds", 1)
    assert trained() == []  # the weights are kept
    assert plain["train_id"] == first["train_id"] == other["train_id"]
    assert len({record["test_id"] for record in (plain, first, other)}) == 3
    sums = [record["test"]["cells"]["metrics"]["ones"] for record in (first, other)]
    assert [one["total"][0] / one["count"][0] for one in sums] == [1.0, 0.5]
    assert plain.get("code") is None


def test_a_protocol_that_tests_otherwise_tests_what_is_kept(run, trained, write, results):
    first = run()
    assert trained() == [0, 1]
    path = write(
        "longer.yaml",
        "name: longer\nversion: 1\nextends: tiny\ntest: {lengths: [41, 300, 500], strings: 32}\n",
    )
    other = run("--plugin", path, protocol="longer")
    assert trained() == []
    for was, now in zip(first, other, strict=True):
        assert now["train_id"] == was["train_id"]
        assert now["test_id"] != was["test_id"]
        for part in ("training", "selected", "weights", "model"):
            assert now[part] == was[part]
        assert now["protocol"]["name"] == "longer"
        assert now["test"]["cells"]["strings"] == [32, 32, 32]
        assert now["test"]["fingerprint"] != was["test"]["fingerprint"]
    store = Store(results)
    files = {weights_path(store.path_of(record)).read_bytes() for record in store.records()}
    assert len(store.records()) == 4
    assert len(files) == 2  # two seeds; each beside both of its records
    # What the kept weights give is what a run of its own gives.
    fresh = run("--plugin", path, "--results", "elsewhere", protocol="longer")
    assert trained() == [0, 1]
    assert [row["test"]["cells"] for row in fresh] == [row["test"]["cells"] for row in other]
    assert [row["test_id"] for row in fresh] == [row["test_id"] for row in other]


def test_what_set_changes_of_the_test_tests_what_is_kept(run, trained):
    run()
    trained()
    rows = run("--set", "protocol.test.strings=8,32")
    assert trained() == []
    assert [row["protocol"]["changed"] for row in rows] == [
        {"test.strings": 8}, {"test.strings": 8}, {"test.strings": 32}, {"test.strings": 32}
    ]  # fmt: skip
    run("--set", "protocol.steps=60")
    assert trained() == [0, 1]


def test_one_that_is_watched_is_trained_again(run, trained, write):
    run()
    trained()
    text = "name: seen\nversion: 1\nextends: tiny\nwatch: {every: 20, lengths: [3]}\n"
    path = write("seen.yaml", text)
    rows = run("--plugin", path, protocol="seen")
    assert trained() == [0, 1]
    assert all(row["training"]["history"]["every"] == 20 for row in rows)
    run("--plugin", path, protocol="seen")
    assert trained() == []


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["gone", "other"])
def test_weights_that_are_gone_or_damaged_are_trained_again(run, trained, results, damage):
    run()
    trained()
    for path in results.rglob("*.safetensors"):
        path.unlink() if damage == "gone" else path.write_bytes(b"x")
    run("--set", "protocol.test.strings=8")
    assert trained() == [0, 1]


def test_weights_that_fit_other_lengths_only_are_trained_again(run, trained):
    learned = ("--set", "positions=learned", "--set", "model.width=8", "--seeds", 1)
    (first,) = run(*learned, model="transformer")
    trained()
    (other,) = run(*learned, "--set", "protocol.splits.test=41,60", model="transformer")
    assert trained() == [0]  # its table of positions is as long as the longest string
    assert json.dumps(first["model"]["parameters"]) != json.dumps(other["model"]["parameters"])


@pytest.mark.slow
def test_two_tests_of_a_run_at_a_time_train_it_once(tiny, odd_models, results):
    heard = set()

    class Observer:
        @hookimpl
        def formalbench_run_progress(self, run, progress):
            if progress.phase == "train":
                heard.add((run.test_id, run.seed))

    host = PluginHost.load([tiny, odd_models])
    host.observe(Observer(), "observer")
    settings = parse_settings(["protocol.test.strings=8,16,32"])
    request = RunRequest(("bag",), ("first",), protocol="tiny", seeds=2, settings=settings)
    plan = make_plan(host, request)
    records = execute(host, plan, Store(results), RunOptions(jobs=3))
    assert [record.status for record in records] == ["finished"] * 6
    assert sorted(seed for _, seed in heard) == [0, 1]
    assert len({record.weights for record in records}) == 2


def test_protocols_that_test_a_run_alike_have_a_record_each(run, trained, write):
    rows = run("--seeds", 1, "--set", "protocol.seeds=2,3")
    assert trained() == [0]
    assert len({row["test_id"] for row in rows}) == 1
    assert [row["protocol"].get("changed") for row in rows] == [None, {"seeds": 3}]
    again = run("--seeds", 1, "--set", "protocol.seeds=2,3")
    assert trained() == []
    assert again == rows


def test_a_protocol_of_another_version_is_tested_again(run, trained, write):
    text = "name: same\nversion: {}\nextends: tiny\nseeds: 1\n"
    for version, seeds in ((1, [0]), (2, [])):
        path = write("same.yaml", text.format(version))
        (row,) = run("--plugin", path, protocol="same")
        assert (row["protocol"]["version"], trained()) == (version, seeds)
