"""Answers from anywhere, scored on the strings of the board."""

import json
import sys
from types import SimpleNamespace

import formalbench as fb
import numpy as np
import pytest
import torch
from formalbench.contracts.verification import parse_stored
from formalbench.evaluation.evaluate import evaluate as scores_of
from formalbench.files import write_atomically
from formalbench.host import PluginHost
from formalbench.scoring.answers import exported, score_file
from formalbench.scoring.report import Report
from formalbench.store import Store
from formalbench.store.archive import WeightLookup, write_archive
from formalbench.task_handle import TaskHandle
from refusals import refusal
from torch import nn
from trained_records import TINY, train, write_protocols

FEW = """
schema_version: 1
name: few
version: 1
steps: 20
splits: {train: [1, 10], test: [11, 60]}
decay: {steps: 20}
validation: {every: 20, lengths: 4, strings: 16}
test: {lengths: 5, strings: 32}
"""
OBJECTIVES = ["parity", "parity:tag", "dyck-2-3:next-symbols", "flip-flop:tag",
              "duplicate-string:transduce", "modular-arithmetic"]  # fmt: skip


@pytest.fixture
def few(write):
    """A protocol with few strings, as `plugins` and `protocol` have it."""
    return {"plugins": [write("few.yaml", FEW)], "protocol": "few"}


@pytest.fixture
def load(few):
    return lambda name: fb.load(name, **few)


class Counts:
    """A class that is not built with the task."""

    def __init__(self):
        pass


def parity(ids):
    return ids.sum(1) % 2


class Network(nn.Module):
    """Some network that is built with the task and given ids."""

    def __init__(self, task):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(len(task.alphabet), 8)
        self.read = nn.Linear(8, task.outputs)

    def forward(self, ids):
        return self.read(self.embed(ids).cumsum(1)[:, -1])


def test_labels_are_scored_with_chance_shortcut_and_intervals(load):
    task = load("parity")
    report = fb.evaluate(lambda ids: np.where(ids.shape[1] < 40, parity(ids), 0), task, name="half")
    tests = task.test_set()
    right = [1.0 if length < 40 else np.mean(t == 0) for length, (_, t) in tests.items()]
    assert report.frame["accuracy"].tolist() == right
    assert report.accuracy == pytest.approx(np.mean(right))
    assert (report.name, report.chance, report.shortcut) == ("half", 0.5, 0.5088)
    assert report.learned is True
    assert report.extrapolated is False
    assert report.horizon == max(length for length in tests if length < 40)
    accuracy, low, high = report.by_length[11]
    assert (accuracy, high) == (1.0, 1.0)
    assert low == pytest.approx(32 / (32 + 1.96**2), abs=1e-3)
    assert (report.frame["chance"] == 0.5).all()
    assert "cross-entropy" not in report.record.test.cells.metrics


def test_whoever_knows_extrapolates_and_who_does_not_learn_does_not(load):
    assert fb.evaluate(parity, load("parity")).extrapolated
    lost = fb.evaluate(lambda ids: np.zeros(len(ids), int), load("parity"))
    assert (lost.learned, lost.extrapolated, lost.horizon) == (False, False, None)


def test_logits_of_a_module_are_scored_as_the_engine_scores_a_network(load, host):
    task = load("parity")
    module = Network(task.task).eval()
    report = fb.evaluate(module, task)
    assert not module.training

    class Given(nn.Module):
        def forward(self, batch):
            return module(batch.symbols)

    scores = scores_of(Given(), task.task, task.test_set().held, torch.device("cpu"))
    told = [score.measures["accuracy"].total for score in scores]
    assert report.frame["correct"].tolist() == told
    assert "cross-entropy" in report.record.test.cells.metrics
    assert fb.evaluate(Network, task).frame["correct"].tolist() == told
    labels = fb.evaluate(lambda ids: module(torch.tensor(ids)).argmax(-1), task)
    assert labels.frame["correct"].tolist() == told


def test_a_network_with_traits_is_given_batches(load, host):
    task = load("parity")
    network = host.network("exact-parity", task.task)
    assert fb.evaluate(network, task).extrapolated


def test_a_backbone_without_its_readout_is_refused(load):
    class States(nn.Module):
        traits = fb.Traits(backbone=16)

        def __init__(self, task):
            super().__init__()

    for predict in (States, States(None)):
        assert "States is a backbone" in refusal(
            lambda one=predict: fb.evaluate(one, load("parity"))
        )


def test_a_loaded_task_has_its_protocol_and_plugins(load, few):
    task = load("parity")
    for more in ({"protocol": "standard"}, {"plugins": few["plugins"]}):
        said = refusal(lambda more=more: fb.evaluate(parity, task, **more))
        assert "pass protocol and plugins to formalbench.load" in said


def test_a_network_is_tested_where_its_parameters_are(load, host, monkeypatch):
    task, devices = load("parity"), []

    def test_network(network, task, held, device, **more):
        devices.append(device.type)
        raise fb.RequestError("tested")

    monkeypatch.setattr("formalbench.scoring.evaluate.test_network", test_network)
    elsewhere = host.network("rnn", task.task).to("meta")
    plain = Network(task.task).to("meta")
    for predict in (host.network("rnn", task.task), elsewhere, plain, parity):
        assert refusal(lambda predict=predict: fb.evaluate(predict, task)) == "tested"
    assert devices == ["cpu", "meta", "cpu", "cpu"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("parity", parity), "task is a function: pass the name of a task or suite"),
        ((parity, ["parity"]), "task is a list"),
        ((parity, "parity", {"name": 3}), "name=3: must be a text of at most 200 characters"),
        ((parity, "parity", {"name": "b" * 201}), "must be a text of at most 200 characters"),
        ((parity, "parity", {"device": torch.device("meta")}), "--device meta: must be auto"),
    ],
    ids=["task is a function", "task is a list", "name is a number", "name is too long", "device"],
)
def test_arguments_of_another_type(asked, said):
    (predict, task, *more) = asked
    assert said in refusal(lambda: fb.evaluate(predict, task, **(more[0] if more else {})))


def test_a_jax_function(load):
    jax = pytest.importorskip("jax")

    @jax.jit
    def answer(ids):
        return jax.nn.one_hot(jax.numpy.sum(ids, axis=1) % 2, 2)

    report = fb.evaluate(answer, load("parity"))
    assert report.accuracy == 1.0
    assert report.record.gave == "logits"


def test_an_object_answers_by_the_method_of_the_objective(load):
    class Knows:
        def next_symbols(self, ids):
            return load("dyck-2-3").task.source.next_symbols(ids)

        def tag(self, ids):
            return ids.cumsum(1) % 2

    class Built(Knows):
        def __init__(self, task):
            assert task.alphabet == ("0", "1")

    assert fb.evaluate(Knows(), load("dyck-2-3:next-symbols")).accuracy == 1.0
    assert fb.evaluate(Built, load("parity:tag")).accuracy == 1.0


def test_a_suite_has_a_report_for_each_task(write, few):
    suite = "tasks: [parity, parity:tag]\nname: both\nsummary: two\nprotocol: few\n"
    few["plugins"].append(write("both.yaml", suite))

    def answer(ids):
        return parity(ids)

    class Knows:
        classify = staticmethod(answer)

        def tag(self, ids):
            return ids * 0

    found = fb.evaluate(Knows(), "both", **few)
    assert list(found) == ["parity", "parity:tag"]
    assert found["parity"].accuracy == 1.0
    assert found.accuracy == (1.0 + found["parity:tag"].accuracy) / 2
    assert found.summary["task"].tolist() == ["parity", "parity:tag"]
    assert len(found.frame) == 10


@pytest.mark.parametrize(
    ("predict", "said"),
    [
        (lambda ids: ids, "expected labels (16,) or logits (16, 2) (floats) for parity:classify"),
        (lambda ids: ids.sum(1) + 2, "not integers from 0 to 1"),
        (lambda ids: ids.sum(1) / 4, "not integers from 0 to 1"),
        (lambda ids: np.full((len(ids), 2), np.nan), "not finite: no score was computed"),
        (3, "predict is int, which cannot be called and has no method classify"),
        (Counts, "Counts() takes no task argument: expected Counts(task)"),
        *(
            (lambda ids, answer=answer: answer, "did not return an array of numbers")
            for answer in ([[1], [1, 0]], [1j], [object()])
        ),
    ],
)
def test_answers_that_are_none(load, predict, said):
    assert said in refusal(lambda: fb.evaluate(predict, load("parity")))


def test_unknown_names_and_answers_that_are_said_step_by_step(load, backwards, few):
    with pytest.raises(fb.RequestError, match="did you mean default"):
        fb.evaluate(parity, "defaultt")
    few["plugins"].append(backwards)
    with pytest.raises(fb.RequestError, match="step by step"):
        fb.evaluate(parity, "without-zeros", **few)


def test_a_report_is_kept_apart_from_the_records_of_runs(load, tmp_path):
    report = fb.evaluate(parity, load("parity"), name="me")
    path = report.save(tmp_path)
    assert parse_stored(path.read_bytes(), "") == report.record
    assert report.record.evaluated_id == report.record.identity
    assert fb.evaluate(parity, load("parity"), name="me").save(tmp_path) == path
    store = Store(tmp_path)
    assert [one.name for one in store.evaluations()] == ["me"]
    assert store.all() == []
    assert fb.results(tmp_path).empty


def test_a_report_in_a_notebook_and_as_a_figure(load):
    report = fb.evaluate(parity, load("parity"), name="<me>")
    assert "&lt;me&gt; on parity: accuracy 100.0%" in report._repr_html_()
    assert report._repr_html_().count("<tr") == 6
    pytest.importorskip("altair")
    shown = report.plot().to_json()
    assert all(f'"x": {float(length)}' in shown for length in report.frame["length"])


def export(cli, folder, name, *more):
    done = cli("export", name, "--output", folder, "--protocol", "few", *more)
    assert done.code == 0, done.err
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def answers(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("name", OBJECTIVES)
def test_exported_strings_are_the_tests_and_right_answers_score_fully(
    cli, tmp_path, few, load, name
):
    task = load(name)
    plugin = ("--plugin", few["plugins"][0])
    rows = export(cli, tmp_path / "out", name, "--with-targets", *plugin)
    assert {row["fingerprint"] for row in rows} == {task.test_set().fingerprint}
    assert len({row["id"] for row in rows}) == len(rows) == 160
    assert rows[0].keys() == {"id", "length", "string", "fingerprint", "target"}
    assert [row["length"] for row in rows] == sorted(row["length"] for row in rows)
    assert task.label([row["string"] for row in rows[:40]]) == [r["target"] for r in rows[:40]]
    given = [{"id": row["id"], "answer": row["target"]} for row in reversed(rows)]
    file = answers(tmp_path / "all.jsonl", given)
    told = cli("score", name, file, "--protocol", "few", "--json", *plugin).data
    assert (told["accuracy"], told["name"], told["learned"]) == (1.0, "all", None)
    wrong = [*given[:-1], {**given[-1], "answer": given[0]["answer"]}]
    if given[0]["answer"] != given[-1]["answer"] and name == "parity":
        file = answers(tmp_path / "wrong.jsonl", wrong)
        told = cli("score", name, file, "--protocol", "few", "--json", *plugin).data
        assert told["accuracy"] == 1.0 - 1 / 160


def test_next_symbols_as_labels_are_no_answers_to_generate(load, tmp_path):
    handle = load("dyck-2-3:generate")

    def labels(ids):
        return np.pad(ids, ((0, 0), (0, 1)), constant_values=len(handle.alphabet))

    assert "give logits (B, N+1, K) to" in refusal(lambda: fb.evaluate(labels, handle))
    logits = fb.evaluate(lambda ids: 64.0 * np.eye(5)[labels(ids)], handle)
    assert logits.record.gave == "logits"
    rows = [{"id": row["id"], "answer": row["target"]} for row in exported(handle, targets=True)]
    file = answers(tmp_path / "given.jsonl", rows)
    assert "given.jsonl:1: generate is scored" in refusal(lambda: score_file(handle, file))


def test_answers_may_be_what_label_prints(cli, tmp_path, few, load):
    plugin = ("--plugin", few["plugins"][0])
    for name in ("parity", "parity:tag", "dyck-2-3:next-symbols", "duplicate-string:transduce"):
        rows = export(cli, tmp_path / name.replace(":", "-"), name, *plugin)
        assert "target" not in rows[0]
        task = load(name)
        told = [{"id": row["id"], "answer": task.show(row["string"])} for row in rows]
        file = answers(tmp_path / "shown.jsonl", told)
        assert (
            cli("score", name, file, "--protocol", "few", "--json", *plugin).data["accuracy"] == 1
        )


def test_a_file_scores_as_the_function_that_wrote_it(cli, tmp_path, few, load):
    plugin = ("--plugin", few["plugins"][0])
    rows = export(cli, tmp_path / "out", "parity", *plugin)
    first = [{"id": row["id"], "answer": int(row["string"][0])} for row in rows]
    file = answers(tmp_path / "first.jsonl", first)
    arguments = ("score", "parity", file, "--protocol", "few", *plugin)
    told = cli(*arguments, "--json", "--results", tmp_path / "kept").data
    report = fb.evaluate(lambda ids: ids[:, 0], load("parity"))
    assert [one["correct"] for one in told["lengths"]] == report.frame["correct"].tolist()
    (kept,) = Store(tmp_path / "kept").evaluations()
    assert (kept.name, kept.validation) == ("first", None)
    assert f"first on parity: accuracy {report.accuracy:.1%}, chance 50.0%" in cli(*arguments).out


def test_bad_answers_are_refused_in_one_line_and_nothing_is_scored(cli, refused, tmp_path, few):
    plugin = ("--plugin", few["plugins"][0])
    rows = export(cli, tmp_path / "out", "parity", *plugin)
    good = [{"id": row["id"], "answer": 1} for row in rows]

    def told(given):
        file = answers(tmp_path / "given.jsonl", given)
        return refused("score", "parity", file, "--protocol", "few", *plugin)

    lengths = sorted({row["length"] for row in rows})
    line = told(good[:40])
    assert f"120 of 160 answers are missing: 24 of length {lengths[1]}, 32 of length" in line
    assert "given.jsonl:3: the answer belongs to other strings" in told(
        [*good[:2], {"id": "0123456789ab-3", "answer": 1}]
    )
    assert "to other strings" in told([{**good[0], "fingerprint": "0" * 64}])
    assert "no string" in told([{**good[0], "id": good[0]["id"].replace("-0", "-999")}])
    assert "has two answers" in told([good[0], good[0]])
    assert "given.jsonl:1: 7 is not a valid answer (valid: 0, 1)" in told(
        [{**good[0], "answer": 7}, *good[1:]]
    )
    assert "expected 1 labels, got 2" in told([{**good[0], "answer": [0, 1]}, *good[1:]])
    for odd in ([[1]], {"a": 1}):
        assert "given.jsonl:1: " in told([{**good[0], "answer": odd}, *good[1:]])
    assert "expected {" in told([{"id": 1}])
    long = answers(tmp_path / f"{'a' * 240}.jsonl", good)
    line = refused("score", "parity", long, "--protocol", "few", *plugin)
    assert "name: must have at most 200 characters" in line
    assert "No such file" in refused("score", "parity", "nowhere.jsonl", *plugin)
    (tmp_path / "odd.jsonl").write_text("{")
    assert "odd.jsonl:1: not JSON" in refused("score", "parity", tmp_path / "odd.jsonl", *plugin)
    (tmp_path / "odd.jsonl").write_text(f'{{"id": "{rows[0]["id"]}", "answer": 0, "answer": 1}}')
    line = refused("score", "parity", tmp_path / "odd.jsonl", "--protocol", "few", *plugin)
    assert "odd.jsonl:1: not JSON with each key once" in line


@pytest.mark.parametrize(
    ("name", "odd"),
    [("dyck-2-3:next-symbols", 5), ("dyck-2-3:next-symbols", [[]]), ("dyck-2-3:next-symbols", "()"),
     ("duplicate-string:transduce", [])],
)  # fmt: skip
def test_answers_within_which_something_is_no_symbol(load, tmp_path, name, odd):
    handle = load(name)
    rows = [{"id": row["id"], "answer": row["target"]} for row in exported(handle, targets=True)]
    rows[0]["answer"] = [odd] * len(rows[0]["answer"])
    with pytest.raises(fb.RequestError, match=r"given.jsonl:1: .* is not a "):
        score_file(handle, answers(tmp_path / "given.jsonl", rows))


def test_a_file_of_answers_may_have_a_byte_order_mark_and_line_separators_in_it(load, tmp_path):
    handle = load("parity")
    rows = [{"id": row["id"], "answer": row["target"]} for row in exported(handle, targets=True)]
    rows[0]["note"] = "a\u2028b\x85"
    lines = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "given.jsonl").write_text(lines, encoding="utf-8-sig")
    assert score_file(handle, tmp_path / "given.jsonl").accuracy == 1.0


@pytest.mark.parametrize("name", ["parity", "dyck-2-3:next-symbols"])
def test_who_changes_the_arrays_changes_no_test(load, name):
    handle = load(name)
    length = next(iter(handle.test_set()))
    strings, targets = handle.test_set()[length]
    before = strings.copy(), targets.copy()
    strings[:], targets[:] = 0, 0
    for now, old in zip(handle.test_set()[length], before, strict=True):
        assert np.array_equal(now, old)


def test_a_length_is_reached_if_every_part_of_it_is(load):
    report = fb.evaluate(parity, load("parity"))
    cells = report.record.test.cells
    last = cells.length[-1]
    cells = cells.model_copy(
        update={
            "length": (*cells.length, last),
            "strings": (*cells.strings, cells.strings[-1]),
            "correct": (*cells.correct, 0),
            "group": (*["a"] * len(cells.length), "b"),
        }
    )
    test = report.record.test.model_copy(update={"cells": cells})
    record = report.record.model_copy(update={"test": test})
    other = Report(record, [0.5] * len(cells.length), None)
    assert not other.extrapolated
    assert other.horizon == report.record.test.cells.length[-2]


@pytest.mark.parametrize("kind", ["jsonl", "hf", "lm-eval"])
def test_a_killed_export_leaves_no_files_of_an_older_one(load, few, tmp_path, monkeypatch, kind):
    from formalbench.scoring import export

    host, names = load("parity").host, ("parity", "even-pairs", "tomita-3")
    older = [TaskHandle(host, name, (), "quick") for name in names]
    export.export_tasks(older, tmp_path / "out", kind, "test", targets=True)
    texts = {file: file.read_bytes() for file in (tmp_path / "out").rglob("*.*")}
    written = []

    def killed(path, text):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        write_atomically(path, text)

    monkeypatch.setattr(export, "write_atomically", killed)
    newer = [load(name) for name in names]
    with pytest.raises(KeyboardInterrupt):
        export.export_tasks(newer, tmp_path / "out", kind, "test", targets=True)
    left = {file for file in (tmp_path / "out").rglob("*.*") if file.is_file()}
    assert left == set(written)
    assert all(file.read_bytes() != texts[file] for file in left if file.suffix == ".jsonl")


def test_the_loader_of_the_harness_loads_every_split(cli, tmp_path, few, monkeypatch):
    words = ("--format", "lm-eval", "--split", "train", "--output", tmp_path)
    cli("export", "parity", *words, "--plugin", few["plugins"][0], "--protocol", "few")
    fake = SimpleNamespace(load_dataset=lambda kind, data_files: data_files)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    scope = {"__file__": str(tmp_path / "utils.py")}
    exec((tmp_path / "utils.py").read_text(), scope)
    assert scope["load"]("parity") == {"train": str(tmp_path / "parity.train.jsonl")}


def test_lengths_of_different_weight_are_not_for_the_harness(cli, refused, tmp_path, write):
    files = []
    for split in ("train", "validation", "test"):
        write(f"{split}.tok", "a b\nb\na a\n")
        files.append(f"{split}: {{strings: {split}.tok, labels: labels.txt}}")
    write("labels.txt", "0\n1\n1\n")
    data = write("mine.yaml", f"name: mine\ndata: {{{', '.join(files)}}}")
    options = ("--plugin", data, "--output", tmp_path / "out", "--protocol", "quick")
    told = refused("export", "mine", "--format", "lm-eval", *options)
    assert "mine has more strings of some lengths than of others" in told
    assert cli("export", "mine", "--format", "jsonl", *options).code == 0


def test_labels_may_be_unsigned(load):
    for kind in (np.uint16, np.uint32, np.uint64):
        assert fb.evaluate(lambda ids, kind=kind: parity(ids).astype(kind), load("parity")).learned


def test_folders_for_datasets_and_the_harness(cli, tmp_path, few, refused):
    import yaml

    plugin = ("--plugin", few["plugins"][0], "--protocol", "few")
    assert cli("export", "parity", "--format", "hf", "--output", tmp_path / "hf", *plugin).code == 0
    head = (tmp_path / "hf" / "README.md").read_text().split("---\n")[1]
    (config,) = yaml.safe_load(head)["configs"]
    (files,) = config["data_files"]
    assert files["split"] == "test"
    assert "- `parity`: task `parity`, version 1" in (tmp_path / "hf" / "README.md").read_text()
    assert len((tmp_path / "hf" / files["path"]).read_text().splitlines()) == 160
    folder = tmp_path / "le"
    for name in ("parity", "tomita-3:next-symbols"):
        done = cli("export", name, "--format", "lm-eval", "--output", folder, *plugin)
        assert done.code == 0
    lines = (folder / "tomita-3--next-symbols.test.jsonl").read_text().splitlines()
    rows = list(map(json.loads, lines))
    assert rows[0]["target"].split()[0] == "0,1,$"
    text = (folder / "parity.yaml").read_text()
    assert "custom_dataset: !function utils.load" in text
    compile((folder / "utils.py").read_text(), "utils.py", "exec")
    told = refused("export", "duplicate-string", "--format", "lm-eval", "--output", tmp_path / "x")
    assert "is scored by answer-accuracy" in told
    assert "name either a task or --suite" in refused("export", "--output", tmp_path / "x")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder of runs of two seeds, and the folder of their protocol."""
    folder = tmp_path_factory.mktemp("runs")
    (protocols := folder / "protocols").mkdir()
    plugins = write_protocols(protocols, tiny=TINY)
    host = PluginHost.load(plugins)
    train(host, folder / "runs", [("tiny", "rnn", "parity", ("model.width=8",), 1)])
    return folder / "runs", plugins


def test_the_network_of_a_run_has_the_weights_that_were_tested(runs, tmp_path):
    folder, plugins = runs
    more = {"results": folder, "plugins": plugins}
    for record in Store(folder).records():
        network = fb.trained("rnn[width=8]", "parity", record.seed, **more)
        report = fb.evaluate(network, "parity", protocol="tiny", plugins=plugins)
        assert tuple(report.frame["correct"]) == record.test.cells.correct
        assert report.record.test.fingerprint == record.test.fingerprint
        assert report.validation == record.selected.accuracy


def test_a_run_is_known_by_every_name_that_run_takes(runs, host):
    folder, plugins = runs
    names = ("rnn[width=8,layers=1]", "parity:classify[p=0.50]")
    assert fb.trained(*names, results=folder, plugins=plugins)
    assert host.task_title("flip-flop") == "flip-flop:tag"
    assert host.task_title("parity:classify[p=0.30]") == "parity[p=0.3]"
    assert host.model_title("rn[width=8]") == "rn[width=8]"


def test_the_network_of_a_run_ignores_the_default_dtype(runs):
    folder, plugins = runs
    torch.set_default_dtype(torch.float64)
    try:
        network = fb.trained("rnn[width=8]", "parity", results=folder, plugins=plugins)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert {one.dtype for one in network.parameters()} == {torch.float32}


def test_weights_may_lie_in_an_archive(runs, tmp_path):
    folder, plugins = runs
    records = {record.test_id: record.weights for record in Store(folder).records()}
    held = WeightLookup([folder])
    by_hash = {one.weights: one for one in Store(folder).records()}
    write_archive(tmp_path / "all.tar", records, lambda sha256: held.read(by_hash[sha256]))
    clone = tmp_path / "clone" / "leaderboard" / "results"
    for file in folder.rglob("*.json"):
        target = clone / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    own = fb.trained("rnn[width=8]", "parity", 1, results=folder, plugins=plugins)
    archive = {"results": tmp_path / "clone", "weights": tmp_path / "all.tar", "plugins": plugins}
    theirs = fb.trained("rnn[width=8]", "parity", 1, **archive)
    for mine, other in zip(own.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other)
    del archive["weights"]
    with pytest.raises(fb.RequestError, match="pass an archive of weights"):
        fb.trained("rnn[width=8]", "parity", 1, **archive)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("rnn", "parity"), "known: rnn[width=8]"),
        (("rnn[width=8]", "parrity"), "did you mean parity"),
        (("rnn[width=8]", "parity", 7), "has seed 7: there are 0, 1"),
    ],
)
def test_runs_that_do_not_exist(runs, asked, said):
    folder, plugins = runs
    assert said in refusal(lambda: fb.trained(*asked, results=folder, plugins=plugins))


def test_a_frozen_part_of_a_module_stays_frozen(load):
    task = load("parity")
    module = Network(task.task).train()
    part = next(module.children())
    part.eval()
    fb.evaluate(module, task)
    assert module.training
    assert not part.training
