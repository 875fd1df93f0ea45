"""Order-blind features of strings, and two simple classifiers.

Remainders are for what an automaton sees beside: numbers of symbols, of those at every other place
too, modulo a few.

Legend: B strings, N positions, S symbols, F features, C classes, R runs, T thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

GROUPS = ("ends", "symbols", "neighbours", "balance", "places", "apart", "runs")
"""Groups of features; each includes the length."""

MODULI = (2, 3, 4, 5)
"""Numbers of symbols are seen modulo these, in a group of its own: ``remainders``."""

LONGEST_RUN = 7
"""Runs of equal symbols are counted by their length up to here; longer ones together."""

MOST_PAIRS = 400
"""Kinds of two runs beside each other, at most; of many symbols they count to less than 7."""

BINS = 64
"""Maximum tried thresholds of a feature."""


def features(strings_BN: Ints, symbols: int) -> dict[str, Floats]:
    """Return groups of features of strings of one length, (B, F) each."""
    count, length = strings_BN.shape
    size = max(length, 1)
    one_hot_BNS = strings_BN[:, :, None] == np.arange(symbols)
    counts_BS = one_hot_BNS.sum(axis=1).astype(np.float64)
    pairs_BM = strings_BN[:, :-1] * symbols + strings_BN[:, 1:]
    pairs_BP = _counted(pairs_BM, symbols**2)
    ends_B = strings_BN[:, 0] * symbols + strings_BN[:, -1] if length else np.zeros(count, int)
    lengths_B = np.full((count, 1), float(length))
    plain = [lengths_B, lengths_B % 2]
    ends = [strings_BN[:, :1], strings_BN[:, -1:]] if length else []
    ends_BE = np.concatenate(
        [(end == np.arange(symbols)).astype(float) for end in ends]
        + [(ends_B[:, None] == np.arange(symbols**2)).astype(float)],
        axis=1,
    )
    parts = {
        "ends": [ends_BE],
        "symbols": [counts_BS, counts_BS / size],
        "neighbours": [pairs_BP, pairs_BP / size, pairs_BP == 0],
        "balance": _balance(counts_BS, size),
        "places": _places(one_hot_BNS),
        "apart": _apart(strings_BN, symbols),
        "runs": _runs(strings_BN, symbols),
        "remainders": _remainders(counts_BS, one_hot_BNS[:, ::2].sum(axis=1)),
    }
    return {name: np.concatenate([*part, *plain], axis=1) for name, part in parts.items()}


def _places(one_hot_BNS: Mask) -> list[Floats]:
    """Count each symbol in each half and at every second position."""
    size = one_hot_BNS.shape[1]
    places = (np.s_[: size // 2], np.s_[size // 2 :], np.s_[::2], np.s_[1::2])
    parts = [one_hot_BNS[:, some].sum(axis=1).astype(np.float64) for some in places]
    # No differences: of those a tree that asks 6 times tells even from odd ones, up to some size.
    return [*parts, *(part / max(size, 1) for part in parts)]


def _apart(strings_BN: Ints, symbols: int) -> list[Floats]:
    """Count pairs of symbols two positions apart, and whether there are none."""
    pairs_BM = strings_BN[:, :-2] * symbols + strings_BN[:, 2:]
    counts_BP = _counted(pairs_BM, symbols**2)
    return [counts_BP, counts_BP / max(strings_BN.shape[1], 1), counts_BP == 0]


def _runs(strings_BN: Ints, symbols: int) -> list[Floats]:
    """Count runs by symbol and length, and pairs of successive runs."""
    count, length = strings_BN.shape
    first_BN = np.ones((count, length), dtype=np.bool_)
    first_BN[:, 1:] = strings_BN[:, 1:] != strings_BN[:, :-1]
    at_R = np.flatnonzero(first_BN)
    long_R = np.minimum(np.diff([*at_R, count * length]), LONGEST_RUN + 1) - 1
    row_R, symbol_R = at_R // max(length, 1), strings_BN.reshape(-1)[at_R]
    kinds = symbols * (LONGEST_RUN + 1)
    single_R = row_R * kinds + symbol_R * (LONGEST_RUN + 1) + long_R
    single_BK = np.bincount(single_R, minlength=count * kinds).reshape(count, -1).astype(float)
    bound = LONGEST_RUN
    while symbols * (symbols - 1) * (bound + 1) ** 2 > MOST_PAIRS:
        bound -= 1
    if bound < 1:
        return [single_BK, single_BK == 0]
    kind_R = symbol_R * (bound + 1) + np.minimum(long_R, bound)
    together = row_R[:-1] == row_R[1:]
    size = symbols * (bound + 1)
    pair_R = (row_R[:-1] * size + kind_R[:-1]) * size + kind_R[1:]
    pairs = np.bincount(pair_R[together], minlength=count * size**2).reshape(count, size, size)
    other = np.arange(size)[:, None] // (bound + 1) != np.arange(size) // (bound + 1)
    return [single_BK, single_BK == 0, pairs[:, other].astype(np.float64)]


def _counted(kinds_BM: Ints, kinds: int) -> Floats:
    """Return how often each kind occurs in each row, (B, kinds)."""
    count = len(kinds_BM)
    flat_BM = np.arange(count)[:, None] * kinds + kinds_BM
    found = np.bincount(flat_BM.reshape(-1), minlength=count * kinds)
    return found.reshape(count, kinds).astype(np.float64)


def _balance(counts_BS: Floats, size: int) -> list[Floats]:
    """Return how far pairs of symbols are from being as many, and whether they are."""
    off_BP = _differences(counts_BS)
    # Symbols 2t and 2t+1 are the brackets of a type.
    whole = counts_BS.shape[1] // 2 * 2
    types_BT = np.abs(counts_BS[:, 0:whole:2] - counts_BS[:, 1:whole:2])
    total_B1 = types_BT.sum(axis=1, keepdims=True)
    return [off_BP, np.abs(off_BP), np.abs(off_BP) / size, off_BP == 0, total_B1, total_B1 == 0]


def _remainders(counts_BS: Floats, every_other_BS: Ints) -> list[Floats]:
    """Return numbers modulo `MODULI`: of symbols, at every other place, more there, more of one."""
    more_there_BS = 2 * every_other_BS - counts_BS
    parts = [counts_BS, every_other_BS, more_there_BS, _differences(counts_BS)]
    numbers_BN = np.concatenate(parts, axis=1)
    return [numbers_BN % modulus for modulus in MODULI]


def _differences(counts_BS: Floats) -> Floats:
    """Return for each pair of symbols how many more there are of the first, (B, P)."""
    pairs = list(combinations(range(counts_BS.shape[1]), 2)) or [(0, 0)]
    return np.stack([counts_BS[:, a] - counts_BS[:, b] for a, b in pairs], axis=1)


def logistic(
    train_BF: Floats, labels_B: Ints, test_BF: Floats, classes: int, penalty: float = 1e-4
) -> Ints:
    """Fit a logistic regression, and return its answers, (B,).

    Features are brought to mean 0 and deviation 1, the penalty is on squares of weights.
    """
    mean_F, deviation_F = train_BF.mean(axis=0), train_BF.std(axis=0)
    deviation_F = np.where(deviation_F > 0, deviation_F, 1.0)
    x_BF = torch.from_numpy((train_BF - mean_F) / deviation_F)
    y_B = torch.from_numpy(labels_B)
    weights_FC = torch.zeros(x_BF.shape[1], classes, dtype=torch.float64, requires_grad=True)
    bias_C = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weights_FC, bias_C], max_iter=150, history_size=10, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(x_BF @ weights_FC + bias_C, y_B)
        loss = loss + penalty * weights_FC.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    scores_BC = (test_BF - mean_F) / deviation_F @ weights_FC.detach().numpy()
    return (scores_BC + bias_C.detach().numpy()).argmax(axis=1)


@dataclass(frozen=True)
class Node:
    """A place in a tree: it answers `label`, or asks whether a feature is over a threshold."""

    label: int
    feature: int = 0
    threshold: float = 0.0
    low: Node | None = None
    high: Node | None = None


def grow(train_BF: Floats, labels_B: Ints, classes: int, depth: int) -> Node:
    """Grow a tree that splits where Gini's impurity falls most."""
    cuts = [_cuts(column) for column in train_BF.T]
    bins_FB = np.stack(
        [np.searchsorted(cut, column) for cut, column in zip(cuts, train_BF.T, strict=True)]
    )
    return _grow(bins_FB, cuts, labels_B, classes, depth)


def _cuts(column_B: Floats) -> Floats:
    values = np.unique(column_B)
    between = (values[:-1] + values[1:]) / 2
    keep = np.linspace(0, len(between) - 1, min(len(between), BINS)).astype(int)
    return between[keep]


def _grow(bins_FB: Ints, cuts: list[Floats], labels_B: Ints, classes: int, depth: int) -> Node:
    counts_C = np.bincount(labels_B, minlength=classes)
    label = int(counts_C.argmax())
    if depth == 0 or counts_C.max() == len(labels_B):
        return Node(label)
    best, feature, cut = 1e-9, -1, -1
    for index, bins_B in enumerate(bins_FB):
        if not len(cuts[index]):
            continue
        split = np.bincount(bins_B * classes + labels_B, minlength=(BINS + 1) * classes)
        low_TC = split.reshape(-1, classes).cumsum(axis=0)[: len(cuts[index])]
        high_TC = counts_C - low_TC
        pure_T = _purity(low_TC) + _purity(high_TC) - (counts_C**2).sum() / counts_C.sum()
        if pure_T.max() > best:
            best, feature, cut = float(pure_T.max()), index, int(pure_T.argmax())
    if feature < 0:
        return Node(label)
    low_B = bins_FB[feature] <= cut
    low, high = (
        _grow(bins_FB[:, side_B], cuts, labels_B[side_B], classes, depth - 1)
        for side_B in (low_B, ~low_B)
    )
    return Node(label, feature, float(cuts[feature][cut]), low, high)


def _purity(counts_TC: Ints) -> Floats:
    return (counts_TC**2).sum(axis=1) / np.maximum(counts_TC.sum(axis=1), 1)


def answers(node: Node, strings_BF: Floats, depth: int) -> Ints:
    """Return a tree's answers with at most this many questions, (B,)."""
    if depth == 0 or node.low is None or node.high is None:
        return np.full(len(strings_BF), node.label)
    high_B = strings_BF[:, node.feature] > node.threshold
    answers_B = np.empty(len(strings_BF), dtype=np.int64)
    answers_B[high_B] = answers(node.high, strings_BF[high_B], depth - 1)
    answers_B[~high_B] = answers(node.low, strings_BF[~high_B], depth - 1)
    return answers_B
