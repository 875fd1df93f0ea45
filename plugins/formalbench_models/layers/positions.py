"""Position codes that are added to the input, and random positions.

The begin symbol is position 0 and the symbols are 1 … N. Of the codes, ``sinusoidal`` is
from Vaswani et al. (2017), §3.5; ``learned`` from Gehring et al. (2017); ``scalar`` (i/n) from
Chiang & Cholak (2022), §2.2; ``scalar-6000`` (a constant in the place of n) from Yao et
al. (2021), who give a position as one number in a dimension of its own. The fixed codes of
Chiang & Cholak's experiments (§2.2, 2.3, 4.1) are ``first``, I[i = 1], and ``parity``, i/n and
cos iπ with learned scales. ``sinusoidal-from-end`` gives the last position the code of 0, as the
code of Delétang et al. (2023) does, so that a symbol read there has one code at every length.

Source: Ruoss et al., "Randomized positional encodings boost length generalization of transformers"
(2023), §3. The codes of M positions are those of M different numbers out of 0 … L-1, in order, in
training and in testing. They draw for each batch. Here a string's draw is a function of its
symbols: a hash of them numbers the range, and the M least are taken. So the network is a function
of its string, independent of the batch, and results are reproducible.

Legend: B batch, M = N+1 positions, D width, P distances or codes, L range.
"""

from __future__ import annotations

import math

import torch
from formalbench import RequestError
from torch import Tensor, nn

from formalbench_models.layers.tensors import wide_type

_SCALAR_CONSTANT = 6000.0

_FIXED = {"first": 1, "parity": 2}
"""Number of values of each fixed code."""


def sinusoids(positions_P: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """Return sines and cosines at geometric frequencies, (..., P, width); negative positions too.

    Args:
        positions_P: integers, any dimensions before the last.
        width: the number of coordinates, sines at even ones and cosines at odd ones.
        dtype: of the result; angles are computed in fp32 at least, since bf16 cannot
            tell 257 from 256.
    """
    exact = wide_type(dtype)
    pair_F = torch.arange((width + 1) // 2, device=positions_P.device, dtype=exact)
    frequency_F = torch.exp(pair_F * (-2 * math.log(10000.0) / width))
    angle_PF = positions_P.to(exact)[..., None] * frequency_F
    both_PD = torch.stack((angle_PF.sin(), angle_PF.cos()), dim=-1).flatten(-2)
    return both_PD[..., :width].to(dtype)


class Embedding(nn.Module):
    """Symbol embeddings with a position code.

    Args:
        symbols: the number of symbols, added ones too.
        width: D.
        positions: ``sinusoidal``, ``sinusoidal-from-end``, ``learned``, ``scalar``,
            ``scalar-6000``, ``first``,
            ``parity``; anything else adds no code here.
        most: maximum string length, which ``learned`` needs. Rows beyond the training lengths stay
            as they are drawn.
        scaled: whether symbols' vectors are drawn as the rows of a matrix that also answers, of
            length 1 or so, and multiplied by √D (Vaswani et al. 2017, §3.4).
    """

    def __init__(
        self, symbols: int, width: int, positions: str, most: int, *, scaled: bool = False
    ) -> None:
        super().__init__()
        self.positions = positions
        self.width = width
        self.scalar = positions in ("scalar", "scalar-6000")
        self.symbol = nn.Embedding(symbols, width - self.scalar)
        self.scale = math.sqrt(width) if scaled else 1.0
        if scaled:
            nn.init.normal_(self.symbol.weight, std=1 / self.scale)
        if positions == "learned":
            self.position = nn.Embedding(most + 1, width)
        if positions in _FIXED:
            # Each code has a dimension of its own at the end; the state says where.
            self.place_PD: Tensor
            self.register_buffer("place_PD", torch.eye(width)[width - _FIXED[positions] :])
        if positions == "parity":
            self.scale_P = nn.Parameter(torch.ones(_FIXED[positions]))

    def forward(
        self, symbols_BM: Tensor, lengths_B: Tensor | None, places_BM: Tensor | None = None
    ) -> Tensor:
        """Return the network's input, (B, M, D).

        Args:
            symbols_BM: ids, the begin symbol first.
            lengths_B: number of real positions in each string, if not all.
            places_BM: the positions, if not 0 … M-1.

        Raises:
            RequestError: if a string is longer than the table of learned positions.
        """
        x_BMD: Tensor = self.symbol(symbols_BM)
        x_BMD = x_BMD if self.scale == 1 else x_BMD * self.scale
        place_M = torch.arange(symbols_BM.shape[1], device=x_BMD.device)
        coded = place_M if places_BM is None else places_BM
        if self.positions == "sinusoidal":
            return x_BMD + sinusoids(coded, self.width, x_BMD.dtype)
        if self.positions == "sinusoidal-from-end":
            last = symbols_BM.shape[1] if lengths_B is None else lengths_B[:, None]
            return x_BMD + sinusoids(last - 1 - place_M, self.width, x_BMD.dtype)
        if self.positions == "learned":
            self._check(symbols_BM.shape[1])
            learned: Tensor = self.position(coded)
            return x_BMD + learned
        if self.scalar:
            return torch.cat((x_BMD, self._scalar(x_BMD, place_M, lengths_B)), dim=-1)
        if self.positions == "first":
            return x_BMD + (place_M == 1).to(x_BMD.dtype)[:, None] @ self.place_PD
        if self.positions == "parity":
            share_BM1 = self._scalar(x_BMD, place_M, lengths_B)
            sign_BM1 = (1 - 2 * (place_M % 2)).to(x_BMD.dtype)[:, None].expand_as(share_BM1)
            code_BMP = torch.cat((share_BM1, sign_BM1), dim=-1) * self.scale_P
            return x_BMD + code_BMP @ self.place_PD
        return x_BMD

    def _scalar(self, x_BMD: Tensor, place_M: Tensor, lengths_B: Tensor | None) -> Tensor:
        """Return each position as one number, (B, M, 1)."""
        place_1M = place_M.to(wide_type(x_BMD.dtype))[None]
        if self.positions == "scalar-6000":
            value_BM = place_1M / _SCALAR_CONSTANT
        elif lengths_B is None:
            value_BM = place_1M / x_BMD.shape[1]
        else:
            value_BM = place_1M / lengths_B[:, None]
        return value_BM.to(x_BMD.dtype).expand(x_BMD.shape[:2])[..., None]

    def _check(self, needed: int) -> None:
        rows = self.position.num_embeddings
        if needed > rows:
            raise RequestError(
                f"positions=learned supports strings of up to {rows - 1} symbols, "
                f"not {needed - 1}: test shorter strings or choose other positions"
            )


# Of splitmix64 (Steele, Lea & Flood 2014), as signed numbers.
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)


def random_places(symbols_BM: Tensor, lengths_B: Tensor | None, most: int) -> Tensor:
    """Return each string's positions, rising, (B, M) int64; the last one again where it is padded.

    Args:
        symbols_BM: ids.
        lengths_B: number of real positions in each string, if not all.
        most: L, at least M.
    """
    real_BM, hash_B1 = _hashed(symbols_BM, lengths_B)
    number_L = torch.arange(most, device=symbols_BM.device)
    order_BL = mixed(hash_B1 + number_L * _STEP).argsort(dim=1)
    places_BM = torch.where(real_BM, order_BL[:, : symbols_BM.shape[1]], most - 1)
    return places_BM.sort(dim=1).values


def shifted_places(symbols_BM: Tensor, lengths_B: Tensor | None, most: int) -> Tensor:
    """Return each string's positions, one after another from a random first, (B, M) int64.

    Huang et al. (2025), section 5, train absolute positions so: none is left untrained for
    being beyond the strings of training.

    Args:
        symbols_BM: ids.
        lengths_B: number of real positions in each string, if not all.
        most: how many first positions there are.
    """
    _, hash_B1 = _hashed(symbols_BM, lengths_B)
    return hash_B1 % most + torch.arange(symbols_BM.shape[1], device=symbols_BM.device)


def _hashed(symbols_BM: Tensor, lengths_B: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the mask of real positions, (B, M) or less, and a hash of each string, (B, 1)."""
    count = symbols_BM.shape[1]
    place_M = torch.arange(count, device=symbols_BM.device)
    long_B1 = symbols_BM.new_full((1, 1), count) if lengths_B is None else lengths_B[:, None]
    real_BM = place_M < long_B1
    each_BM = mixed(mixed((place_M + 1) * _STEP) + symbols_BM)
    return real_BM, mixed(torch.where(real_BM, each_BM, 0).sum(1, keepdim=True))


def mixed(number: Tensor) -> Tensor:
    """Return a pseudo-random bijection of 64-bit numbers (splitmix64)."""
    number = (number ^ _shifted(number, 30)) * _FIRST
    number = (number ^ _shifted(number, 27)) * _SECOND
    return number ^ _shifted(number, 31)


def _shifted(number: Tensor, bits: int) -> Tensor:
    """Logical shift to the right."""
    return (number >> bits) & ((1 << (64 - bits)) - 1)
