"""Figure 4 of Chiang & Cholak: the protocols, the claims, the figure, a small campaign."""

from __future__ import annotations

import pytest
from built_records import TO_ITS_END, build_record
from formalbench.contracts.cells import Sums
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import Curve, History
from formalbench.evaluation.cells import split_lengths
from formalbench.host import PluginHost
from formalbench.training.curriculum import Regime
from formalbench.training.resolved_protocol import make_recipe
from formalbench.training.run_state import RunState
from formalbench_papers.chiang_cholak import figure4
from formalbench_papers.chiang_cholak.figure4 import LENGTHS, SCALED, STANDARD, claims, mean_of
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
    return [claim.holds for claim in claims(found)]


def test_what_the_paper_found_holds():
    assert verdicts() == [True] * 12


@pytest.mark.parametrize(
    ("key", "change", "failing"),
    [
        (("first", STANDARD, 300), {"near": 0.98}, [0]),
        (("first", STANDARD, 10), {"far": 0.65}, [1]),
        (("first", STANDARD, 300), {"far": 1.0}, [2]),
        (("first", STANDARD, 100), {"far": 0.65}, [3]),
        (("first", SCALED, 30), {"far": 0.95}, [4]),
        (("first", SCALED, 30), {"bits": 0.06}, [5]),
        (("first", SCALED, 30), {"bits": 0.4}, [5, 6]),
        (("first", STANDARD, 30), {"attention": 0.95}, [8]),
        (PARITY, {"far": 0.65}, [10]),
        (PARITY, {"near": 0.8}, [11]),
        (PARITY, {"near": 0.74}, []),  # some strings memorised
    ],
)
def test_each_claim_can_fail(key, change, failing):
    found = verdicts({key: change})
    assert [i for i, holds in enumerate(found) if holds is False] == failing


def test_a_plateau_is_earlier_only_if_it_is():
    assert verdicts({("first", STANDARD, 300): {"settled": 2}})[9] is False
    assert figure4._settled(mean_of(got("first", STANDARD, 300))) == 250
    assert figure4._settled(mean_of(got("first", STANDARD, 10))) == 100


def test_attention_that_does_not_grow_in_some_runs_cannot_tell():
    found = verdicts({("first", SCALED, 30): {"attention": 0.0005, "settled": 1, "runs": 2}})
    assert found[7] == "cannot tell"


def test_seeds_on_both_sides_cannot_tell():
    key = ("first", STANDARD, 10)
    found = {k: got(*k, **({"far": 1.0, "runs": 1} if k == key else {})) for k in (*KEYS, PARITY)}
    made = claims(found)
    assert made[1].verdict == "cannot tell"
    assert made[3].verdict == "cannot tell"  # nor whether training on longer strings helps
    assert "61.6 % (" in made[1].ours


def test_what_did_not_learn_its_training_length_says_nothing_of_longer_strings():
    unlearned = {("first", STANDARD, n): {"near": 0.6, "far": 0.5} for n in LENGTHS}
    found = verdicts(unlearned)
    assert found[0] is False
    assert found[1:4] == ["cannot tell"] * 3
    one_run = {("first", STANDARD, 10): {"near": 0.6, "far": 1.0, "runs": 1}}
    assert verdicts(one_run)[1] is True  # the other four learned it


def test_scaled_attention_that_did_not_learn_its_training_length_is_not_refuted():
    unlearned = {"near": 0.6, "far": 0.5, "bits": 1.0}
    key = ("first", SCALED, 30)
    assert verdicts({key: unlearned})[4:6] == ["cannot tell"] * 2
    assert verdicts({key: unlearned | {"near": 1.0}})[4:6] == [False] * 2


def test_without_runs_nothing_is_claimed():
    assert {claim.verdict for claim in claims({})} == {"not run at this scale"}
    some = {key: got(*key) for key in KEYS if key[1] == SCALED}
    verdict = {claim.claim[:20]: claim.verdict for claim in claims(some)}
    assert verdict["Attention scaled by "] != "differs"


def test_the_figure_has_the_papers_panels():
    figure = figure4._draw({key: mean_of(got(*key)) for key in KEYS})
    panels = figure.get_axes()
    assert len(panels) == 6
    lines = [[line for line in axes.lines if len(line.get_xdata()) == POINTS] for axes in panels]
    labels = [line.get_label() for line in lines[0] if line.get_label().startswith("n =")]
    assert labels == [f"n = {n}" for n in LENGTHS]
    accuracy = [line for line in panels[2].lines if line.get_label() == "n = 10"]
    assert list(accuracy[0].get_ydata()) == [0.5, *[0.52] * 4]


TINY = """\
schema_version: 1
name: tiny-{0}
version: 1
seeds: 2
learning_rates: [0.0003]
batch: 1
steps: 4
evaluate_every: 2
optimiser: {{gradient_clip: null}}
curriculum: {{kind: uniform}}
decay: {{steps: 4, final: 1.0, mastered: 0.0}}
validation: {{every: 4, lengths: 1, strings: 4}}
test: {{lengths: 1, strings: 4}}
splits: {{train: [{0}, {0}], test: [12, 12]}}
watch: {{every: 2, lengths: [12], strings: 4, probes: [attention-on-first]}}
"""


@pytest.mark.slow
def test_a_small_campaign_from_training_to_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(figure4, "PROTOCOL", "tiny-{}")
    monkeypatch.setattr(figure4, "QUICK_SEEDS", 2)
    for length in LENGTHS:
        (tmp_path / f"tiny-{length}.yaml").write_text(TINY.format(length))
    host = PluginHost.load(sorted(tmp_path.glob("*.yaml")))
    bench = Bench(host, "quick", lambda line: None, tmp_path / "results", "cpu", 1)
    found = figure4.carry_out(bench)
    assert len(found.records) == 2 * (len(KEYS) + len(figure4.PARITY_QUICK))
    assert len(found.claims) == 12
    assert len(found.rows) == 2 * (len(KEYS) + len(figure4.PARITY_QUICK))
    for row in found.rows:
        layers = [row[f"attention_on_1_layer_{layer}"] for layer in (1, 2)]
        assert row["attention_on_1"] == pytest.approx(sum(layers))
        # CLS and twelve symbols, weights as they begin: about 1/13 a layer and head.
        assert all(0.02 < layer < 0.4 for layer in layers)
        assert row["accuracy_lowest"] <= row["accuracy"] <= row["accuracy_highest"]
        assert (row["epoch"], row["runs"]) in {(2, 2), (4, 2)}
