"""Chi et al. (2023), Figure 3: the vectors of RegularGPT cluster by state.

Legend: P points or vectors, D coordinates or width, K clusters, B strings, N symbols, G groups of
symbols.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from formalbench.contracts.network import Batch, Traceable
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import plural
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist
from torch import nn

from formalbench_papers.chi import SOURCE
from formalbench_papers.chi.models import PROTOCOLS, QUICK_PROTOCOL, REGULARGPT
from formalbench_papers.framework.bench import Bench, TrainedNetwork, records_of_networks, trained
from formalbench_papers.framework.claims import Claim, Findings, Row, across, value_range
from formalbench_papers.framework.curves import random_strings
from formalbench_papers.framework.runs import CellPlan
from formalbench_papers.index import experiment

Points = npt.NDArray[np.float64]

Labels = npt.NDArray[np.int64]

MOST_CLUSTERS = 10

STARTS = 8


def components(points_PD: Points) -> tuple[Points, Points]:
    """Return the coordinates of points along their first two principal components, (P, 2).

    And the shares of the variance that these have, (2,).
    """
    centred_PD = points_PD - points_PD.mean(axis=0)
    _, lengths, axes = np.linalg.svd(centred_PD, full_matrices=False)
    axes = axes[:2]
    # An axis has no direction of its own: its largest coordinate is made positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    return centred_PD @ axes.T, lengths[:2] ** 2 / (lengths**2).sum()


def silhouette(distances_PP: Points, labels_P: Labels) -> float:
    """Return the mean silhouette of points, from -1 to 1 (Rousseeuw 1987).

    A point's is (b - a) / max(a, b), a being its mean distance to the others of its own cluster
    and b that to the points of the nearest other cluster. Alone in its cluster it has 0.
    """
    names, own_P = np.unique(labels_P, return_inverse=True)
    if len(names) < 2:
        return 0.0
    member_PK = (own_P[:, None] == np.arange(len(names))).astype(np.float64)
    sizes_K, every = member_PK.sum(axis=0), np.arange(len(labels_P))
    sums_PK = distances_PP @ member_PK
    others_P = sizes_K[own_P] - 1
    within_P = sums_PK[every, own_P] / np.maximum(others_P, 1)
    means_PK = sums_PK / sizes_K
    means_PK[every, own_P] = np.inf
    between_P = means_PK.min(axis=1)
    scale_P = np.maximum(within_P, between_P)
    safe_P = np.where(scale_P > 0, scale_P, 1)
    return float(np.where(others_P > 0, (between_P - within_P) / safe_P, 0.0).mean())


def purity(known_PD: Points, known_P: Labels, points_PD: Points, labels_P: Labels) -> float:
    """Return the share of points whose nearest centroid is that of their own label.

    The centroids are the means of the known points of each label; the others are judged.
    """
    names = np.unique(known_P)
    centroids_KD = np.stack([known_PD[known_P == name].mean(axis=0) for name in names])
    nearest_P = names[cdist(points_PD, centroids_KD).argmin(axis=1)]
    return float((nearest_P == labels_P).mean())


@dataclass(frozen=True, slots=True)
class Count:
    """The number of clusters, found without the labels.

    Attributes:
        clusters: number of clusters, 2 to `MOST_CLUSTERS`, with the largest silhouette.
        silhouette: that silhouette.
        agreement: the share of points that are in a cluster most of which has their label.
    """

    clusters: int
    silhouette: float
    agreement: float


def count_clusters(points_PD: Points, distances_PP: Points, labels_P: Labels) -> Count:
    """Return the number of clusters, and whether they agree with the labels."""
    best = (-1.0, 0, np.zeros(len(points_PD), np.int64))
    for count in range(2, MOST_CLUSTERS + 1):
        ids_P = _k_means(points_PD, count)
        if ids_P is None:
            continue
        score = silhouette(distances_PP, ids_P)
        if score > best[0]:
            best = (score, count, ids_P)
    score, count, ids_P = best
    most = [np.unique(labels_P[ids_P == k], return_counts=True)[1].max() for k in set(ids_P)]
    return Count(count, score, float(sum(most) / len(labels_P)))


def _k_means(points_PD: Points, count: int) -> Labels | None:
    """Return the clustering with the least squared distances, of several starts.

    None if every start leaves a cluster empty.
    """

    def spread(centroids_KD: Points, ids_P: Labels) -> float:
        return float(((points_PD - centroids_KD[ids_P]) ** 2).sum())

    tries: list[tuple[Any, Any]] = []
    for seed in range(STARTS):
        # A start that leaves a cluster empty is none.
        with contextlib.suppress(ClusterError):
            rng = np.random.default_rng(seed)
            tries.append(kmeans2(points_PD, count, minit="++", rng=rng, missing="raise"))
    return np.asarray(min(tries, key=lambda one: spread(*one))[1], np.int64) if tries else None


class Vectors(NamedTuple):
    """Vectors of all layers, (P, D), and what each stands for, (P,); parallel arrays.

    Attributes:
        points: the vectors.
        states: of the symbols it has seen: what the task's answer to them alone would be.
        layers: 1, 2, …
        strings: the number of the string.
        lasts: the position of the last symbol it has seen, from 1.
    """

    points: Points
    states: Labels
    layers: Labels
    strings: Labels
    lasts: Labels


def look(network: nn.Module, task: Task, strings_BN: Symbols, chunk: int, kind: str) -> Vectors:
    """Collect the vectors of all layers that feed the answers to strings of one length."""
    assert isinstance(network, Traceable)
    with torch.no_grad():
        trace = network.trace(Batch(torch.from_numpy(strings_BN)))
    parts: list[Vectors] = []
    while (name := f"level.{len(parts)}.block.0.{kind}") in trace:
        vectors_BGD = trace[name].numpy()
        parts.append(_layer(vectors_BGD, task, strings_BN, chunk, len(parts) + 1))
    return Vectors(*map(np.concatenate, zip(*parts, strict=True)))


def _layer(vectors_BGD: Points, task: Task, strings_BN: Symbols, chunk: int, layer: int) -> Vectors:
    """Return the vectors of one layer: the g-th has seen the g-th group of C^layer symbols.

    Groups are counted from the right end; the leftmost may be shorter.
    """
    count, groups, width = vectors_BGD.shape
    length, reach = strings_BN.shape[1], chunk**layer
    ends = [length - reach * (groups - 1 - g) for g in range(groups)]
    states_BG = np.stack(
        [_state(task, strings_BN[:, max(0, end - reach) : end]) for end in ends], axis=1
    )
    return Vectors(
        vectors_BGD.reshape(count * groups, width),
        states_BG.reshape(-1),
        np.full(count * groups, layer),
        np.repeat(np.arange(count), groups),
        np.tile(ends, count),
    )


def _state(task: Task, strings_BN: Symbols) -> Labels:
    """Return the answers to strings: for these languages, that is their transition function."""
    return np.asarray(task.examples(strings_BN).targets, np.int64)


LENGTH = 500

STRINGS = 8
"""The first is drawn; the centroids are of the first half, and tested on the second."""

SEPARATED = 0.5
"""A mean silhouette above this is a structure, below it may be none (Kaufman & Rousseeuw 1990)."""

PURE = 0.99

COLORS = ("#c1272d", "#2a7ab9", "#2f8f5b", "#e08214", "#7b4ea3")


@dataclass(frozen=True, slots=True)
class PlottedLanguage:
    """A panel: its title, the task, and how many clusters the paper sees."""

    title: str
    task: str
    clusters: int


LANGUAGES = (
    PlottedLanguage("PARITY", "parity", 2),
    PlottedLanguage("Cycle Navigation", "cycle-navigation", 5),
)


@dataclass(frozen=True, slots=True)
class Clustered:
    """How a network's vectors cluster.

    Attributes:
        count: how many clusters there are, without looking at the states.
        silhouette: of the states.
        silhouette_2d: the same in the plane that is drawn.
        purity: the share of vectors of other strings whose nearest centroid is their state's.
        variance: the share of it that the plane has.
    """

    count: Count
    silhouette: float
    silhouette_2d: float
    purity: float
    variance: float


def clustered(vectors: Vectors) -> tuple[Clustered, Points]:
    """Measure how vectors cluster; return also where they are in the plane, (P, 2)."""
    points_PD, states_P = vectors.points, vectors.states
    plane_P2, variance = components(points_PD)
    distances_PP = cdist(points_PD, points_PD)
    half_P = vectors.strings < STRINGS // 2
    result = Clustered(
        count=count_clusters(points_PD, distances_PP, states_P),
        silhouette=silhouette(distances_PP, states_P),
        silhouette_2d=silhouette(cdist(plane_P2, plane_P2), states_P),
        purity=purity(points_PD[half_P], states_P[half_P], points_PD[~half_P], states_P[~half_P]),
        variance=float(variance.sum()),
    )
    return result, plane_P2


@experiment(
    "chi-fig3",
    "RegularGPT's vectors and the states of PARITY and Cycle Navigation",
    f"{SOURCE}, Figure 3 and §7.3",
    about="RegularGPT, trained on strings of length 40 and less, reads one of length 500. The "
    "vectors of all layers, on their first two principal components: each stands for a "
    "sub-string, and its colour is the state that the sub-string leads to (the number of "
    "1s modulo 2; the sum of the steps modulo 5). A network that composes transition "
    "functions has one cluster for each.",
    reduced=QUICK_PROTOCOL,
    core_hours=(0.2, 7),
    inside=True,
)
def carry_out(bench: Bench) -> Findings:
    """Train RegularGPT on both languages, and look at every network of the chosen rate."""
    options = REGULARGPT.options(bench.scale)
    protocol = PROTOCOLS[bench.scale]
    plans = [
        CellPlan("RegularGPT", one.title, REGULARGPT.name, one.task, protocol, options)
        for one in LANGUAGES
    ]
    rows: list[Row] = []
    claims: list[Claim] = []
    every = trained(bench, plans)
    for language, networks in zip(LANGUAGES, every, strict=True):
        bench.report(f"{language.title}: vectors of {len(networks)} networks")
        measured = [_measure(network, language, bench) for network in networks]
        rows += [row for _, own in measured[:1] for row in own]
        claims += _claims(language, networks, [one for one, _ in measured])
    return Findings(rows, claims, lambda: _draw(rows), _REMARKS, records=records_of_networks(every))


def _measure(
    network: TrainedNetwork, language: PlottedLanguage, bench: Bench
) -> tuple[Clustered, list[Row]]:
    """Return how a network's vectors cluster, and the points that are drawn."""

    def measure() -> dict[str, Any]:
        task = bench.task(language.task)
        strings_BN = random_strings(task, LENGTH, STRINGS)
        vectors = look(network.module, task, strings_BN, chunk=2, kind="state")
        measured, plane_P2 = clustered(vectors)
        points = _points(language, network, vectors, plane_P2)
        return {"clusters": asdict(measured), "points": points}

    step = {"task": language.task, "find": "clusters", "length": LENGTH, "strings": STRINGS}
    result = network.find(step, measure)
    clusters = result["clusters"]
    return Clustered(**{**clusters, "count": Count(**clusters["count"])}), result["points"]


_REMARKS = (
    "The vectors are the outputs of a layer after residual and norm, which the next layer reads, "
    "at the positions of the tree. The authors' code saves these. The caption's “FFN output "
    "vectors” could also be read as the output of the feed-forward network before the residual is "
    "added.",
    f"A vector's colour is the state of the symbols that it has seen. Numbers are of {STRINGS} "
    "random strings, the figure shows the first of them, as seen by the network of the first seed.",
    "Only vectors on which the answer depends are shown: of 500 symbols 250 after the first layer, "
    "125 after the second, and so on. Vectors at other positions would be the same functions of "
    "other sub-strings.",
    "The number of clusters (2 to 10) is the one with which k-means has the largest silhouette; "
    "k-means does not see the states. A silhouette above 0.5 counts as structure. If networks "
    "disagree or did not learn the training lengths, the verdict is “cannot tell”.",
    "More clusters than in the paper can be the same picture, counted more finely: where every "
    "vector is in a cluster of its state, the clusters are parts of those of the states. In "
    "PARITY's networks of the scale quick the first layer has a cluster for each pair of symbols, "
    "next to those of later layers. The paper does not say how it counts clusters.",
)


def _claims(
    language: PlottedLanguage, networks: Sequence[TrainedNetwork], measured: Sequence[Clustered]
) -> list[Claim]:
    name = language.title
    learned = all(network.learned for network in networks)
    counts = ", ".join(str(one.count.clusters) for one in measured)
    agreement = value_range((100 * one.count.agreement for one in measured), 2)
    right = [100 * network.accuracy for network in networks]
    clusters = across(one.count.clusters == language.clusters for one in measured)
    separated = across(one.purity >= PURE and one.silhouette > SEPARATED for one in measured)
    return [
        Claim(
            f"{name}: there are {language.clusters} clusters",
            f"{language.clusters} clusters (Figure 3, §7.3)",
            f"{counts} ({plural(len(networks), 'network')}, each right on at least "
            f"{min(right):.1f} % of the test strings); {agreement} % of the vectors "
            "are in the cluster of their state"
            if networks
            else "",
            clusters if learned else "cannot tell",
        ),
        Claim(
            f"{name}: the clusters are those of the states, across all layers (nearest centroid "
            f"right for {100 * PURE:.0f} %, silhouette above {SEPARATED})",
            "“clear clustering effect”",
            f"nearest centroid right for {value_range((100 * one.purity for one in measured), 2)} "
            f"% of the vectors; silhouette {value_range((one.silhouette for one in measured), 2)}, "
            f"in the plane {value_range((one.silhouette_2d for one in measured), 2)}, which has "
            f"{value_range((100 * one.variance for one in measured), 0)} % of the variance"
            if networks
            else "",
            separated if learned else "cannot tell",
        ),
    ]


def _points(
    language: PlottedLanguage, network: TrainedNetwork, vectors: Vectors, plane_P2: Points
) -> list[Row]:
    """Return the points that are drawn: those of the first string."""
    return [
        {
            "language": language.title,
            "seed": network.record.seed,
            "layer": int(vectors.layers[i]),
            "last_symbol": int(vectors.lasts[i]),
            "state": int(vectors.states[i]),
            "pc1": round(float(plane_P2[i, 0]), 4),
            "pc2": round(float(plane_P2[i, 1]), 4),
        }
        for i in np.flatnonzero(vectors.strings == 0)
    ]


def _draw(rows: Sequence[Row]) -> Figure:
    def points(language: PlottedLanguage, state: int) -> Series:
        own = [row for row in rows if (row["language"], row["state"]) == (language.title, state)]
        x, y = ([float(row[name]) for row in own] for name in ("pc1", "pc2"))
        return Series(x, y, COLORS[state], f"state {state}", style="o", alpha=0.65)

    panels = [
        Panel(
            [points(one, state) for state in range(one.clusters)],
            title=one.title,
            x="PCA 1",
            y="PCA 2",
            level=0,
            equal=True,
        )
        for one in LANGUAGES
    ]
    return Figure([panels], share=False)
