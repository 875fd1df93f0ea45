"""Protocols with their own lengths, which apply everywhere."""

import json
from dataclasses import replace

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.verification import parse_any
from formalbench.evaluation.cells import split_lengths
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunRequest, make_plan
from formalbench.running.units import cohorts_of
from formalbench.store.weights import load_network
from formalbench_leaderboard.publishing.record_check import Admission

OWN = """
    name: long
    version: 1
    extends: tiny
    curriculum: {kind: uniform}
    splits: {train: [3, 5], test: [70, 72]}
"""


def protocol(**splits):
    return Protocol.model_validate({"name": "p", "version": 1, "splits": splits or None})


@pytest.mark.parametrize(
    ("splits", "train", "test"),
    [
        ({"train": [10, 10]}, [10], list(range(41, 501))),
        ({"test": [1000, 1001]}, list(range(1, 41)), [1000, 1001]),
        ({"train": [0, 2], "test": [7, 7]}, [0, 1, 2], [7]),
        ({}, list(range(1, 41)), list(range(41, 501))),
    ],
)
def test_lengths_in_the_place_of_the_tasks(host, splits, train, test):
    task = protocol(**splits).apply(host.task("first"))
    assert split_lengths(task, "train") == train
    assert split_lengths(task, "test") == test


def test_a_task_of_even_lengths_stays_one(host):
    task = protocol(train=[3, 9]).apply(host.task("dyck-2-3"))
    assert split_lengths(task, "train") == [4, 6, 8]
    with pytest.raises(RequestError, match=r"dyck-2-3:classify has no strings of length 7 to 7"):
        protocol(train=[7, 7]).apply(host.task("dyck-2-3"))


def test_a_protocol_without_keeps_its_text_and_one_with_has_an_identity_of_its_own():
    assert "splits" not in protocol().model_dump_json()
    assert json.loads(protocol(train=[1, 2]).model_dump_json())["splits"] == {"train": [1, 2]}


def test_a_run_trains_and_tests_there(run, write, tiny, results):
    path = write("long.yaml", OWN)
    # Learned positions are made for the longest string there is: 72, not 500.
    learned = ("--set", "positions=learned", "--set", "width=8", "--seeds", 1)
    done = run(*learned, model="transformer", protocol="long", plugins=[path])
    assert done.code == 0, done.err
    (file,) = results.rglob("*.json")
    record = parse_any(file.read_text(), file.name)
    assert record.test.cells.length == (70, 71, 72)
    assert record.training.stage == 5
    host = PluginHost.load([path, tiny])
    Admission(host).admit(record)
    network = load_network(host, record, file.with_suffix(".safetensors"))
    assert network.embedding.position.num_embeddings == 73


def test_protocols_never_share_a_cohort(write, tiny):
    host = PluginHost.load([write("long.yaml", OWN), tiny])
    rates = parse_settings(["protocol.learning_rates=0.1,0.01"])
    asked = RunRequest(("rnn",), ("first",), seeds=1, settings=rates)
    runs = [
        run
        for name in ("tiny", "long")
        for run in make_plan(host, replace(asked, protocol=name)).runs
    ]
    assert [[run.protocol.name for run in cohort] for cohort in cohorts_of(runs)] == [
        ["tiny", "tiny"],
        ["long", "long"],
    ]
