"""Are vectors in clusters, in how many, and in the right ones? As numbers.

Legend: P points, D coordinates, K clusters.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.vq import ClusterError, kmeans2
from scipy.spatial.distance import cdist

Points = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

MOST_CLUSTERS = 10
STARTS = 8


def components(points_PD: Points, count: int = 2) -> tuple[Points, Points]:
    """Return the principal components of points.

    Returns:
        the coordinates along the first `count` of them (P, count), and the shares of the
        variance that these have.
    """
    centred_PD = points_PD - points_PD.mean(axis=0)
    _, lengths, axes = np.linalg.svd(centred_PD, full_matrices=False)
    axes = axes[:count]
    # An axis has no direction of its own: its largest coordinate is made positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    return centred_PD @ axes.T, lengths[:count] ** 2 / (lengths**2).sum()


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
    """How many clusters there are, found without looking at any label.

    Attributes:
        clusters: k-means with so many has the largest silhouette, of 2 to `MOST_CLUSTERS`.
        silhouette: that silhouette.
        agreement: the share of points that are in a cluster most of which has their label.
    """

    clusters: int
    silhouette: float
    agreement: float


def count_clusters(points_PD: Points, distances_PP: Points, labels_P: Labels) -> Count:
    """Say how many clusters points form, and whether the labels are what tells these apart."""
    best = (-1.0, 0, np.zeros(len(points_PD), np.int64))
    for count in range(2, MOST_CLUSTERS + 1):
        found_P = _k_means(points_PD, count)
        if found_P is None:
            continue
        score = silhouette(distances_PP, found_P)
        if score > best[0]:
            best = (score, count, found_P)
    score, count, found_P = best
    most = [np.unique(labels_P[found_P == k], return_counts=True)[1].max() for k in set(found_P)]
    return Count(count, score, float(sum(most) / len(labels_P)))


def _k_means(points_PD: Points, count: int) -> Labels | None:
    """Return the clustering with the least squared distances, of several starts.

    None if every start leaves a cluster empty.
    """

    def spread(centroids_KD: Points, found_P: Labels) -> float:
        return float(((points_PD - centroids_KD[found_P]) ** 2).sum())

    tries: list[tuple[Any, Any]] = []
    for seed in range(STARTS):
        # A start that leaves a cluster empty is none.
        with contextlib.suppress(ClusterError):
            rng = np.random.default_rng(seed)
            tries.append(kmeans2(points_PD, count, minit="++", rng=rng, missing="raise"))
    return np.asarray(min(tries, key=lambda one: spread(*one))[1], np.int64) if tries else None
