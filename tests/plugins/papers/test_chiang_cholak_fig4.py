"""Figure 4 of Chiang & Cholak: the protocols, the claims, the figure, a small campaign."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formalbench.evaluation.cells import split_lengths
from formalbench.host import PluginHost
from formalbench.training.recipe import make_recipe
from formalbench.training.regime import Regime
from formalbench.training.run_state import RunState
from formalbench_papers.chiang_cholak import fig4, fig4_curves
from formalbench_papers.chiang_cholak.fig4_claims import claims
from formalbench_papers.chiang_cholak.fig4_curves import (
    LENGTHS,
    SCALED,
    STANDARD,
    Mean,
)
from formalbench_papers.framework.accuracies import Score
from formalbench_papers.framework.bench import Bench

SEEDS = {"quick": 5, "paper": 20}


@pytest.fixture(scope="module")
def installed():
    return PluginHost.load()


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_protocols_are_the_papers(installed, scale, length):
    protocol = installed.protocol(fig4.PROTOCOLS[scale].format(length))
    task = protocol.apply(installed.task("first"))
    assert split_lengths(task, "train") == [length]
    assert split_lengths(task, "test") == [1000]
    assert (protocol.batch, protocol.steps, protocol.seeds) == (1, 10_000, SEEDS[scale])
    assert protocol.optimiser.gradient_clip is None
    regime = Regime(protocol, [[length]], make_recipe(installed, protocol).schedule, "accuracy")
    run, (base,) = RunState(), protocol.learning_rates
    regime.begin_interval(run, 0)
    assert {regime.rate(run, base, step) for step in (0, 5000, 9999)} == {0.0003}
    for done in range(100, 10_001, 100):
        # without an error from the start, and yet
        regime.judge(run, done, {"train/loss": 0.0, "train/error": 0.0})
        assert (run.status == "finished") == (done == 10_000)
        assert regime.validates(run, done) == (done == 10_000)


def score(mean):
    """Five seeds that agree."""
    return Score(mean, mean, mean - 0.01, mean + 0.01, 0.5, "5 seeds", mean)


def curve(accuracy, attention):
    return Mean(
        epoch=(50, 100),
        runs=5,
        bits=(1.0, 1.1 - accuracy),
        accuracy=(0.5, accuracy),
        attention=((0.0, 0.0), (0.001, attention)),
        lowest=(0.5, accuracy),
        highest=(0.5, accuracy),
    )


KEYS = [("first", kind, n) for kind in (STANDARD, SCALED) for n in LENGTHS]
PARITY = ("parity", STANDARD, 10)
STANDARDS = dict(zip(LENGTHS, (0.52, 0.7, 0.9, 0.98), strict=True))


def evidence():
    means, tests = {}, {PARITY: score(0.51)}
    for key in KEYS:
        _, kind, n = key
        value = STANDARDS[n] if kind == STANDARD else 1.0
        tests[key], means[key] = score(value), curve(value, value)
    return means, tests, {PARITY: score(0.49)}


def verdicts(*arguments):
    return [claim.holds for claim in claims(*arguments)]


def test_what_the_paper_found_holds():
    assert verdicts(*evidence()) == [True] * 9


@pytest.mark.parametrize(
    ("key", "value", "failing"),
    [
        (("first", STANDARD, 10), 0.61, [0]),
        (("first", STANDARD, 300), 0.99, [1]),
        (("first", STANDARD, 100), 0.69, [2]),
        (("first", SCALED, 30), 0.98, [3]),
        (PARITY, 0.61, [7]),
    ],
)
def test_what_the_test_contradicts_differs(key, value, failing):
    means, tests, trained = evidence()
    found = verdicts(means, tests | {key: score(value)}, trained)
    assert [i for i, holds in enumerate(found) if holds is False] == failing


@pytest.mark.parametrize(
    ("key", "change", "failing"),
    [
        (("first", SCALED, 30), {"bits": (1.0, 0.41)}, [4]),
        (("first", SCALED, 30), {"attention": ((0.3, 0.2), (0.3, 0.2))}, [5]),
        (("first", STANDARD, 30), {"attention": ((0.0, 0.0), (0.001, 0.95))}, [6]),
    ],
)
def test_what_the_curves_contradict_differs(key, change, failing):
    means, tests, trained = evidence()
    found = verdicts(means | {key: replace(means[key], **change)}, tests, trained)
    assert [i for i, holds in enumerate(found) if holds is False] == failing


def test_a_mean_at_the_limit_of_which_one_seed_is_perfect_cannot_tell():
    means, tests, trained = evidence()
    one_of_five = Score(1.0, 0.6, 0.5, 0.95, 0.5, "5 seeds", 0.5)
    found = verdicts(means, tests | {("first", STANDARD, 10): one_of_five}, trained)
    assert found[0] == "cannot tell"
    assert found[2] == "cannot tell"  # nor whether training on longer strings helps
    all_claims = claims(means, tests | {("first", STANDARD, 10): one_of_five}, trained)
    assert all_claims[0].verdict == "cannot tell"
    assert "(50.0–95.0; 5 seeds)" in all_claims[0].ours


def test_parity_learned_at_its_own_length_is_learned():
    means, tests, _ = evidence()
    assert verdicts(means, tests, {PARITY: score(0.74)})[-1] is True  # some strings memorised
    assert verdicts(means, tests, {PARITY: score(0.76)})[-1] is False


def test_curves_that_are_not_there_claim_nothing():
    means, tests, trained = evidence()
    del means["first", STANDARD, 10]
    assert verdicts(means, tests, trained)[4:7] == [False] * 3


def test_the_figure_has_the_papers_panels():
    figure = fig4.draw(evidence()[0])
    panels = figure.get_axes()
    assert len(panels) == 6
    lines = [[line for line in axes.lines if len(line.get_xdata()) == 2] for axes in panels]
    labels = [line.get_label() for line in lines[0] if line.get_label().startswith("n =")]
    assert labels == [f"n = {n}" for n in LENGTHS]
    accuracy = [line for line in panels[2].lines if line.get_label() == "n = 10"]
    assert list(accuracy[0].get_ydata()) == [0.5, 0.52]


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


def test_a_small_campaign_from_training_to_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fig4, "PROTOCOLS", {"quick": "tiny-{}"})
    monkeypatch.setattr(fig4_curves, "EPOCH", 1)
    for length in LENGTHS:
        (tmp_path / f"tiny-{length}.yaml").write_text(TINY.format(length))
    host = PluginHost.load(sorted(tmp_path.glob("*.yaml")))
    bench = Bench(host, "quick", lambda line: None, tmp_path / "results", "cpu", 1)
    found = fig4.carry_out(bench)
    assert len(found.records) == 2 * (len(KEYS) + len(fig4.PARITY_QUICK))
    assert len(found.claims) == 9
    assert len(found.rows) == 2 * (len(KEYS) + len(fig4.PARITY_QUICK))
    for row in found.rows:
        layers = [row[f"attention_on_1_layer_{layer}"] for layer in (1, 2)]
        assert row["attention_on_1"] == pytest.approx(sum(layers))
        # CLS and twelve symbols, weights as they begin: about 1/13 a layer and head.
        assert all(0.02 < layer < 0.4 for layer in layers)
        assert row["accuracy_lowest"] <= row["accuracy"] <= row["accuracy_highest"]
        assert (row["epoch"], row["runs"]) in {(2, 2), (4, 2)}
