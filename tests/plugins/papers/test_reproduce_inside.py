"""Looking into trained networks: the measures by hand, and both figures at a tiny scale."""

import numpy as np
import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.host import PluginHost
from formalbench_papers.chi import figure3, figure4
from formalbench_papers.chi.figure3 import components, count_clusters, look, purity, silhouette
from formalbench_papers.framework.bench import Bench, NoWeightsError, trained
from formalbench_papers.framework.runs import Wanted
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist
from torch import nn

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


FAR = 10 * np.eye(4)


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
    points, labels = blobs(FAR)
    assert purity(points, labels, points, labels) == 1
    wrong = labels.copy()
    wrong[:8] = 3
    assert purity(points, labels, points, wrong) == 1 - 8 / 80


@pytest.mark.parametrize("number", [2, 3, 4])
def test_clusters_are_counted_without_labels(number):
    points, labels = blobs(FAR[:number])
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
    points, labels = blobs(FAR[:2])
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
    return Wanted("row", "column", model, task, "tiny", options, seeds=2)


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
