"""Theory's predictions beside the measurement: each cell, and how often they agree."""

import json
from pathlib import Path

import pytest
from built_records import TO_ITS_END
from formalbench.host import PluginHost
from formalbench.statistics.build import View, build_page
from formalbench.statistics.result import Prediction
from formalbench.store import Store
from formalbench_leaderboard.board.predictions import (
    by_protocol,
    compared,
    counts,
    expected,
    predicted_table,
)
from formalbench_leaderboard.board.views import Predictions, suite_view
from formalbench_leaderboard.renderers.evidence_pages import MOST_LISTED, Evidence, predictions_page
from formalbench_leaderboard.renderers.links import Links

CAN = Prediction("can", "lstm-saturated", "theorem")
CANNOT = Prediction("cannot", "non-negative-gates", "theorem")
GOES_ON = Prediction("can", "c-rasp-experiments", "experiment")
STAYS = Prediction("cannot", "c-rasp-experiments", "experiment")

THIS = Prediction("can", "elman-finite-precision", "theorem", "this instance")
LARGER = Prediction("can", "elman-finite-precision", "theorem", "a larger one of its family")

SOLVED = {"accuracy": 1.0, "validation": 1.0}
LEARNED = {"accuracy": 0.6, "validation": 1.0}
UNLEARNED = {"accuracy": 0.6, "validation": 0.7}


def cells(records, said=(CAN,)):
    page = build_page(records, View("test", ("parity",), predicted=lambda model, task: said))
    return compared(page)


@pytest.mark.parametrize(
    ("said", "runs", "found"),
    [
        (CAN, [LEARNED, SOLVED], "as predicted"),
        (CAN, [LEARNED, LEARNED], "not beyond"),
        (CAN, [UNLEARNED, UNLEARNED], "not learned"),
        (THIS, [LEARNED, SOLVED], "as predicted"),
        (LARGER, [LEARNED], "not beyond"),
        (CANNOT, [LEARNED, UNLEARNED], "as predicted"),
        (CANNOT, [LEARNED, SOLVED], "against"),
        (CANNOT, [UNLEARNED], "not learned"),
        (GOES_ON, [SOLVED, UNLEARNED], "as predicted"),
        (GOES_ON, [SOLVED, LEARNED], "against"),
        (STAYS, [LEARNED], "as predicted"),
        (STAYS, [SOLVED], "against"),
        (STAYS, [UNLEARNED], "not learned"),
        (None, [SOLVED], "no prediction"),
    ],
)
def test_what_is_found_of_a_prediction(make_record, said, runs, found):
    records = [make_record("lstm", seed=seed, **run) for seed, run in enumerate(runs)]
    (cell,) = cells(records, () if said is None else (said,))
    assert (cell.found, cell.prediction) == (found, said)
    assert cell.kind == (
        "nothing"
        if said is None
        else {
            CAN: "can",
            THIS: "this instance can",
            LARGER: "a larger one can",
            CANNOT: "cannot",
            GOES_ON: "extrapolates once learned",
        }.get(said, "does not extrapolate")
    )


def test_a_test_is_solved_at_every_length_or_not(make_record):
    run = make_record("lstm", **SOLVED)
    tested = run.test.cells
    for missed, solved in ((0.01, True), (0.02, False)):  # at one length alone
        correct = [*tested.correct[:-1], int(tested.strings[-1] * (1 - missed))]
        test = run.test.model_copy(update={"cells": tested.model_copy(update={"correct": correct})})
        almost = run.model_copy(update={"test": test})
        (cell,) = cells([almost])
        assert cell.result.mean > 0.99
        assert cell.result.solved == solved
        assert cell.found == ("as predicted" if solved else "not beyond")


def test_a_theorem_and_an_experiment_are_counted_apart(make_record):
    records = [make_record("lstm", **LEARNED), make_record("rnn", **SOLVED)]
    found = cells(records, (CAN, STAYS))
    told = {count.kind: dict(count.times) for count in counts(found)}
    assert told == {
        "can": {"as predicted": 1, "not beyond": 1},
        "does not extrapolate": {"as predicted": 1, "against": 1},
    }


def test_exact_models_are_not_asked(make_record):
    assert cells([make_record(rate=None, kind="exact")], (CAN,)) == []


def test_contradictions_are_named_with_their_conditions(make_record):
    page = predictions_page(Evidence(cells([make_record("lstm", **SOLVED)], (CANNOT,))))
    told = page.split("## Results that contradict a prediction")[1].split("## Expressible, but")[0]
    assert told.strip().startswith("- lstm on parity (quick (version 1)): predicted “cannot”")
    assert "finite precision, as many layers as it takes" in page.split("## Sources")[1]
    assert "The expressive capacity of state space models" in page


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
        (one.board.protocol, len(one.cells), one.taught, one.partly, one.untaught)
        for one in by_protocol(evidence.expected)
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
    assert expected(cells(records, (CANNOT, STAYS)), ()) == []
    assert expected(cells(records, (LARGER,)), ()) == []
    assert len(expected(cells(records, (THIS,)), ())) == 3


def test_a_run_whose_test_is_not_finite_has_learned_what_it_mastered(make_record):
    failed = {"status": "diverged", "training": TO_ITS_END}
    records = [make_record("rnn", seed=seed, **SOLVED, **failed) for seed in range(3)]
    records += [make_record("lstm", seed=seed, **SOLVED) for seed in range(3)]
    (found,) = by_protocol(expected(cells(records, (CAN,)), ()))
    learned = {cell.row.model: cell.result.learned for cell in found.cells}
    assert learned == {"lstm": 3, "rnn": 3}
    assert (found.taught, found.untaught) == (2, 0)
    page = predictions_page(Evidence(cells(records, (CAN,))))
    assert "rnn on parity (quick (version 1)): predicted “can” by lstm-saturated; 3 of 3" in page
    assert "tests: 0 of 3 finished (3 diverged)" in page.split("## Learned, where")[0]
    shown = predicted_table(cells(records, (CAN,)))
    told = {row[1]: row[-4:] for row in shown.texts}
    assert told["rnn"] == ["not beyond", "3 of 3", "100.0", "3 diverged"]
    assert told["lstm"] == ["as predicted", "3 of 3", "100.0", "100.0 (100.0)"]


def test_agreement_is_counted_protocol_by_protocol(make_record, protocol):
    own = {**protocol, "name": "own"}
    records = [make_record("rnn", **SOLVED), make_record("lstm", protocol=own, **LEARNED)]
    found = counts(cells(records, (CAN,)))
    assert {(one.board.protocol, one.kind): dict(one.times) for one in found} == {
        ("quick", "can"): {"as predicted": 1},
        ("own", "can"): {"not beyond": 1},
    }


def test_the_page_sums_up_and_stays_short(make_record):
    """Cell by cell the command tells it: a page of a thousand cells is none."""
    models = [f"model-{n}[width=64, heads=8]" for n in range(1000)]
    records = [make_record(model, **UNLEARNED) for model in models[::2]]
    records += [make_record(model, **SOLVED) for model in models[1::2]]
    evidence = Evidence(cells(records, (CANNOT, CAN)))
    links = Links(models={(name, "formalbench"): Path(f"models/{name}.md") for name in models})
    page = predictions_page(evidence, links)
    assert len(page.encode()) <= 60_000
    against = page.split("## Results that contradict a prediction")[1].split("## Expressible, but")[
        0
    ]
    lines = against.strip().splitlines()
    assert len(lines) == MOST_LISTED + 1
    assert lines[0].startswith("- [model-101<wbr>&#91;width=64, heads=8&#93;](")
    assert lines[-1] == f"- {500 - MOST_LISTED} more"


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
regulargpt-c3 | parity | can logarithmic-depth
looped-transformer | parity |
transformer[attention=hard, positions=none] | even-a |
transformer[attention=hard, positions=none] | parity | cannot hard-attention-in-ac0 (this)
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


def test_the_command(cli, own_place, tmp_path, make_record, protocol):
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
