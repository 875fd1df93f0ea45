"""What theory says on a board, and its predictions beside the measurement."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from built_records import TO_ITS_END, with_test
from formalbench.cache import package_digest
from formalbench.host import Plugin, PluginHost
from formalbench.statistics.build import View, build_page
from formalbench.statistics.result import Prediction
from formalbench.store import Store
from formalbench.theory.theorems import theorems
from formalbench_leaderboard.board.predictions import (
    by_protocol,
    counts,
    expected_learning,
    predicted_table,
    prediction_outcomes,
)
from formalbench_leaderboard.board.sources import FolderContents
from formalbench_leaderboard.board.views import Predictions, in_class, suite_view, theory_here
from formalbench_leaderboard.renderers.evidence_pages import MOST_LISTED, Evidence, predictions_page
from formalbench_leaderboard.renderers.links import Links

TASKS = ("parity:classify", "first:classify", "no-such-task:classify")


@pytest.fixture
def records(make_record):
    return [make_record("gru", task, fingerprint="0" * 64) for task in TASKS]


@pytest.fixture
def view(installed):
    titles = tuple(task.partition(":")[0] for task in TASKS)
    return View("test", titles, theory=lambda task: theory_here(installed, task))


def test_only_tasks_of_a_class(records, view):
    held, seen = in_class(FolderContents(records, [], []), view, "star-free")
    assert [record.task.name for record in held.records] == ["first:classify"]
    assert seen.tasks == ("first",)
    assert seen.title == "test, star-free tasks"
    assert in_class(FolderContents(records, [], []), view, "context-free")[0].records == []
    assert len(in_class(FolderContents(records, [], []), view, "regular")[0].records) == 2


def test_published_numbers_are_parted_likewise(installed):
    view = suite_view(installed, "chi-table1")
    _, seen = in_class(FolderContents([], [], []), view, "c-rasp")
    shown = {table.column(name).task for table in seen.published for name in table.tasks}
    assert {"d2", "majority"} <= shown
    assert all(theory_here(installed, task).within("c-rasp") for task in shown)


def predicted(host, model, task):
    return Predictions(host, lambda name: theory_here(host, name)).of(model, task)


def test_a_strangers_network_is_not_built(tmp_path):
    (tmp_path / "bomb.py").write_text(
        "from formalbench import ModelSpec, hookimpl\n\n"
        "def build(task):\n    raise SystemExit('built')\n\n"
        "@hookimpl\ndef formalbench_models():\n    yield ModelSpec('bomb', 1, '', build)\n"
    )
    host = PluginHost.load([tmp_path / "bomb.py"])
    assert predicted(host, "bomb", "parity:classify") is None


NETWORK = """
from formalbench import ModelSpec, Traits
from torch import nn

class Recurrence(nn.Module):
    traits = Traits(mechanisms=("diagonal-recurrence", "input-dependent-gates"), eigenvalues="{}")

    def __init__(self, task):
        super().__init__()

SPEC = ModelSpec("made-up", 1, "", Recurrence)
"""


def test_another_network_of_the_same_version_is_looked_at_again(installed, tmp_path, monkeypatch):
    """Its code is part of what a prediction is kept under."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "made_up_plugin.py"

    def asked(eigenvalues):
        file.write_text(NETWORK.format(eigenvalues))
        module = ModuleType(file.stem)
        module.__file__ = str(file)
        exec(file.read_text(), module.__dict__)
        monkeypatch.setitem(sys.modules, file.stem, module)
        package_digest.cache_clear()
        host = PluginHost.load()
        host.models.add(module.SPEC, Plugin(file.stem, "made-up", "1.0", module=module))
        found = predicted(host, "made-up", "parity:classify")
        return None if found is None else found.verdict

    assert asked("[0, 1]") == "cannot"
    assert asked("[-1, 1]") != "cannot"
    assert asked("[0, 1]") == "cannot"


@pytest.mark.slow
def test_the_command(cli, own_place, tmp_path, make_record, protocol, installed):
    store, version = Store(tmp_path / "runs"), installed.models.get("gru")[0].spec.version
    for task in TASKS[:2]:
        own = {**protocol, "name": "own"}
        store.write(make_record("gru", task, protocol=own, model_version=version))
    told = ("leaderboard", "--results", store.path, "--class")
    [measured] = cli(*told, "star-free", "--format", "json").data["measured"]
    assert measured["tasks"] == ["first", "even-pairs", "dyck-2-3"]
    [result] = measured["rows"][0]["results"]
    said = result["prediction"]
    assert (result["task"], said["verdict"], said["instance"]) == ("first", "can", "unknown")
    done = cli(*told, "starfree")
    assert (done.code, done.out) == (2, "")
    assert "unknown class 'starfree': did you mean star-free" in done.err
    assert cli(*told, "").code == 2
    lost = cli("leaderboard", "--class", "star-free", "check")
    assert "--class does nothing before check" in lost.err


CAN = Prediction("can", "lstm-saturated", "theorem")
CANNOT = Prediction("cannot", "non-negative-gates", "theorem")
OURS = Prediction("can", "slstm-saturated", "corollary")
GOES_ON = Prediction("can", "c-rasp-experiments", "experiment")
STAYS = Prediction("cannot", "c-rasp-experiments", "experiment")

THIS = Prediction("can", "elman-finite-precision", "theorem", "this instance")
LARGER = Prediction("can", "elman-finite-precision", "theorem", "a larger one of its family")

SOLVED = {"accuracy": 1.0, "validation": 1.0}
LEARNED = {"accuracy": 0.6, "validation": 1.0}
UNLEARNED = {"accuracy": 0.6, "validation": 0.7}


def cells(records, said=(CAN,)):
    page = build_page(records, View("test", ("parity",), predicted=lambda model, task: said))
    return prediction_outcomes(page)


@pytest.mark.parametrize(
    ("said", "runs", "found"),
    [
        (CAN, [LEARNED, SOLVED], "as predicted"),
        (CAN, [LEARNED, LEARNED], "not beyond"),
        (OURS, [LEARNED, LEARNED], "not beyond"),
        (CAN, [UNLEARNED, UNLEARNED], "not learned"),
        (THIS, [LEARNED, SOLVED], "as predicted"),
        (LARGER, [LEARNED], "not beyond"),
        (CANNOT, [LEARNED, UNLEARNED], "as predicted"),
        (CANNOT, [LEARNED, SOLVED], "against"),
        (CANNOT, [UNLEARNED], "not learned"),
        (GOES_ON, [SOLVED, UNLEARNED], "as predicted"),
        (GOES_ON, [SOLVED, LEARNED], "as predicted"),
        (GOES_ON, [LEARNED, LEARNED], "not beyond"),
        (STAYS, [LEARNED], "as predicted"),
        (STAYS, [SOLVED], "against"),
        (STAYS, [UNLEARNED], "not learned"),
        (None, [SOLVED], "no prediction"),
    ],
)
def test_what_is_found_of_a_prediction(make_record, said, runs, found):
    records = [make_record("lstm", seed=seed, **run) for seed, run in enumerate(runs)]
    (cell,) = cells(records, () if said is None else (said,))
    assert (cell.outcome, cell.prediction) == (found, said)
    assert cell.kind == (
        "nothing"
        if said is None
        else {
            CAN: "can",
            OURS: "can (our corollary)",
            THIS: "this instance can",
            LARGER: "a larger one can",
            CANNOT: "cannot",
            GOES_ON: "some setting extrapolates",
        }.get(said, "does not extrapolate")
    )


def test_a_test_is_solved_at_every_length_or_not(make_record):
    run = make_record("lstm", **SOLVED)
    tested = run.test.cells
    for missed, solved in ((0.01, True), (0.02, False)):  # at one length alone
        correct = [*tested.correct[:-1], int(tested.strings[-1] * (1 - missed))]
        (cell,) = cells([with_test(run, correct=correct)])
        assert cell.result.mean > 0.99
        assert cell.result.solved == solved
        assert cell.outcome == ("as predicted" if solved else "not beyond")


def test_a_theorem_and_an_experiment_are_counted_apart(make_record):
    records = [make_record("lstm", **LEARNED), make_record("rnn", **SOLVED)]
    found = cells(records, (CAN, STAYS))
    told = {count.kind: dict(count.times) for count in counts(found)}
    assert told == {
        "can": {"as predicted": 1, "not beyond": 1},
        "does not extrapolate": {"as predicted": 1, "against": 1},
    }


def test_what_was_to_be_learned_is_counted_by_protocol_and_named_if_it_was_not(
    make_record, protocol
):
    records = [
        make_record("lstm", seed=seed, **run)
        for seed, run in enumerate([SOLVED, LEARNED, UNLEARNED])
    ]
    records += [make_record("rnn", seed=seed, **UNLEARNED) for seed in range(3)]
    own = {**protocol, "name": "own"}
    runs = [LEARNED, UNLEARNED, UNLEARNED]
    records += [make_record("gru", seed=seed, protocol=own, **run) for seed, run in enumerate(runs)]
    evidence = Evidence(cells(records, (CAN, GOES_ON, STAYS)))
    assert [
        (one.board.protocol, len(one.cells), one.learned, one.partly, one.unlearned)
        for one in by_protocol(evidence.expected_learning)
    ] == [("quick", 2, 1, 0, 1), ("own", 1, 0, 1, 0)]
    told = predictions_page(evidence).split("two thirds of the seeds learned:")[1]
    named = [line for line in told.split("## Sources")[0].splitlines() if line]
    budget = records[0].protocol.steps
    assert named[0] == (
        f"- rnn on parity (quick (version 1)): 0 of 3 seeds learned within at most {budget:,} "
        "steps; mean validation accuracy 70.0 %; expected by lstm-saturated, "
        "c-rasp-experiments."
    )
    assert [line.split(" on ")[0] for line in named] == ["- rnn", "- gru"]
    assert expected_learning(cells(records, (CANNOT, STAYS)), ()) == []
    assert expected_learning(cells(records, (LARGER,)), ()) == []
    assert len(expected_learning(cells(records, (THIS,)), ())) == 3


def test_a_run_whose_test_is_not_finite_has_learned_what_it_mastered(make_record):
    failed = {"status": "diverged", "training": TO_ITS_END}
    records = [make_record("rnn", seed=seed, **SOLVED, **failed) for seed in range(3)]
    records += [make_record("lstm", seed=seed, **SOLVED) for seed in range(3)]
    (found,) = by_protocol(expected_learning(cells(records, (CAN,)), ()))
    learned = {cell.row.model: cell.result.learned for cell in found.cells}
    assert learned == {"lstm": 3, "rnn": 3}
    assert (found.learned, found.unlearned) == (2, 0)
    page = predictions_page(Evidence(cells(records, (CAN,))))
    assert "rnn on parity (quick (version 1)): predicted “can” by lstm-saturated; 3 of 3" in page
    assert "tests: 0 of 3 finished (3 diverged)" in page.split("## Learned, where")[0]
    shown = predicted_table(cells(records, (CAN,)))
    told = {row[1]: row[-4:] for row in shown.texts}
    assert told["rnn"] == ["not beyond", "3 of 3", "100.0", "3 diverged"]
    assert told["lstm"] == ["as predicted", "3 of 3", "100.0", "100.0 (100.0)"]


def test_the_page_sums_up_and_stays_short(make_record):
    """Cell by cell the command tells it: a page of a thousand cells is none."""
    models = [f"model-{n}[width=64, heads=8]" for n in range(1000)]
    records = [make_record(model, **UNLEARNED) for model in models[::2]]
    records += [make_record(model, **SOLVED) for model in models[1::2]]
    evidence = Evidence(cells(records, (CANNOT, CAN)))
    links = Links(models={(name, "formalbench"): Path(f"models/{name}.md") for name in models})
    page = predictions_page(evidence, links)
    assert len(page.encode()) <= 60_000
    against = page.split("## Results that contradict a prediction")[1].split(
        "## Possible, but not solved"
    )[0]
    lines = against.strip().splitlines()
    assert len(lines) == MOST_LISTED + 1
    assert lines[0].startswith("- [model-101<wbr>&#91;width=64, heads=8&#93;](")
    assert lines[-1] == f"- {500 - MOST_LISTED} more"


def test_a_result_is_listed_once_with_all_its_predictions(make_record):
    page = predictions_page(Evidence(cells([make_record("rnn", **LEARNED)], (CAN, GOES_ON))))
    listed = page.split("## Possible, but not solved")[1].split("## ")[0]
    assert listed.strip() == (
        "- rnn on parity (quick (version 1)): predicted “can” by lstm-saturated and “some setting "
        "extrapolates” by c-rasp-experiments; 1 of 1 seeds learned the training lengths "
        "(validation 100.0); test accuracy 60.0 on average, 60.0 at best."
    )


def test_statements_that_decide_nothing_can_be_read(make_record):
    """No model is built as some of them need, so that nothing else would show them."""
    page = predictions_page(Evidence(cells([make_record("rnn", **SOLVED)])))
    listed = page.split("## Statements without a verdict")[1]
    lines = [line for line in listed.splitlines() if line.startswith("- ")]
    assert [line.split()[1] for line in lines] == [one.name for one in theorems() if one.statement]
    assert (
        "- fixed-precision-attention (second-hand): networks with no-positions, softmax-attention, "
        "strictly-future-masked: exactly linear temporal logic with the past operator alone"
    ) in listed


def test_a_name_is_escaped(make_record):
    page = predictions_page(Evidence(cells([make_record("<b>|x|", **SOLVED)], (CANNOT,))))
    assert "<b>" not in page
    assert "|x|" not in page.replace("\\|", "")


PREDICTED = """
deltanet | parity | cannot positive-eigenvalues (this)
deltanet[eigenvalues=-1..1] | parity | can permutations-by-reflections (this)
deltanet[eigenvalues=-1..1] | cycle-navigation | can permutations-by-reflections (larger)
deltanet[eigenvalues=-1..1] | tomita-3 | can products-of-reflections
rnn | tomita-3 | can elman-finite-precision (this)
gru[width=8] | parity | can gru-finite-precision
gru | reverse-string:transduce |
gru | no-such-task |
no-such-model | parity |
transformer[causal=true, positions=none] | parity | cannot c-rasp-experiments
transformer[causal=true, positions=none] | reverse-string:transduce |
rnn[width=8] | tomita-3 | can elman-finite-precision (larger)
regulargpt | parity:tag | can logarithmic-depth-in-pairs (this)
regulargpt | d12 | can logarithmic-depth-in-pairs (larger)
regulargpt-c3 | parity |
looped-transformer | parity |
transformer[attention=hard, positions=none] | even-a |
transformer[attention=hard, positions=none] | parity | cannot hard-attention-in-ac0 (this)
transformer[attention=hard, positions=none] | tomita-5 | cannot hard-attention-in-ac0 (this)
transformer[attention=hard, positions=none] | group-s3 | cannot hard-attention-in-ac0 (this)
transformer[attention=hard, positions=none] | tomita-4 |
deltaproduct[eigenvalues=0..1, reflections=3] | parity |
mamba-2 | parity | cannot non-negative-eigenvalues (this)
deltanet | first | can overwriting
slice | cycle-navigation | can matrices
slice[transitions=low-rank] | parity |
slice[block=1] | cycle-navigation | cannot real-eigenvalues (this)
slstm | parity | can slstm-saturated
lru | parity | cannot time-invariant (this)
lstm | reset-dyck-1 | can counting-anew
rnn[nonlinearity=relu] | reset-dyck-1 |
stack-rnn | dyck-1 | can counting
stack-rnn[controller=elman] | dyck-1 |
mamba-2[eigenvalues=-1..1] | parity | can negative-eigenvalues-count-to-two (this)
mamba-2[eigenvalues=-1..1] | tomita-3 |
transformer[causal=false, positions=none] | first | cannot order-blind (this)
transformer[causal=false, positions=none] | parity | cannot sensitive-functions
transformer[positions=none] | first | can counting-transformers; can c-rasp-experiments
transformer[positions=none] | even-pairs | can counting-transformers; can c-rasp-experiments
transformer[marker=both, positions=none] | even-pairs | cannot c-rasp-experiments-end-marker
transformer[marker=both, positions=none] | first | can counting-transformers-end-marker; can c-rasp-experiments-end-marker
transformer[marker=both, positions=none] | even-pairs:tag | can counting-transformers; can c-rasp-experiments
transformer[marker=end, positions=none] | first |
transformer[positions=none] | no-bb | cannot c-rasp-experiments
transformer[positions=none] | no-bb:next-symbols |
transformer[positions=none] | parity:next-symbols | cannot c-rasp-experiments
transformer | first |
"""  # noqa: E501
"""Models, tasks, and each prediction: its verdict, its theorem, and the instance it is about.

In next symbols nobody asks about strings outside the language; tags are answered at each symbol."""


@pytest.mark.parametrize("line", PREDICTED.strip().splitlines())
def test_what_is_predicted_of_networks(line):
    model, task, said = (part.strip() for part in line.split("|"))
    host = PluginHost.load()
    task = task if ":" in task else f"{task}:classify"
    found = Predictions(host, suite_view(host, "default").theory).each(model, task)
    of = {"this instance": " (this)", "a larger one of its family": " (larger)", "unknown": ""}
    assert "; ".join(f"{one.verdict} {one.theorem}{of[one.instance]}" for one in found) == said


def test_the_command_of_predictions(cli, own_place, tmp_path, make_record, protocol):
    store = Store(tmp_path / "runs")
    version = PluginHost.load().models.get("gru")[0].spec.version
    own = {**protocol, "name": "own"}
    for seed in range(2):
        store.write(make_record("gru", seed=seed, protocol=own, model_version=version, **SOLVED))
    asked = ("leaderboard", "predictions", "--results", store.path)
    told = cli(*asked, "--format", "json").data
    assert [one["found"] for one in told["predictions"]] == ["as predicted"]
    assert told["predictions"][0]["theorem"] == "gru-finite-precision"
    assert told["counts"][0]["as predicted"] == 1
    assert told["taught"] == [
        {"protocol": "own (version 1)", "cells": 1, "learned": 1, "partly": 0, "untaught": 0}
    ]
    assert json.dumps(told)
    header, line = cli(*asked, "--format", "csv").out.splitlines()
    assert dict(zip(header.split(","), line.split(","), strict=False))["model"] == "gru"
    assert "as predicted" in cli(*asked).out
    assert cli(*asked, "--output", tmp_path / "x").code == 2
    assert cli("leaderboard", "predictions", "--results", tmp_path / "none").code == 2
