"""The RegularGPT paper: the rule for a cell, the claims of its tables, and what is in networks."""

import numpy as np
import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.paper_tables import PublishedResult
from formalbench.host import PluginHost
from formalbench.running.plan import make_plan
from formalbench_papers.chi import figure3, figure4, table1_code, table1_long
from formalbench_papers.chi import table2 as chi_table2
from formalbench_papers.chi.figure3 import components, count_clusters, look, purity, silhouette
from formalbench_papers.framework import scores as framework_scores
from formalbench_papers.framework.bench import Bench, NoWeightsError, trained
from formalbench_papers.framework.runs import CellPlan, CellRecords
from formalbench_papers.framework.scores import Score, agrees, cell
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist
from torch import nn

PARITY = PublishedResult(max=100.0, mean=98.9)


def score(mean=1.0, best=None, low=None, high=None, chance=0.5, missing=0):
    return Score(
        mean if best is None else best,
        mean,
        mean if low is None else low,
        mean if high is None else high,
        chance,
        "3 seeds",
        missing=missing,
        seeds=3,
    )


@pytest.mark.parametrize(
    ("paper", "ours", "holds"),
    [
        ((100.0, 98.9), score(0.989, best=0.981), True),
        ((100.0, 98.9), score(0.989, best=0.979), "cannot tell"),  # maxima 2.1 apart
        ((100.0, 98.9), score(0.989, best=0.89), False),  # 11
        ((100.0, 98.9), score(0.989, best=0.89, missing=1), "cannot tell"),
        ((100.0, 98.9), score(0.989, best=1.0, missing=2), "cannot tell"),
        ((100.0, 98.9), score(0.6, missing=2), "cannot tell"),
        ((100.0, 98.9), score(0.97, best=1.0), True),  # 1.9 points
        ((100.0, 98.9), score(0.96, best=1.0), False),
        ((100.0, 98.9), score(0.96, best=1.0, low=0.90, high=0.99), "cannot tell"),  # within it
        ((100.0, 98.9), score(0.96, best=1.0, low=0.90, high=0.98), False),
        ((100.0, 98.9), score(0.89, best=1.0, low=0.70, high=1.0), "cannot tell"),
        ((100.0, 98.9), score(0.88, best=1.0, low=0.50, high=1.0), "cannot tell"),
        ((21.2, 20.5), score(0.97, best=1.0, low=0.9, high=1.0), False),  # better is different
        ((None, 50.1), score(0.5, best=0.9), True),  # an average only
        ((50.0, None), score(0.9, best=0.51), True),  # a maximum only
        ((52.0, 50.0), score(0.5, best=0.5), True),  # 2 points and no more
        ((52.1, 50.0), score(0.5, best=0.5), "cannot tell"),
        ((100.0, 98.9), Score(None, None, None, None, None, "0 of 3 finished"), False),
    ],
)
def test_the_rule_for_a_cell(paper, ours, holds):
    published = PublishedResult(max=paper[0], mean=paper[1])
    assert agrees(published, ours) == holds
    assert cell("parity", "RNN", published, ours).holds == holds


@pytest.mark.parametrize(
    ("paper", "seeds", "holds"),
    [
        ((100.0, 88.7), (1.0, 1.0, 1.0), "cannot tell"),  # a seed of the paper's reached it, too
        ((90.0, 88.7), (1.0, 0.98, 0.99), False),  # each of ours is above all of the paper's
        ((90.0, 88.7), (1.0, 0.98, 0.9), "cannot tell"),
        ((None, 70.0), (0.5, 0.6, 0.55), False),
        ((None, 70.0), (0.5, 0.6), "cannot tell"),  # two seeds decide nothing
        ((None, 55.0), (0.54, 0.56), "cannot tell"),
        ((None, 55.0), (0.54, 0.56, 0.55), True),
        ((70.0, None), (0.5, 0.69), "cannot tell"),
        ((83.0, None), (1.0, 0.2, 0.2), "cannot tell"),  # one seed above the paper's maximum
        ((83.0, None), (1.0, 0.9, 0.86), False),
        ((83.0, None), (0.72, 0.2, 0.2), False),
        ((70.0, 60.0), (0.62, 0.5, 0.68), True),
    ],
)
def test_three_seeds_on_one_side_decide_a_cell_as_they_do_a_claim(paper, seeds, holds):
    mean = sum(seeds) / len(seeds)
    ours = Score(max(seeds), mean, 0.2, 1.0, 0.5, "seeds", min(seeds), seeds=len(seeds))
    assert agrees(PublishedResult(max=paper[0], mean=paper[1]), ours) == holds


def test_a_cell_of_networks_that_learned_no_training_lengths_cannot_tell_and_is_marked(make_record):
    wanted = CellPlan("parity", "RNN", "rnn", "parity", "quick", seeds=3)
    for accuracy, paper in ((0.5, PARITY), (0.5, PublishedResult(max=50.0, mean=50.0))):
        runs = [
            make_record("rnn", seed=seed, validation=0.6, accuracy=accuracy) for seed in range(3)
        ]
        shown = cell("parity", "RNN", paper, Score.of_test(CellRecords(wanted, runs)))
        assert shown.verdict == "cannot tell"
        assert shown.ours.endswith("3 seeds; training lengths not learned)")
    runs[0] = make_record("rnn", seed=0, validation=1.0, accuracy=0.5)  # one is enough
    shown = cell("parity", "RNN", PARITY, Score.of_test(CellRecords(wanted, runs)))
    assert (shown.verdict, "not learned" in shown.ours) == ("differs", False)


def test_a_run_that_did_not_finish_is_said(make_record):
    wanted = CellPlan("parity", "RNN", "rnn", "parity", "quick")
    good = [make_record("rnn", seed=seed) for seed in range(2)]
    got = CellRecords(wanted, [*good, make_record("rnn", seed=2, status="diverged")])
    shown = cell("parity", "RNN", PARITY, Score.of_test(got))
    assert "2 of 3 finished (1 diverged)" in shown.ours
    assert "83.3 (" in shown.ours  # it counts as chance
    assert shown.verdict == "cannot tell"  # two seeds of three say little of the others
    bad = [make_record("rnn", seed=seed, accuracy=0.6) for seed in range(3)]
    assert (
        cell("parity", "RNN", PARITY, Score.of_test(CellRecords(wanted, bad))).verdict == "differs"
    )
    assert Score.of_validation(got).outcome == "2 of 3 finished"
    none = CellRecords(wanted, [make_record("rnn", seed=0, status="diverged")])
    assert Score.of_validation(none).mean is None
    assert framework_scores.ours_text(PARITY, Score.of_validation(none)) == "0 of 1 finished"


def test_seeds_that_learned_their_lengths_are_told_from_the_others(make_record):
    wanted = CellPlan("parity", "Transformer", "transformer", "parity", "quick", seeds=4)
    shares = ((1.0, 0.9), (0.6, 0.5), (0.99, 0.8))
    runs = [
        make_record("transformer", seed=seed, validation=near, accuracy=far)
        for seed, (near, far) in enumerate(shares)
    ]
    got = CellRecords(wanted, runs)
    assert [record.seed for record in got.learned.records] == [0, 2]
    assert Score.of_test(got.learned).mean == pytest.approx(0.85)
    assert (got.missing, Score.of_test(got).missing) == (1, 1)
    assert Score.of_validation(got).missing == 1
    assert got.learned.missing == 1  # the seed that did not learn was run
    assert CellRecords(wanted, runs[1:2]).learned is None


DIFFERS, UNSURE = "differs", "cannot tell"


def scores_2():
    scores = {
        (setting, model, p): score(1.0)
        for setting in chi_table2.SETTINGS
        for model in chi_table2.MODELS
        for p in chi_table2.PROBABILITIES
    }
    for setting in chi_table2.SETTINGS:
        for p in chi_table2.PROBABILITIES:
            far = setting.startswith(chi_table2.FURTHER)
            mean = 0.5 if far else 0.77 if p == 0.9 else 0.99
            scores[setting, "Transformer", p] = score(mean, low=mean - 0.01, high=mean + 0.01)
    return scores


def claims_2(scores, learned=None):
    return chi_table2.claims(scores, scores if learned is None else learned)


FAR, NEAR = "extrapolation", "same length"
WIDE = {"low": 0.6, "high": 1.0}


@pytest.mark.parametrize(
    ("changed", "verdict", "text"),
    [
        ({(FAR, "RegularGPT", 0.9): score(0.9)}, DIFFERS, "RegularGPT, extrapolation: "),
        (
            {(NEAR, "Transformer", 0.5): score(0.975), (NEAR, "Transformer", 0.9): score(0.99)},
            *(DIFFERS, "the Transformer, same length: "),
        ),
        ({(NEAR, "Transformer", 0.5): score(0.9)}, DIFFERS, "the Transformer, same length: "),
        ({(FAR, "Transformer", 0.1): score(0.6)}, DIFFERS, "the Transformer, extrapolation: "),
        ({(FAR, "RNN", 0.1): score(0.9, best=1.0, **WIDE)}, UNSURE, "RNN, extrapolation: "),
        (
            {(FAR, "Transformer", 0.1): score(0.7, low=0.5, high=0.95)},
            *(UNSURE, "the Transformer, extrapolation: "),
        ),
    ],
)
def test_each_claim_of_table_2_can_fail_or_stay_open(changed, verdict, text):
    (found,) = [one for one in claims_2(scores_2() | changed) if one.verdict != "holds"]
    assert found.claim.startswith(text)
    assert found.verdict == verdict


def test_what_learned_no_training_lengths_does_not_refute_table_2():
    assert {one.verdict for one in claims_2(scores_2())} == {"holds"}
    assert {one.verdict for one in claims_2({})} == {"not run at this scale"}
    some = {key: one for key, one in scores_2().items() if key[2] in (0.1, 0.9)}
    assert {one.verdict for one in claims_2(some)} == {UNSURE}  # they are about every P(1)
    key = (FAR, "RegularGPT", 0.9)
    scores = scores_2() | {key: score(0.6)}
    unlearned = {other: one for other, one in scores.items() if other != key}
    (found,) = [one for one in claims_2(scores, unlearned) if one.verdict == UNSURE]
    assert "no seed learned the training lengths at 0.9" in found.ours
    some = unlearned | {key: score(1.0)}  # the one seed that learned is perfect
    assert [one.verdict for one in claims_2(scores, some)].count(UNSURE) == 1
    learned = {key: one for key, one in scores_2().items() if key[1] != "Transformer"}
    unsure = [one for one in claims_2(scores_2(), learned) if one.verdict == UNSURE]
    assert len(unsure) == 4
    assert all(one.claim.startswith("the Transformer, ") for one in unsure)


TINY = """
name: {name}
version: 1
seeds: 2
learning_rates: [0.01]
steps: 40
batch: 8
evaluate_every: 10
decay: {{steps: 20}}
validation: {{every: 20, lengths: 3, strings: 8}}
test: {{lengths: 3, strings: 16}}
"""


def blobs(centres, each=20, spread=0.1):
    rng = np.random.default_rng(0)
    points = [centre + spread * rng.standard_normal((each, 4)) for centre in centres]
    return np.concatenate(points), np.repeat(np.arange(len(centres)), each)


CENTRES = 10 * np.eye(4)


def test_silhouette_by_hand():
    points = np.array([[0.0], [1.0], [4.0], [9.0]])
    labels = np.array([5, 5, 7, 9])
    # 0: a = 1, b = 4. 1: a = 1, b = 3. The other two are alone.
    expected = ((4 - 1) / 4 + (3 - 1) / 3) / 4
    assert silhouette(cdist(points, points), labels) == pytest.approx(expected)
    assert silhouette(cdist(points, points), np.zeros(4, int)) == 0
    assert silhouette(np.zeros((4, 4)), np.array([0, 0, 1, 1])) == 0  # all in one place


def test_components_are_those_of_the_covariance():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((200, 4)) * [5, 3, 1, 0.1] + 7
    plane, variance = components(points)
    values, axes = np.linalg.eigh(np.cov(points.T))
    assert variance == pytest.approx(values[::-1][:2] / values.sum())
    expected = (points - points.mean(0)) @ axes[:, ::-1][:, :2]
    assert np.abs(plane) == pytest.approx(np.abs(expected))
    assert components(points)[0] == pytest.approx(plane)


def test_purity_is_judged_on_points_not_seen():
    points, labels = blobs(CENTRES)
    assert purity(points, labels, points, labels) == 1
    wrong = labels.copy()
    wrong[:8] = 3
    assert purity(points, labels, points, wrong) == 1 - 8 / 80


@pytest.mark.parametrize("number", [2, 3, 4])
def test_clusters_are_counted_without_labels(number):
    points, labels = blobs(CENTRES[:number])
    found = count_clusters(points, cdist(points, points), labels)
    assert (found.clusters, found.agreement) == (number, 1.0)
    assert found.silhouette > 0.9
    mixed = np.arange(len(labels)) % 2
    assert count_clusters(points, cdist(points, points), mixed).agreement == 0.5


def test_a_start_that_leaves_a_cluster_empty_is_left_out(monkeypatch):
    calls = []

    def sometimes(points, count, **how):
        calls.append(count)
        if count == 3 or len(calls) % 8 == 1:  # the first start, and every one with three
            raise ClusterError
        return kmeans2(points, count, **how)

    monkeypatch.setattr(figure3, "kmeans2", sometimes)
    points, labels = blobs(CENTRES[:2])
    found = count_clusters(points, cdist(points, points), labels)
    assert (found.clusters, found.agreement) == (2, 1.0)
    assert calls.count(3) == 8


@pytest.fixture(scope="module")
def make_bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    (folder / "tiny.yaml").write_text(TINY.format(name="tiny"))

    def make():
        host = PluginHost.load([folder / "tiny.yaml"])
        return Bench(host, "quick", lambda line: None, folder / "results", "cpu", 1)

    return make


@pytest.fixture(scope="module")
def bench(make_bench):
    return make_bench()


@pytest.fixture(autouse=True)
def _a_place_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    torch.set_num_threads(1)


def wanted(model="regulargpt", task="parity", **options):
    return CellPlan("row", "column", model, task, "tiny", options, seeds=2)


def test_records_without_weights_or_results_are_one_line(make_bench, monkeypatch):
    one = wanted(width=8, heads=4)
    with monkeypatch.context() as patch:
        patch.setattr("formalbench.store.weights.MAX_BYTES", 10)
        ((network, _),) = trained(make_bench(), [one])
        with pytest.raises(NoWeightsError, match="no weights to look into: remove it") as caught:
            _ = network.module
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: 1 / 0)
    with pytest.raises(RequestError, match="no run of lstm on parity finished: error, ZeroDiv"):
        trained(make_bench(), [wanted("lstm", width=4)])


@pytest.mark.parametrize("length", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("chunk", [2, 3])
@pytest.mark.parametrize("kind", ["state", "feed_forward"])
def test_a_vector_is_a_function_of_the_symbols_it_is_said_to_have_seen(bench, length, chunk, kind):
    """Change what it has not seen: it stays. Change one symbol that it has seen: it moves."""
    task = bench.task("parity")
    module = bench.network("regulargpt", task, width=8, heads=2, chunk=chunk)
    string = np.arange(length) % 3 % 2
    changed = np.array([string, *figure4.with_each_changed(task, string)])
    vectors = look(module, task, changed, chunk, kind)
    points, states, lasts, layers = (
        np.stack([part[vectors.strings == i] for i in range(length + 1)])
        for part in (vectors.points, vectors.states, vectors.lasts, vectors.layers)
    )
    assert lasts[0, -1] == length
    assert chunk ** layers.max() >= length
    for index, (last, layer) in enumerate(zip(lasts[0], layers[0], strict=True)):
        first = max(0, last - chunk**layer)
        assert states[0, index] == string[first:last].sum() % 2
        for position in range(length):
            same = np.allclose(points[0, index], points[1 + position, index], atol=1e-12)
            assert same == (not first <= position < last)


def test_the_curve_falls_from_one_and_is_straight_where_all_count_alike(bench):
    class Sum(nn.Module):
        def __init__(self, power):
            super().__init__()
            self.embedding = nn.Embedding(2, 3).double()
            self.power = power

        def forward(self, batch):
            weight = torch.arange(1.0, batch.symbols.shape[1] + 1) ** self.power
            return (1e-3 * weight[:, None] * self.embedding(batch.symbols)).sum(1)[:, :2]

    task = bench.task("parity")
    strings = np.random.default_rng(0).integers(2, size=(30, 50))
    assert figure4.shares(Sum(0), task, strings) == pytest.approx(np.full((30, 50), 1 / 50))
    growing = figure4.shares(Sum(1), task, strings)
    assert growing == pytest.approx(np.tile(np.arange(1, 51) / 1275, (30, 1)))
    assert figure4.diagonal(4).tolist() == [1, 0.75, 0.5, 0.25]


class Right(nn.Module):
    """Answers PARITY, or always 0."""

    def __init__(self, right):
        super().__init__()
        self.right = right

    def forward(self, batch):
        odd_B = batch.symbols.sum(1) % 2 * self.right
        return nn.functional.one_hot(odd_B, 2).double()


def test_answers_must_follow_every_change(bench):
    task = bench.task("parity")
    changed = figure4.with_each_changed(task, np.array([1, 0, 0, 0, 1]))
    assert figure4.answered(Right(1), task, changed) == 1
    assert figure4.answered(Right(0), task, changed) == 0
    assert not Right(0)(Batch(torch.ones(3, 2, dtype=torch.int64))).argmax(1).any()


def runs_asked_for(experiment, folder):
    """Return the runs of each cell that an experiment at the scale quick asks for."""
    host, asked = PluginHost.load(), []
    bench = Bench(host, "quick", print, folder, training=False, asked=asked.extend)
    found = experiment.carry_out(bench)
    assert {cell.verdict for cell in found.cells} == {"not run at this scale"}
    plans = {(one.row, one.column): make_plan(host, one.request()).runs for one in asked}
    assert {len(runs) for runs in plans.values()} == {3}
    return {key: runs[0] for key, runs in plans.items()}


def test_each_language_is_trained_by_the_settings_of_the_authors_code(tmp_path):
    """Of D12 and even pairs; the authors' rate, steps, width and strings outside the language."""
    runs = runs_asked_for(table1_code, tmp_path)
    first = runs["d12", "RegularGPT (C=2)"]
    assert (first.learning_rate, first.protocol.steps, first.protocol.batch) == (1e-4, 50_000, 128)
    assert (first.model.options, first.task.options) == ({}, {"sampling": "uniform"})
    other = runs["even-pairs", "RegularGPT (C=2)"]
    assert (other.learning_rate, other.protocol.steps) == (3e-5, 10_000)
    assert (other.model.options, other.task.options) == ({"width": 256}, {})


def test_what_was_not_learned_is_trained_longer_with_the_papers_network(tmp_path):
    runs = runs_asked_for(table1_long, tmp_path)
    assert len(runs) == 14
    one = runs["parity", "Transformer"]
    assert (one.learning_rate, one.protocol.steps, one.protocol.batch) == (3e-4, 20_000, 32)
    assert "width" not in one.model.options  # 64, the default
    for name, value in {"layers": 5, "norm": "post", "bias": False, "heads": 8}.items():
        assert one.model.options[name] == value
    two = runs["modular-arithmetic", "RegularGPT (C=2)"]
    assert (two.learning_rate, two.protocol.steps, two.protocol.batch) == (1e-4, 100_000, 128)
    assert two.model.options == {"width": 256}
