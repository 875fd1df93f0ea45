"""The trained transformers of Steffen et al.: what is asked for, and claims that can fail."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Batch
from formalbench.documents.figures import picture
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.evaluation.cells import validation_set
from formalbench.running.plan import make_plan
from formalbench.statistics.intervals import RunAccuracy
from formalbench.store import REPRODUCTIONS
from formalbench.training.curriculum import Interval, TrainingData
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.checks import PageRecords
from formalbench_papers.framework.scores import score_of
from formalbench_papers.steffen import learnability
from formalbench_papers.steffen.dyck import (
    LANGUAGES,
    LENGTHS,
    RARE,
    RULE,
    DyckPoint,
    cells,
    claims,
    members,
    wanted,
)

PUBLISHED = Path(__file__).parents[3] / REPRODUCTIONS


@pytest.mark.parametrize("task", LANGUAGES)
@pytest.mark.parametrize("length", [2, 4, 6, 8])
def test_members_are_counted(host, task, length):
    language = host.task(task).source
    strings = np.array(list(product(range(len(language.alphabet)), repeat=length)))
    assert members(task, length) == language.classify(strings).sum()


@pytest.mark.parametrize(("task", "length"), [("dyck-1-2", 26), ("dyck-2", 10)])
def test_no_test_string_is_trained_on(host, task, length):
    one = next(w for w in wanted((length,), "-quick") if w.task == task)
    run = make_plan(host, one.request()).runs[0]
    there = run.protocol.apply(host.task(run.task.name, dict(run.task.options)))
    data = TrainingData(there, run.protocol, torch.device("cpu"))
    batches = ((length, run.protocol.batch),) * 200
    trained = strings_of(one.inputs[0] for (one,) in data.take(Interval(0, batches, (0,))))
    validated, tested = (
        strings_of(e.inputs for cell in draw(there, run.protocol).cells for e in cell.examples)
        for draw in (validation_set, draw_test_set)
    )
    assert len(trained) > 500
    assert not trained & tested
    assert not validated & (trained | tested)


def strings_of(batches):
    return {tuple(string) for batch in batches for string in batch.tolist()}


def point(length, accuracy, bits):
    accuracies = accuracy if isinstance(accuracy, tuple) else (accuracy,) * 3
    runs = [RunAccuracy(one, 1000) for one in accuracies]
    score = score_of(runs, 0.5, ("test", length))
    return DyckPoint(length, score, accuracies, (bits,) * len(accuracies))


@pytest.mark.parametrize(
    ("accuracy", "bits", "found"),
    [(0.5, 1.0, "holds"), (0.58, 1.0, "differs"), (0.5, 0.05, "differs")],
)
def test_accuracy_and_cross_entropy_must_both_deteriorate(accuracy, bits, found):
    ends = [point(26, 0.55, 0.1), point(100, accuracy, bits)]
    (claim,) = [one for one in claims({("dyck-1", "soft"): ends}) if "deteriorate" in one.claim][:1]
    assert claim.verdict == found


def verdict(accuracies, missing=0, length=26):
    """Of Dyck-1, soft: the authors' run has 100 % at n = 26 and 52.5 % at n = 50."""
    found = point(length, accuracies, 0.0)
    found = replace(found, score=replace(found.score, missing=missing))
    (cell,) = [one for one in cells({("dyck-1", "soft"): [found]}) if one.ours]
    assert cell.column == f"n = {length}"
    return cell.verdict


@pytest.mark.parametrize("missing", [0, 7])
def test_a_cell_compares_the_authors_run_with_our_seeds(missing):
    assert verdict((1.0, 1.0, 0.98), missing) == "holds"
    assert verdict((0.5, 0.5, 1.0), missing) == "cannot tell"
    assert verdict((0.5, 0.5, 0.5), missing) == "cannot tell"
    assert verdict((1.0,) * 3 + (0.5,) * 7, missing) == "cannot tell"
    assert verdict((0.5,) * 18, missing) == "cannot tell"
    assert verdict((0.5,) * 19, missing) == "differs"
    assert verdict((1.0, 1.0), missing) == "cannot tell"
    # Not within two points, but within what 1,000 strings leave open.
    assert verdict((0.5, 0.5, 0.5), missing, length=50) == "holds"


def test_the_page_says_how_many_seeds_a_difference_takes():
    seeds = next(k for k in range(100) if 1 / (k + 1) <= RARE)
    assert f"at least {seeds} seeds" in RULE


def test_every_run_that_is_published_is_planned(host):
    planned = {
        run.test_id for one in wanted(LENGTHS, "") for run in make_plan(host, one.request()).runs
    }
    records = PageRecords.beside(PUBLISHED, "steffen-dyck").records
    own = {one.test_id for one in records if not one.protocol.name.endswith("-quick")}
    assert own <= planned
    seeds = {(one.task, one.column): one.seeds for one in wanted(LENGTHS, "") if "soft" in one.row}
    assert {task: seeds[task, "n = 100"] for task in LANGUAGES} == dict.fromkeys(LANGUAGES, 10)


def curves_of(plain, normed, task="dyck-1"):
    """Make the curves of a construction: by length the accuracies and bits of its seeds."""

    def point(how, length, accuracies, bits):
        runs = [RunAccuracy(accuracy, 1000) for accuracy in accuracies]
        return DyckPoint(length, score_of(runs, 0.5, (how,)), accuracies, bits)

    return {
        (task, how): [point(how, length, *seeds) for length, seeds in some.items()]
        for how, some in ((learnability.PLAIN, plain), (learnability.NORMED, normed))
    }


def learned(bits, accuracy=1.0):
    return (accuracy,) * 3, (bits, bits + 1e-4, bits + 2e-4)


def verdicts(curves, task="Dyck-1"):
    return [one.holds for one in learnability.claims(curves) if one.claim.startswith(f"{task}:")]


def test_the_claims_on_learnability_can_fail():
    guessed = learned(0.9, 0.6)
    as_there = curves_of(
        {50: learned(0.0014), 76: learned(0.0121), 150: guessed},
        {50: learned(0.0), 76: learned(0.0002), 150: learned(0.0034)},
    )
    assert verdicts(as_there) == [True, True, True]
    assert verdicts(as_there, "Dyck-(1, 3)") == [None, None, None]
    alike = curves_of({50: learned(0.0014)}, {50: learned(0.0014)})
    assert verdicts(alike)[0] is False
    assert verdicts(curves_of({50: learned(0.001)}, {50: guessed}))[0] is False
    assert verdicts(curves_of({50: learned(0.001)}, {50: learned(0.02)}))[1] is False
    assert verdicts(curves_of({50: guessed}, {50: guessed}))[1:] == ["cannot tell", False]


def test_the_authors_numbers_say_what_they_say():
    curves = {
        (task, how): [
            DyckPoint(n, score_of([RunAccuracy(a, 1000)] * 3, 0.5, ("x",)), (a,) * 3, (bits,) * 3)
            for n, (a, bits) in zip(LENGTHS, numbers, strict=True)
            if members(task, n) >= 400
        ]
        for (task, how), numbers in learnability.PUBLISHED.items()
    }
    assert [one.holds for one in learnability.claims(curves)] == [True] * 6
    table = cells(curves, learnability.PUBLISHED, learnability.LANGUAGES)
    assert len(table) == 4 * 6
    assert {cell.holds for cell in table} == {True}


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize(("name", "deepest"), [("dyck-1", None), ("dyck-1-3", 3)])
def test_the_authors_weights_recognise_every_short_string(host, name, deepest, norm):
    language = host.task(name).source
    network = learnability.AuthorsNetwork(deepest, norm=norm).double()
    for length in range(1, 9):
        strings = np.array(list(product((0, 1), repeat=length)))
        with torch.no_grad():
            logits = network(Batch(torch.from_numpy(strings)))
        assert not logits[:, 0].any()
        inside = language.classify(strings) == 1
        assert (logits[:, 1] > 1e-9).numpy().tolist() == inside.tolist()
        if not norm:  # the report's §4: 1/n for members, with CLS
            assert logits[inside, 1] == pytest.approx(1 / (length + 1))


@pytest.mark.parametrize(
    ("deepest", "norm", "answer", "gradient"),
    [
        (None, False, -0.989217350162, 38.1089943474),
        (None, True, -1.3242538012, 74.772517768),
        (3, False, 0.969444119528, 51.3259112883),
        (3, True, 2.06955617677, 93.1844976951),
    ],
)
def test_answers_and_gradients_are_those_of_the_authors_code(deepest, norm, answer, gradient):
    """As `dyck_exact.py` and its variants gave them, with the same numbers added to all weights."""
    network = learnability.AuthorsNetwork(deepest, norm=norm).double()
    with torch.no_grad():
        for weight in network.parameters():
            places = torch.arange(weight.numel(), dtype=torch.float64)
            weight += 0.02 * places.cos().reshape(weight.shape)
    logit = network(Batch(torch.tensor([[0, 0, 1, 0, 1, 1, 0]])))[0, 1]
    logit.backward()
    total = sum(weight.grad.square().sum() for weight in network.parameters())
    assert logit.item() == pytest.approx(answer, rel=1e-9)
    assert total.sqrt().item() == pytest.approx(gradient, rel=1e-9)


def test_learnability_is_carried_out_and_goes_on(host, monkeypatch, tmp_path):
    class Tiny(Bench):
        def choose(self, quick, paper):
            return (26,) if isinstance(quick, tuple) else 1

    for name, value in (("STEPS", 6), ("EPOCH", 2), ("LAST", 2)):
        monkeypatch.setattr(learnability, name, value)
    bench = Tiny(host, "quick", lambda line: None)
    findings = learnability.carry_out(bench)
    assert [(row["task"], row["construction"], row["strings"]) for row in findings.rows] == [
        (task, how, 4)
        for task in learnability.LANGUAGES
        for how in (learnability.PLAIN, learnability.NORMED)
    ]
    assert len(findings.cells) == 24
    assert sum(cell.holds is not None for cell in findings.cells) == 4
    assert b"</svg>" in picture(findings.draw(), "svg")
    monkeypatch.setattr(learnability, "_train", None)  # nothing is trained twice
    assert learnability.carry_out(bench).rows == findings.rows
