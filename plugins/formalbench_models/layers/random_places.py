"""Randomised positions: each string's positions are a sorted draw from a longer range.

Source: Ruoss et al., "Randomized positional encodings boost length generalization of transformers"
(2023), §3. The codes of M positions are those of M different numbers out of 0 … L-1, in order, in
training and in testing. They draw for each batch. Here a string's draw is a function of its
symbols: a hash of them numbers the range, and the M least are taken. So the network stays a
function of its string, whatever batch that is in, and its results repeat.

Legend: B batch, M positions, L range.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Of splitmix64 (Steele, Lea & Flood 2014), as signed numbers.
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)


def random_places(symbols_BM: Tensor, lengths_B: Tensor | None, most: int) -> Tensor:
    """Return each string's positions, rising, (B, M) int64; the last one again where it is padded.

    Args:
        symbols_BM: ids.
        lengths_B: how many of the M are real in each string, if not all.
        most: L, at least M.
    """
    real_BM, hash_B1 = _hashed(symbols_BM, lengths_B)
    number_L = torch.arange(most, device=symbols_BM.device)
    order_BL = mixed(hash_B1 + number_L * _STEP).argsort(dim=1)
    drawn_BM = torch.where(real_BM, order_BL[:, : symbols_BM.shape[1]], most - 1)
    return drawn_BM.sort(dim=1).values


def shifted_places(symbols_BM: Tensor, lengths_B: Tensor | None, most: int) -> Tensor:
    """Return each string's positions, one after another from a random first, (B, M) int64.

    Huang et al. (2025), section 5, train absolute positions so: none is left untrained for
    being beyond the strings of training.

    Args:
        symbols_BM: ids.
        lengths_B: how many of the M are real in each string, if not all.
        most: how many first positions there are.
    """
    _, hash_B1 = _hashed(symbols_BM, lengths_B)
    return hash_B1 % most + torch.arange(symbols_BM.shape[1], device=symbols_BM.device)


def _hashed(symbols_BM: Tensor, lengths_B: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return which positions are real, (B, M) or less, and a number of each string, (B, 1)."""
    count = symbols_BM.shape[1]
    place_M = torch.arange(count, device=symbols_BM.device)
    long_B1 = symbols_BM.new_full((1, 1), count) if lengths_B is None else lengths_B[:, None]
    real_BM = place_M < long_B1
    each_BM = mixed(mixed((place_M + 1) * _STEP) + symbols_BM)
    return real_BM, mixed(torch.where(real_BM, each_BM, 0).sum(1, keepdim=True))


def mixed(number: Tensor) -> Tensor:
    """Return a one-to-one function of 64-bit numbers that looks random, by splitmix64."""
    number = (number ^ _shifted(number, 30)) * _FIRST
    number = (number ^ _shifted(number, 27)) * _SECOND
    return number ^ _shifted(number, 31)


def _shifted(number: Tensor, bits: int) -> Tensor:
    """Shift to the right as if there were no sign."""
    return (number >> bits) & ((1 << (64 - bits)) - 1)
