"""The learned models of Yao et al.: what is trained, and what the numbers are held against."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from announced import carry_out
from formalbench.contracts.objective import Measure
from formalbench.contracts.verification import parse_any
from formalbench.host import PluginHost
from formalbench.metrics.close_brackets import MACRO, MICRO
from formalbench.running.plan import make_plan
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.runs import Got
from formalbench_papers.yao import figure4a as yao_fig4a
from formalbench_papers.yao import figure5 as yao_fig5

NAMES = ("yao-fig4a", "yao-fig4bc", "yao-fig5")
ASKED = 10_000


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


def record_of(make_record, wanted, seed, validation, test, macro=None):
    """A record whose micro accuracies are these; macro accuracy is half of them, or this."""
    record = make_record(wanted.model, seed=seed)
    data = json.loads(record.to_json())
    cells = data["test"]["cells"]
    data["selected"]["metrics"] |= {
        MICRO: {"total": round(validation * ASKED), "count": ASKED},
        MACRO: {"total": 9 * (validation / 2 if macro is None else macro), "count": 9},
    }
    cells["window"] = len(cells["length"])
    cells["metrics"] = {
        MICRO: {"total": [round(test * ASKED)], "count": [ASKED]},
        MACRO: {"total": [9 * (test / 2 if macro is None else macro)], "count": [9]},
    }
    return parse_any(json.dumps(data), "it")


@dataclass
class Canned:
    """A bench that trains nothing: `accuracy` says how a setting does."""

    make_record: object
    accuracy: object
    scale: str = "quick"
    asked: list = field(default_factory=list)
    only: tuple = ()
    planned: tuple = ()

    train_each = Bench.train_each

    def choose(self, quick, paper):
        return paper if self.scale == "paper" else quick

    def report(self, line):
        pass

    def train(self, wanted, now=lambda one: True):
        self.asked = list(filter(now, wanted))
        return [self.got(one) if one in self.asked else None for one in wanted]

    def got(self, one):
        wanted = replace(one, seeds=one.seeds or 2)
        seeds = range(wanted.seeds)
        return Got(
            wanted, [record_of(self.make_record, one, seed, *self.accuracy(one)) for seed in seeds]
        )


def canned_positions(_, records):
    """Say that a trial does up to position 700 as on validation, and beyond as on the test."""
    return [
        placed(record.selected.metrics[MICRO].mean, record.test.cells.whole(MICRO).mean)
        for record in records
    ]


def placed(seen, unseen):
    shares = dict.fromkeys(range(yao_fig4a.SEEN + 1), seen)
    shares |= dict.fromkeys(range(yao_fig4a.SEEN + 1, yao_fig4a.LONGEST + 1), unseen)
    return {place: Measure(share * ASKED, ASKED) for place, share in shares.items()}


@pytest.fixture(autouse=True)
def _without_weights(monkeypatch):
    monkeypatch.setattr(yao_fig4a, "by_position", canned_positions)


@pytest.fixture
def canned(make_record):
    """Make a bench that trains nothing."""
    return partial(Canned, make_record)


def options(wanted):
    """Return what tells settings apart: LSTM or the positions, layers, width, k, D."""
    chosen = wanted.model_options
    k, depth = wanted.task.removesuffix(":generate").split("-")[1:]
    kind = "lstm" if wanted.model == "lstm" else chosen["positions"]
    return kind, chosen.get("layers", 1), chosen["width"], int(k), int(depth)


def as_in_the_paper(wanted):
    """Return validation and test accuracy as the paper has them."""
    kind, layers, width, k, depth = options(wanted)
    if kind == "lstm":
        hard = (k, depth) in yao_fig5.HARD
        at_eight_ten = (0.6 + width / 110, 0.55 + width / 110) if width < 50 else (0.99, 0.96)
        return (0.7, 0.6) if hard else (0.999, 0.99) if (k, depth) != (8, 10) else at_eight_ten
    if layers == 1:
        return 0.8, 0.6
    if kind != "scalar-6000":
        return 0.99, 0.5
    if width < 30:
        return 0.97, 0.8 + width / 180
    return 0.9999, 0.992


def verdicts(name, bench):
    findings = carry_out(name, bench)
    return [claim.holds for claim in findings.claims]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_what_the_paper_has_holds(canned, name, scale):
    found = verdicts(name, canned(as_in_the_paper, scale))
    assert False not in found
    assert (None in found) == (scale == "quick")  # and says what it did not run


def encodings(learned, scalar=(0.99, 0.992), others=(0.99, 0.3)):
    """Say how networks do by their positions, those of one layer as `others`."""

    def accuracy(kind, layers, *_):
        two = {"scalar-6000": scalar, "learned": learned}
        return two.get(kind, others) if layers == 2 else others

    return accuracy


def five_layers(test):
    return lambda kind, layers, *_: (0.9999, test if layers == 5 else 0.99)


UNSURE = "cannot tell"


@pytest.mark.parametrize(("name", "accuracy", "expected"), [
    # What was not learned says nothing of longer strings; one layer fails then, too.
    ("yao-fig4a", lambda *_: (0.4, 0.4), {
        0: UNSURE, 1: UNSURE, 2: UNSURE, 3: None, 4: UNSURE, 5: False, 6: True, 7: True}),
    # Two equal models: neither is ahead. At d = 20 and 40 nothing was run.
    ("yao-fig4bc", lambda *_: (0.4, 0.4), {
        0: False, 1: None, 2: None, 3: UNSURE, 4: UNSURE, 5: True}),
    ("yao-fig5", lambda *_: (0.4, 0.4), {0: False, 1: UNSURE, 2: None, 3: True, 4: None}),
    # What is near perfect decides, and what training has not seen.
    ("yao-fig4a", encodings((0.99, 0.94)), {1: True}),
    ("yao-fig4a", encodings((0.99, 0.96)), {1: False}),
    ("yao-fig4a", encodings((0.8, 0.5), (0.99, 0.98), (0.8, 0.5)), {0: UNSURE, 1: UNSURE, 2: True}),
    ("yao-fig4a", encodings((0.999, 0.8), (0.999, 0.98), (0.999, 0.8)), {4: True}),
    ("yao-fig4a", encodings((0.999, 0.985), (0.999, 0.98), (0.999, 0.985)), {4: False}),
    # Five layers may be better, and not worse.
    ("yao-fig5", five_layers(0.999), {3: True}),
    ("yao-fig5", five_layers(0.98), {3: True}),
    ("yao-fig5", five_layers(0.96), {3: False}),
])  # fmt: skip
def test_each_claim_can_fail_or_stay_open(canned, name, accuracy, expected):
    found = verdicts(name, canned(lambda wanted: accuracy(*options(wanted))))
    assert {place: found[place] for place in expected} == expected


def test_trials_on_both_sides_of_a_limit_cannot_tell(make_record):
    class Split(Canned):
        def got(self, one):
            shares = ((0.9999, 0.99), (0.9999, 0.9))
            runs = [record_of(self.make_record, one, i, *pair) for i, pair in enumerate(shares)]
            return Got(one, runs)

    for name, claim in (("yao-fig4a", 2), ("yao-fig4bc", 3), ("yao-fig5", 1)):
        findings = carry_out(name, Split(make_record, None))
        assert findings.claims[claim].verdict == "cannot tell"
        assert "94.5" in findings.claims[claim].ours


@pytest.mark.parametrize(
    ("lstm", "alike"), [((0.1, 0.2), True), ((0.6, 0.7), False), ((0.1, 0.9), "cannot tell")]
)
def test_findings_are_alike_with_both_metrics_or_not(make_record, lstm, alike):
    class ByDistance(Canned):
        def got(self, one):
            macros = lstm if one.model == "lstm" else (0.5, 0.55)
            validation, test = as_in_the_paper(one)
            runs = [
                record_of(self.make_record, one, seed, validation, test, macro)
                for seed, macro in enumerate(macros)
            ]
            return Got(replace(one, seeds=2), runs)

    last = carry_out("yao-fig4bc", ByDistance(make_record, None)).claims[-1]
    assert last.holds == alike
    assert "d = 30, validation: +" in last.ours
    assert carry_out("yao-fig5", ByDistance(make_record, None, "paper")).claims[-1].holds == alike


def test_without_weights_nothing_is_said_of_positions(monkeypatch, canned):
    monkeypatch.setattr(yao_fig4a, "by_position", lambda _, records: [None] * len(records))
    findings = carry_out("yao-fig4a", canned(as_in_the_paper))
    assert findings.claims[4].holds is None
    assert {row["test_micro_beyond_700"] for row in findings.rows} == {""}
    findings.draw()


def test_the_width_is_chosen_by_validation_alone(canned):
    def accuracy(wanted):
        *_, width, _, _ = options(wanted)
        return {10: (0.9, 1.0), 30: (0.95, 0.3), 50: (0.94, 1.0)}[width]

    bench = canned(accuracy)
    cells = carry_out("yao-fig5", bench).cells
    ran = [cell for cell in cells if cell.ours]
    assert {cell.column for cell in ran} == {f"k = {k}, D = {d}" for k in (2, 8) for d in (3, 5)}
    assert all(cell.ours.endswith("d = 30") for cell in ran)
    assert {cell.verdict for cell in cells} == {"differs", "not run at this scale"}


def test_a_trial_that_failed_counts_as_nothing(make_record):
    class Failing(Canned):
        def train(self, wanted, now=None):
            got = super().train(wanted, now)
            failed = make_record(wanted[0].model, seed=0, status="diverged")
            got[6] = Got(got[6].wanted, [failed, got[6].records[1]])  # one layer
            return got

    findings = carry_out("yao-fig4a", Failing(make_record, as_in_the_paper))
    first, second = findings.rows[6:8]
    assert (first["status"], first["test_micro"]) == ("diverged", "")
    assert second["test_micro"] == 0.6
    assert any("1 trials did not finish" in line for line in findings.remarks)


@pytest.mark.parametrize(
    ("name", "scale", "settings", "runs"),
    [
        ("yao-fig4a", "quick", 2 * 3, 2 * 3 * 2),
        ("yao-fig4a", "paper", 6 * 3, 6 * 3 * 2 * 3),
        ("yao-fig4bc", "quick", 3 * 2, 3 * 2 * (1 + 2)),
        ("yao-fig4bc", "paper", 10 * 2, 10 * 2 * 2 * 3),
        ("yao-fig5", "quick", 4 * (3 + 3 + 1), 4 * (6 * 2 + 1)),
        ("yao-fig5", "paper", 16 * 9, 16 * 9 * 2 * 2),
    ],
)
def test_the_runs_of_each_scale(host, canned, name, scale, settings, runs):
    bench = canned(as_in_the_paper, scale)
    findings = carry_out(name, bench)
    assert len(bench.asked) == settings
    planned = [run for one in bench.asked for run in make_plan(host, one.request()).runs]
    assert len({run.test_id for run in planned}) == runs
    assert {run.protocol.needs_process for run in planned} == {True}
    assert any("Reduced" in line for line in findings.remarks) == (scale == "quick")


def shared(validation):
    """Say how settings do by validation: by heads, dropout and layers of an LSTM."""

    def accuracy(wanted):
        chosen = wanted.model_options
        kind = "lstm" if wanted.model == "lstm" else "transformer"
        changed = (
            chosen.get("layers") == 2
            if kind == "lstm"
            else "dropout"
            if chosen.get("dropout")
            else "heads"
            if chosen["heads"] > 1
            else False
        )
        return validation[kind, changed], 0.5

    return accuracy


AS_SAID = {
    ("transformer", False): 0.99,
    ("transformer", "dropout"): 0.7,
    ("transformer", "heads"): 0.98,
    ("lstm", False): 0.84,
    ("lstm", True): 0.85,
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [True, True, True]),
        ({("transformer", "dropout"): 0.96}, [False, True, True]),  # not greatly
        ({("transformer", "heads"): 0.995}, [True, False, True]),
        ({("lstm", True): 0.9}, [True, True, False]),
        ({("transformer", False): 0.6}, ["cannot tell", "cannot tell", True]),
    ],
)
def test_settings_that_were_left_out_hurt_or_do_not_help(canned, changed, expected):
    findings = carry_out("yao-settings", canned(shared(AS_SAID | changed)))
    assert [claim.holds for claim in findings.claims] == expected
    findings.draw()
