"""Audits of what is tested on fixed texts, by a search for the best translation."""

import pytest
from formalbench.contracts.objective import Measure
from formalbench.evaluation.beam_search import Search
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store
from formalbench_leaderboard.commands.audit import _line
from formalbench_leaderboard.publishing import judge
from formalbench_leaderboard.publishing.audit import Auditor

PROTOCOL = """
name: searched
version: 1
seeds: 1
learning_rates: [0.01]
batch: 4
steps: 4
evaluate_every: 2
curriculum: {kind: uniform}
decay: {steps: 2, mastered: 0.0}
validation: {every: 4, strings: 4}
test: {lengths: all, tokens: 200, beam: 2, length_penalty: 0.6}
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    pytest.importorskip("sacrebleu")
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "searched.yaml").write_text(PROTOCOL)
    return PluginHost.load([tmp_path / "searched.yaml"])


@pytest.fixture
def file(host, tmp_path):
    """The record of a run on translations."""
    store = Store(tmp_path / "results")
    settings = ("model.width=8", "model.heads=2", "model.layers=1")
    request = RunRequest(
        *(("encoder-decoder",), ("tiny-pairs:translate",)),
        protocol="searched",
        settings=parse_settings(settings),
    )
    execute(host, make_plan(host, request), store, RunOptions(jobs=1))
    (found,) = store.files()
    return found


def test_translations_are_searched_for_again(host, file, monkeypatch):
    asked = []

    def watched(*arguments, **named):
        asked.append((arguments[2], named["how"]))
        return evaluate(*arguments, **named)

    evaluate = judge.evaluate
    monkeypatch.setattr(judge, "evaluate", watched)
    found = Auditor(host, 1, "cpu").audit(file)
    assert (found.verdict, found.reasons, found.changed) == ("ok", [], 0)
    # As the test was, and the validation not: it takes the likeliest word each time.
    assert [how for _, how in asked] == [Search(2, 0.6), None]
    assert (found.fresh, found.p) == (None, None)
    assert _line(found).endswith("recorded 0.0 %; no fresh strings, its test is fixed data")


def test_other_answers_are_found(host, file, monkeypatch):
    own = judge.total

    def other(scores):
        whole = own(scores)
        whole.measures["perplexity"] = Measure(1.0, whole.measures["perplexity"].count)
        return whole

    monkeypatch.setattr(judge, "total", other)
    found = Auditor(host, 1, "cpu").audit(file)
    assert found.verdict == "MISMATCH"
    assert any(reason.startswith("perplexity on test strings is 1 of") for reason in found.reasons)
