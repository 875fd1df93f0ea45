"""Figure 3 of Chi et al. (2023): RegularGPT's vectors at all layers cluster by their state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from formalbench.analysis.figures import GREY
from formalbench.analysis.text import plural
from scipy.spatial.distance import cdist

from formalbench_papers.chi.clusters import (
    Count,
    Points,
    components,
    count_clusters,
    purity,
    silhouette,
)
from formalbench_papers.chi.models import REGULARGPT
from formalbench_papers.chi.vectors import Vectors, look
from formalbench_papers.framework.answers import across
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.findings import Claim, Findings, Row
from formalbench_papers.framework.measure import random_strings
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.framework.trained import TrainedNetwork, records_of, trained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    seen_P = vectors.strings < STRINGS // 2
    found = Clustered(
        count=count_clusters(points_PD, distances_PP, states_P),
        silhouette=silhouette(distances_PP, states_P),
        silhouette_2d=silhouette(cdist(plane_P2, plane_P2), states_P),
        purity=purity(points_PD[seen_P], states_P[seen_P], points_PD[~seen_P], states_P[~seen_P]),
        variance=float(variance.sum()),
    )
    return found, plane_P2


def carry_out(bench: Bench) -> Findings:
    """Train RegularGPT on both languages, and look at every network of the chosen rate."""
    options = REGULARGPT.options(bench.scale)
    protocol = bench.choose("chi-table1-quick", "chi-table1")
    wanted = [
        Wanted("RegularGPT", one.title, REGULARGPT.name, one.task, protocol, options)
        for one in LANGUAGES
    ]
    rows: list[Row] = []
    claims: list[Claim] = []
    every = trained(bench, wanted)
    for language, networks in zip(LANGUAGES, every, strict=True):
        bench.report(f"{language.title}: vectors of {len(networks)} networks")
        found = [_look(network, language, bench) for network in networks]
        rows += [row for _, own in found[:1] for row in own]
        claims += _claims(language, networks, [one for one, _ in found])
    return Findings(rows, claims, lambda: _draw(rows), _REMARKS, records=records_of(every))


def _look(
    network: TrainedNetwork, language: PlottedLanguage, bench: Bench
) -> tuple[Clustered, list[Row]]:
    """Return how a network's vectors cluster, and the points that are drawn."""

    def look_inside() -> dict[str, Any]:
        task = bench.task(language.task)
        strings_BN = random_strings(task, LENGTH, STRINGS)
        vectors = look(network.module, task, strings_BN, chunk=2, kind="state")
        measured, plane_P2 = clustered(vectors)
        points = _points(language, network, vectors, plane_P2)
        return {"clusters": asdict(measured), "points": points}

    step = {"task": language.task, "find": "clusters", "length": LENGTH, "strings": STRINGS}
    found = network.find(step, look_inside)
    clusters = found["clusters"]
    return Clustered(**{**clusters, "count": Count(**clusters["count"])}), found["points"]


_REMARKS = (
    "The vectors are what leaves a layer, the residual added and normed, which the next layer "
    "reads, at the positions of the tree: these the authors' code saves. The caption's “FFN output "
    "vectors” could also be read as the output of the feed-forward network before the residual is "
    "added.",
    f"A vector's colour is the state of the symbols that it has seen. Numbers are of {STRINGS} "
    "random strings, the figure shows the first of them, as seen by the network of the first seed.",
    "The vectors are those that the answer depends on: of 500 symbols 250 after the first layer, "
    "125 after the second, and so on. Those of other positions would be the same functions of "
    "other sub-strings.",
    "The number of clusters is the one for which k-means, which is not told the states, has the "
    "largest silhouette, among 2 to 10. A silhouette above 0.5 is taken for a structure. Networks "
    "that disagree cannot tell, nor can one that did not learn the training lengths.",
)


def _claims(
    language: PlottedLanguage, networks: Sequence[TrainedNetwork], measured: Sequence[Clustered]
) -> list[Claim]:
    name = language.title
    learned = all(network.learned for network in networks)
    counts = ", ".join(str(one.count.clusters) for one in measured)
    agreement = _range(measured, lambda one: 100 * one.count.agreement, 2)
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
            f"nearest centroid right for {_range(measured, lambda one: 100 * one.purity, 2)} % of "
            f"the vectors; silhouette {_range(measured, lambda one: one.silhouette, 2)}, "
            f"in the plane {_range(measured, lambda one: one.silhouette_2d, 2)}, which has "
            f"{_range(measured, lambda one: 100 * one.variance, 0)} % of the variance"
            if networks
            else "",
            separated if learned else "cannot tell",
        ),
    ]


def _range(measured: Sequence[Clustered], value: Callable[[Clustered], float], digits: int) -> str:
    """Return the least and the greatest value, or the only one; empty if there is none."""
    texts = [f"{v:.{digits}f}" for v in sorted(map(value, measured))]
    return " to ".join(dict.fromkeys([*texts[:1], *texts[-1:]]))


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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 4.2), layout="constrained")
    for axes, language in zip(figure.subplots(1, len(LANGUAGES)), LANGUAGES, strict=True):
        _draw_panel(axes, language, rows)
    return figure


def _draw_panel(axes: Axes, language: PlottedLanguage, rows: Sequence[Row]) -> None:
    mine = [row for row in rows if row["language"] == language.title]
    for state in range(language.clusters):
        own = [row for row in mine if row["state"] == state]
        axes.scatter(
            [float(row["pc1"]) for row in own],
            [float(row["pc2"]) for row in own],
            s=26,
            color=COLORS[state],
            alpha=0.65,
            linewidths=0.4,
            edgecolors="white",
            label=str(state),
            zorder=3,
        )
    axes.axhline(0, color=GREY, linewidth=0.6, zorder=1)
    axes.axvline(0, color=GREY, linewidth=0.6, zorder=1)
    axes.set(xlabel="PCA 1", ylabel="PCA 2")
    axes.set_title(language.title)
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(title="state", loc="best", handletextpad=0.1, borderpad=0.2)
