"""Figure 4 of Chiang & Cholak: the protocols, the claims, the figure, a small campaign."""

from __future__ import annotations

import pytest
from built_records import TO_ITS_END, build_record
from formalbench.contracts.cells import Sums
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import Curve, History
from formalbench.documents.figures import picture
from formalbench.evaluation.cells import split_lengths
from formalbench.host import PluginHost
from formalbench.training.curriculum import Regime
from formalbench.training.run_state import RunState
from formalbench.training.trainer import make_recipe
from formalbench_papers.chiang_cholak import figure4
from formalbench_papers.chiang_cholak.figure4 import LENGTHS, SCALED, STANDARD, claims
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.runs import Got, Wanted


@pytest.fixture(scope="module")
def installed():
    return PluginHost.load()


@pytest.mark.parametrize("length", LENGTHS)
def test_the_protocols_are_the_papers(installed, length):
    protocol = installed.protocol(figure4.PROTOCOL.format(length))
    task = protocol.apply(installed.task("first"))
    assert split_lengths(task, "train") == [length]
    assert split_lengths(task, "test") == [1000]
    assert (protocol.batch, protocol.steps, protocol.seeds) == (1, 10_000, 20)
    assert protocol.optimiser.gradient_clip is None
    made = make_recipe(installed, protocol)
    regime = Regime(protocol, [[length]], made.schedule, "accuracy", made.sampler)
    run, (base,) = RunState(), protocol.learning_rates
    regime.begin_interval(run, 0)
    assert {regime.rate(run, base, step) for step in (0, 5000, 9999)} == {0.0003}
    for done in range(100, 10_001, 100):
        # without an error from the start, and yet
        regime.judge(run, done, {"train/loss": 0.0, "train/error": 0.0})
        assert (run.status == "finished") == (done == 10_000)
        assert regime.validates(run, done) == (done == 10_000)


POINTS = 5


def run_of(task, seed, near, far, bits, attention, settled):
    """A run: accuracy at its own length and at 1000; curves of bits, accuracy and attention."""
    record = build_record(
        task=f"{task}:classify",
        seed=seed,
        validation=near,
        accuracy=[round(1000 * far)],
        strings=1000,
        training=TO_ITS_END,
    )
    later = POINTS - 1
    probes = {
        "attention-on-first.layer.0.head.0": (0.0,) * POINTS,
        "attention-on-first.layer.1.head.0": (
            *(0.001 + i * attention / 100 for i in range(settled)),
            *(attention,) * (POINTS - settled),
        ),
    }
    curve = Curve(
        length=1000,
        strings=1000,
        correct=(500, *(round(1000 * far),) * later),
        millibits=(1000, *(round(1000 * bits),) * later),
        probes=probes,
    )
    history = History(every=50, fingerprint="0" * 64, curves=(curve,))
    entropy = Sums(total=(round(bits * 1e6),), count=(1000,))
    cells = record.test.cells.model_copy(update={"metrics": {CROSS_ENTROPY: entropy}})
    changed = {
        "training": record.training.model_copy(update={"history": history}),
        "test": record.test.model_copy(update={"cells": cells}),
    }
    return record.model_copy(update=changed)


def got(task, kind, n, **changed):
    """Five runs that agree, as the paper has them; or what is changed, of the first `runs`."""
    far = STANDARDS[n] if kind == STANDARD else 1.0
    usual = {"near": 1.0, "far": far, "bits": 1.01 - far, "attention": far}
    usual["settled"] = 1 + LENGTHS.index(n)
    if task == "parity":
        usual |= {"near": 0.49, "far": 0.51, "bits": 1.0}
    runs = changed.pop("runs", 5)
    seeds = [usual | (changed if seed < runs else {}) for seed in range(5)]
    wanted = Wanted(f"{task}, {n}", kind, "transformer", task, "tiny")
    return Got(wanted, [run_of(task, i, **one) for i, one in enumerate(seeds)])


KEYS = [("first", kind, n) for kind in (STANDARD, SCALED) for n in LENGTHS]
PARITY = ("parity", STANDARD, 10)
STANDARDS = dict(zip(LENGTHS, (0.52, 0.7, 0.9, 0.98), strict=True))


@pytest.fixture(autouse=True)
def _an_epoch_is_a_step(monkeypatch):
    monkeypatch.setattr(figure4, "EPOCH", 1)


def verdicts(changes=None):
    changes = changes or {}
    found = {key: got(*key, **changes.get(key, {})) for key in (*KEYS, PARITY)}
    return [claim.verdict for claim in claims(found)]


UNLEARNED = {"near": 0.6, "far": 0.5, "bits": 1.0}
DIFFERS, UNSURE = "differs", "cannot tell"


@pytest.mark.parametrize(
    ("key", "change", "expected"),
    [
        (PARITY, {}, {}),  # what the paper found holds
        (("first", STANDARD, 300), {"near": 0.98}, {0: DIFFERS, 6: UNSURE}),
        (("first", STANDARD, 10), {"far": 0.65}, {1: DIFFERS}),
        (("first", STANDARD, 300), {"far": 1.0}, {2: DIFFERS}),
        (("first", STANDARD, 100), {"far": 0.65}, {3: DIFFERS}),
        (("first", SCALED, 30), {"far": 0.95}, {4: DIFFERS}),
        (("first", SCALED, 30), {"bits": 0.06}, {5: DIFFERS}),
        (("first", SCALED, 30), {"bits": 0.4}, {5: DIFFERS, 6: DIFFERS}),
        (("first", STANDARD, 30), {"attention": 0.95}, {8: DIFFERS}),
        (("first", STANDARD, 300), {"settled": 2}, {9: DIFFERS}),  # a plateau that is no earlier
        (PARITY, {"far": 0.65}, {10: DIFFERS}),
        (PARITY, {"near": 0.8}, {11: DIFFERS}),
        (PARITY, {"near": 0.74}, {}),  # some strings memorised
        # Attention that does not grow in some runs; seeds on both sides; what did not learn.
        (("first", SCALED, 30), {"attention": 0.0005, "settled": 1, "runs": 2}, {7: UNSURE}),
        (("first", STANDARD, 10), {"far": 1.0, "runs": 1}, {1: UNSURE, 3: UNSURE}),
        (("first", SCALED, 30), UNLEARNED, {4: UNSURE, 5: UNSURE, 6: UNSURE}),
        (
            *(("first", SCALED, 30), UNLEARNED | {"near": 1.0}),
            {4: DIFFERS, 5: DIFFERS, 6: DIFFERS, 7: UNSURE},
        ),
    ],
)
def test_each_claim_can_fail_or_stay_open(key, change, expected):
    found = dict(enumerate(verdicts({key: change})))
    assert len(found) == 12
    assert {place: one for place, one in found.items() if one != "holds"} == expected


def test_what_did_not_learn_its_training_length_says_nothing_of_longer_strings():
    unlearned = {("first", STANDARD, n): {"near": 0.6, "far": 0.5} for n in LENGTHS}
    assert verdicts(unlearned)[:4] == [DIFFERS, *[UNSURE] * 3]
    one_run = {("first", STANDARD, 10): {"near": 0.6, "far": 1.0, "runs": 1}}
    assert verdicts(one_run)[1] == "holds"  # the other four learned it


def test_it_is_carried_out_and_drawn(installed, tmp_path):
    class Made(Bench):
        def train(self, wanted, now=None):
            length = {one.protocol: int(one.protocol.rpartition("-")[2]) for one in wanted}
            return [got(one.task, kind_of(one), length[one.protocol]) for one in wanted]

    def kind_of(wanted):
        return SCALED if wanted.model_options.get("log_length") else STANDARD

    found = figure4.carry_out(Made(installed, "quick", lambda line: None))
    assert {claim.verdict for claim in found.claims} == {"holds"}
    assert len(found.rows) == POINTS * 2 * len(KEYS)
    for row in found.rows:
        layers = [row[f"attention_on_1_layer_{layer}"] for layer in (1, 2)]
        assert row["attention_on_1"] == pytest.approx(sum(layers))
    assert b"</svg>" in picture(found.draw(), "svg")
    assert {claim.verdict for claim in claims({})} == {"not run at this scale"}
