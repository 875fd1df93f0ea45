"""Publishing what was tested on a window: what was asked is drawn and counted again."""

from __future__ import annotations

import json

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import parse_record
from formalbench.contracts.specs import ProtocolSpec
from formalbench.host import Plugin, PluginHost
from formalbench.metrics.close_brackets import MACRO, MICRO
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.statistics.aggregate import facts_of
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import title_of
from formalbench.store import Store
from formalbench_leaderboard.publishing.record_check import Admission
from formalbench_leaderboard.renderers import renderer

WINDOW = """
    name: window
    version: 1
    seeds: 1
    steps: 10
    batch_tokens: 100
    evaluate_every: 10
    curriculum: {kind: generated}
    decay: {steps: 10}
    validation: {every: 10, tokens: 200}
    test: {tokens: 900}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A host that knows the protocol, and a record of it."""
    folder = tmp_path_factory.mktemp("window")
    (folder / "window.yaml").write_text(WINDOW)
    host = PluginHost.load()
    plugin = Plugin("formalbench", "formalbench", "0.1.0")
    host.protocols.add(ProtocolSpec("window", "a window", folder / "window.yaml"), plugin)
    request = RunRequest(models=("lstm",), tasks=("dyck-2-3:generate",), protocol="window")
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_CACHE", str(folder / "cache"))
        store = Store(folder / "results")
        (record,) = execute(host, make_plan(host, request), store, RunOptions(jobs=1))
    torch.set_num_threads(threads)
    return host, record


def forged(record, **change):
    """Return a record whose test says something else; dots go into parts."""
    data = json.loads(record.to_json())
    for path, value in change.items():
        part, keys = data["test"], path.split("__")
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = value
    return parse_record(json.dumps(data), "it")


def changed(record, name, **sums):
    """Return a record in which other sums of a metric stand."""
    told = json.loads(record.to_json())["test"]["cells"]["metrics"]
    return forged(record, cells__metrics=told | {name: told[name] | sums})


def test_an_honest_record_is_taken(made):
    host, record = made
    assert record.status == "finished", record.message
    Admission(host).check(record)
    Admission(host).check(changed(record, MICRO, total=[0]))  # on trust


@pytest.mark.parametrize(
    ("name", "sums", "reason"),
    [
        (MICRO, {"count": [999_999]}, f"its {MICRO} counts more or fewer answers"),
        (MACRO, {"count": [1], "total": [0.5]}, f"its {MACRO} counts more or fewer answers"),
        (MICRO, {"total": [999_999]}, f"its {MICRO} counts more right answers than there are"),
    ],
    ids=str,
)
def test_other_close_brackets_are_refused(made, name, sums, reason):
    host, record = made
    with pytest.raises(RequestError, match=reason):
        Admission(host).check(changed(record, name, **sums))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cells__first": [80]}, "other lengths"),
        ({"cells__length": [168]}, "other lengths"),
        ({"cells__strings": [10_000]}, "more or fewer strings"),
        ({"fingerprint": "0" * 64}, "other strings"),
        ({"chance_length": 0.25}, "its chance_length is 0.25"),
    ],
    ids=str,
)
def test_a_forged_one_is_not(made, change, reason):
    host, record = made
    with pytest.raises(RequestError, match=reason):
        Admission(host).check(forged(record, **change))


def test_a_board_tells_of_the_window(made):
    _, record = made
    facts = facts_of([record])
    assert (facts.first, facts.last, facts.cells) == (84, 167, 1)
    page = build_page([record], View("it", (title_of(record),)))
    assert "; test strings of any length within 84–167, " in renderer("markdown")(page)
