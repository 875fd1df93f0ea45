"""Table 1 of Chiang & Cholak (2022): its cells, its claims, and a small one carried out."""

from __future__ import annotations

import pytest
from formalbench.host import PluginHost
from formalbench.training.trainer import make_recipe
from formalbench_papers.chiang_cholak import table1
from formalbench_papers.chiang_cholak.table1 import ALL, LONG, PAPER, claims
from formalbench_papers.framework.bench import Bench
from torch import nn


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    return PluginHost.load()


def as_the_paper(seeds=(0, 1)):
    return {key: dict.fromkeys(seeds, bleu) for key, bleu in PAPER.items()}


LEVEL = {"baseline": {0: 16.6, 1: 17.3}, "scaled": {0: 16.7, 1: 17.2}}
"""On texts as short as those trained on."""
NONE_MISSING = {ALL: 0, LONG: 0}


def verdicts(found):
    return [claim.verdict for claim in found]


def test_the_papers_own_numbers_hold():
    assert verdicts(claims(as_the_paper(), LEVEL, NONE_MISSING)) == ["holds", "holds"]


@pytest.mark.parametrize(("column", "bleu", "index"), [(LONG, 11.3, 0), (ALL, 30.0, 1)])
def test_a_claim_differs_if_its_column_does(column, bleu, index):
    found = as_the_paper()
    found["scaled", column] = {0: bleu, 1: bleu}
    expected = ["holds", "holds"]
    expected[index] = "differs"
    assert verdicts(claims(found, LEVEL, NONE_MISSING)) == expected
    found["scaled", column] = {0: bleu, 1: PAPER["scaled", column]}
    expected[index] = "cannot tell"
    assert verdicts(claims(found, LEVEL, NONE_MISSING)) == expected


def test_models_that_are_not_level_on_short_texts_say_nothing_of_longer_ones():
    behind = {"baseline": {0: 16.7, 1: 17.3}, "scaled": {0: 16.2, 1: 16.4}}
    found = as_the_paper()
    found["scaled", LONG] = {0: 10.0, 1: 10.1}
    assert verdicts(claims(found, behind, NONE_MISSING)) == ["cannot tell", "holds"]
    assert "-0.7 BLEU" in claims(found, behind, NONE_MISSING)[0].ours


def test_one_seed_does_not_say_that_there_is_no_difference():
    assert verdicts(claims(as_the_paper(seeds=(0,)), LEVEL, NONE_MISSING))[1] == "cannot tell"


def test_while_a_seed_is_missing_nothing_is_told():
    told = verdicts(claims(as_the_paper(), LEVEL, {ALL: 1, LONG: 1}))
    assert told == ["cannot tell", "cannot tell"]


def test_only_runs_of_one_seed_are_compared():
    found = {("baseline", LONG): {0: 50.0, 1: 10.0}, ("scaled", LONG): {1: 11.0, 2: 1.0}}
    first, second = claims(found, LEVEL, NONE_MISSING)
    assert first.ours.startswith("+1.0 BLEU (on texts of the training lengths")
    assert first.verdict == "holds"
    assert second.verdict == "not run at this scale"


def test_what_was_not_run_is_not_judged():
    found = table1.findings({})
    assert {one.verdict for one in (*found.claims, *found.cells)} == {"not run at this scale"}
    assert len(found.cells) == len(found.rows) == 4


def test_models_and_protocols_are_as_small_and_as_large_as_said(host):
    for scale, width, steps in (("quick", 128, 2500), ("paper", 512, 70_000)):
        bench = Bench(host, scale, lambda line: None)
        wanted = table1._wanted("scaled", LONG, "tiny-pairs:translate", bench)
        protocol = host.protocol(wanted.protocol)
        task = protocol.apply(host.task(wanted.task, dict(wanted.task_options)))
        network = host.network(wanted.model, task, dict(wanted.model_options))
        assert network.traits.width == width
        assert (protocol.steps, protocol.label_smoothing, protocol.test.beam) == (steps, 0.1, 4)
        assert task.objective.smoothing == 0.1


def test_the_papers_scale_is_that_of_its_code(host):
    wanted = table1._wanted("baseline", ALL, "tiny-pairs:translate", Bench(host, "paper", print))
    protocol = host.protocol(wanted.protocol)
    task = protocol.apply(host.task(wanted.task, dict(wanted.task_options)))
    network = host.network(wanted.model, task, dict(wanted.model_options))
    dropouts = {one.p for one in network.modules() if isinstance(one, nn.Dropout)}
    assert dropouts == {0.3}
    assert network.hide_read.share == network.hide_said.share == 0.1
    assert network.readout is None
    # The rate: 3e-4, times 0.8 where BLEU is worse than in each of the last three epochs.
    assert protocol.schedule.options["metric"] == f"validation/{task.primary.name}"
    schedule, memory, rates = make_recipe(host, protocol).schedule, {}, []
    for bleu in (0.1, 0.2, 0.19, 0.21, 0.2, 0.195, 0.18):
        schedule.evaluated(memory, {"validation/bleu": bleu})
        rates.append(schedule.rate(700, protocol.steps, 3e-4, memory))
    assert rates == pytest.approx([3e-4] * 6 + [3e-4 * 0.8])
    for epoch in range(60):
        schedule.evaluated(memory, {"validation/bleu": 0.1 - epoch / 1000})
    assert schedule.rate(0, protocol.steps, 3e-4, memory) == pytest.approx(1e-5, rel=1e-3)
    assert protocol.decay.final == 1.0
