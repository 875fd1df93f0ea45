"""Attention with relative positions: ALiBi, T5, KERPLE, FIRE, RoPE, xPos, Transformer-XL, PaTH.

Source: Press et al., "Train short, test long: attention with linear biases enables input
length extrapolation" (2022), §3. Their slopes are 2^(-8h/H), h = 1 … H, which is used for
every H here; without a causal mask the distance is |i - j|.

Source: Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
transformer" (2020), §2.1. There are 32 buckets, the last one for all distances beyond 128. Those of
the lower half hold one distance each, the others grow by a constant factor. Where a query also
sees what is behind it, half of the buckets are for that. T5 shares the table among its layers, as
here unless asked otherwise, and leaves products unscaled; here they are over sqrt(E).

Source: Chi et al., "KERPLE: kernelized relative positional embedding for length extrapolation"
(2022), §4. To the logit from i to j each head adds

    -r_1·log(1 + r_2·|i-j|)    (logarithmic), or
    -r_1·|i-j|^(r_2)           (power, 0 < r_2 ≤ 2),

its r_1, r_2 > 0 learned. As in the authors' code they begin uniform, below 2 and 1 in the first and
below 1 and 2 in the second, and are never taken for less than 0.01; their gradient passes that
bound, so that none is caught below (that code sets the parameters themselves back to it). The paper
has causal masks; without one the distance counts both ways.

Source: Li et al., "Functional interpolation for relative positions improves long context
transformers" (2024), §3 (eq. 4 to 6). To the logit from i to j each head adds

    f( ψ(|i-j|) / ψ(max(L, i)) ),    ψ(x) = log(1 + |c|·x),

f a network of one hidden layer with 32 ReLU units, c and L learned, at first 0.1 and, for training
strings of 2,048 tokens, 512. A query
that also sees what is behind it takes max(L, i, j), which under a mask is the same.

Source: Dai et al., "Transformer-XL: attentive language models beyond a fixed-length
context" (2019), §3.3. The logit from i to j is

    (q_i + u)·k_j + (q_i + v)·(W_R R_{i-j}),   over sqrt(E),

R sinusoidal in the signed distance; u and v belong to each layer and head. Distances are
shared by all pairs, so that nothing of size N·N·D is ever made: the second product is
taken with every distance, then each row is shifted to its own.

With random positions r_0 < r_1 < … a pair d apart has the distance ±r_d, as in the code of Ruoss et
al. (2023): all pairs equally far apart have the same one, so that rows can still be shifted.

Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021),
§3.2.

Source: Sun et al., "A length-extrapolatable transformer" (2023), §3 (algorithm 1). Pair k of a
query at i is turned as in RoPE and multiplied by ζ_k^(i/512), that of a key at j by ζ_k^(-j/512),
with

    ζ_k = (2k/E + γ) / (1 + γ),    γ = 0.4,

so that scores depend on i - j only and fall with it. Of what is behind a query they would grow: a
mask is needed. The factors of a key overflow beyond some 36,000 positions in fp32 and bf16, beyond
some 4,500 in fp16.

Source: Yang et al., "PaTH attention: position encoding via accumulating Householder
transformations" (2025), §2 and §3.1. The logit from i to j ≤ i is, over sqrt(E),

    k_jᵀ H_{j+1} ⋯ H_i q_i,    H_t = I - β_t w_t w_tᵀ,

β_t = 2·sigmoid(u·x_t + b) and w_t of length 1, from x by a map of rank 32, a causal convolution
over three positions and SiLU, as in the authors' code. By their UT transform, with L the part of a
matrix below the diagonal and Λ that with it,

    logits = Λ(Q Kᵀ) - Λ(Q Wᵀ) (I + D L(W Wᵀ))⁻¹ D L(W Kᵀ),    D = diag(β).

Legend: B batch, N keys, Q queries, H heads, E width of a head, P distances, U hidden units, D
width, F = E/2 pairs, T taps.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.layers.attention import Attention, Span, Terms
from formalbench_models.layers.positions import sinusoids
from formalbench_models.layers.tensors import split, wide, wide_type


class AlibiAttention(Attention):
    """Attention with linear biases."""

    def bias(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Tensor:
        # Not in bf16, which cannot tell 257 from 256: rounded once, at the end.
        exact = wide_type(query_BHQE.dtype)
        distance_B1QN = span.offsets(key_BHNE).abs().to(exact)
        head_H11 = torch.arange(1, self.heads + 1, device=key_BHNE.device, dtype=exact)
        slope_H11 = torch.exp2(head_H11[:, None, None] * (-8 / self.heads))
        return (-slope_H11 * distance_B1QN).to(query_BHQE.dtype)


BUCKETS = 32
FURTHEST = 128


class T5Attention(Attention):
    """Attention with a learned bias for each bucket."""

    learned_bias = True
    shared = ("bucket_bias",)

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        self.bucket_bias = nn.Embedding(BUCKETS, heads)
        offsets = range(-FURTHEST, FURTHEST + 1)
        self.bucket_P: Tensor
        buckets = torch.tensor([bucket(offset, self.causal) for offset in offsets])
        self.register_buffer("bucket_P", buckets, persistent=False)

    def bias(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Tensor:
        place_BQN = span.offsets(key_BHNE)[:, 0].clamp(-FURTHEST, FURTHEST) + FURTHEST
        bias_BQNH: Tensor = self.owner.bucket_bias(self.bucket_P[place_BQN])
        return bias_BQNH.permute(0, 3, 1, 2)


def bucket(offset: int, causal: bool) -> int:
    """Return the bucket of a query's position less a key's, in integers.

    Of b buckets, b/2 + k begins at the least distance d for which
    (2d/b)^(b/2) ≥ (2·128/b)^k: no logarithm, which might be rounded to the wrong side.
    """
    if causal:
        return _one_sided(max(0, offset), BUCKETS)
    half = BUCKETS // 2
    return _one_sided(abs(offset), half) + (half if offset < 0 else 0)


def _one_sided(distance: int, buckets: int) -> int:
    exact = buckets // 2
    if distance < exact:
        return distance
    grown = 0
    while (
        grown + 1 < buckets - exact
        and distance**exact * exact ** (grown + 1) >= FURTHEST ** (grown + 1) * exact**exact
    ):
        grown += 1
    return exact + grown


LEAST = 0.01


class KerpleLogAttention(Attention):
    """The logarithmic kernel."""

    learned_bias = True
    shared = ("scale_H", "shape_H")

    begin = (2.0, 1.0)
    """Upper bounds of the initial r_1 and r_2."""

    most = float("inf")
    """The greatest r_2."""

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        first, second = self.begin
        self.scale_H = nn.Parameter(torch.rand(heads) * first)
        self.shape_H = nn.Parameter(torch.rand(heads) * second)

    def bias(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Tensor:
        distance_B1QN = span.offsets(key_BHNE).abs().to(wide_type(query_BHQE.dtype))
        scale_H11 = wide(within(self.owner.scale_H, float("inf")))[:, None, None]
        shape_H11 = wide(within(self.owner.shape_H, self.most))[:, None, None]
        return (-scale_H11 * self.kernel(distance_B1QN, shape_H11)).to(query_BHQE.dtype)

    def kernel(self, distance_B1QN: Tensor, shape_H11: Tensor) -> Tensor:
        """Return what r_1 multiplies, log(1 + r_2·|i-j|), (1 or B, H, Q, N)."""
        return (shape_H11 * distance_B1QN).log1p()


class KerplePowerAttention(KerpleLogAttention):
    """The power kernel."""

    begin = (1.0, 2.0)
    most = 2.0

    def kernel(self, distance_B1QN: Tensor, shape_H11: Tensor) -> Tensor:
        """Return |i-j|^(r_2)."""
        return distance_B1QN**shape_H11


def within(value: Tensor, most: float) -> Tensor:
    """Return values between `LEAST` and `most`, with the gradient of the values as they were."""
    return value + (value.clamp(LEAST, most) - value).detach()


HIDDEN = 32
SLOPE = 0.1
THRESHOLD = 512.0
_TINY = 1e-6


class FireAttention(Attention):
    """Attention with functional interpolation."""

    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        self.first_threshold = THRESHOLD
        self.slope = nn.Parameter(torch.tensor(SLOPE))
        self.threshold = nn.Parameter(torch.ones(()))  # times the first one, so that rates fit
        self.up = nn.Linear(1, HIDDEN)
        self.down = nn.Linear(HIDDEN, heads)

    def bias(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Tensor:
        query_BQ, key_BN = span.numbers(key_BHNE)
        furthest_BQN = torch.maximum(query_BQ[:, :, None], key_BN[:, None])
        share_BQN = self.share(span.offsets(key_BHNE)[:, 0].abs(), furthest_BQN)
        hidden_BQNU = functional.relu(self.up(share_BQN.to(query_BHQE.dtype)[..., None]))
        bias_BQNH: Tensor = self.down(hidden_BQNU)
        return bias_BQNH.permute(0, 3, 1, 2)

    def share(self, distance: Tensor, furthest: Tensor) -> Tensor:
        """Return ψ(distance) / ψ(max(L, furthest)), in fp32 at least."""
        slope, threshold = wide(self.slope).abs(), wide(self.threshold) * self.first_threshold
        whole = (slope * torch.maximum(furthest.to(slope.dtype), threshold.abs())).log1p()
        return (slope * distance.to(slope.dtype)).log1p() / (whole + _TINY)


class RelativeAttention(Attention):
    """Attention with the content and position terms of Transformer-XL."""

    pairwise = True
    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        self.distance = nn.Linear(width, width, bias=False)
        self.content_bias_HE = nn.Parameter(torch.zeros(heads, width // heads))
        self.position_bias_HE = nn.Parameter(torch.zeros(heads, width // heads))

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        keys = key_BHNE.shape[2]
        scale = 1 / math.sqrt(query_BHQE.shape[-1])
        about_content_BHQE = (query_BHQE + self.content_bias_HE[:, None]) * scale
        about_position_BHQE = (query_BHQE + self.position_bias_HE[:, None]) * scale
        distance_BHEP = self._distances(span, keys, query_BHQE)
        bias_BHQN = shift(about_position_BHQE @ distance_BHEP, keys)
        return Terms(about_content_BHQE, key_BHNE, bias_BHQN)

    def _distances(self, span: Span, keys: int, like: Tensor) -> Tensor:
        """Return W_R R for each distance from a query to a key, then 0: (1 or B, H, E, P+1).

        Distances fall. The zero is the room that `shift` needs.
        """
        greatest, least = span.stop - 1, span.first - keys + 1
        distance_BP = torch.arange(greatest, least - 1, -1, device=like.device)[None]
        if span.places is not None:
            distance_BP = distance_BP.sign() * span.places[:, distance_BP[0].abs()]
        code_BPD = sinusoids(distance_BP, self.distance.in_features, like.dtype)
        projected_BPD = functional.pad(self.distance(code_BPD), (0, 0, 0, 1))
        apart_BPHE = torch.unflatten(projected_BPD, -1, (self.heads, -1))
        return apart_BPHE.permute(0, 2, 3, 1)


def shift(scores_BHQP: Tensor, keys: int) -> Tensor:
    """Move every query's row to its own distances: (B, H, Q, P+1) to (B, H, Q, N).

    Column c stands for the distance of the last query to key 0, less c; the last column is
    not read. Query q (of Q) and key j need column Q-1-q+j: in memory those entries begin at
    Q-1 and lie P apart from row to row, one less than the rows are wide.
    """
    queries, wide = scores_BHQP.shape[-2:]
    flat = scores_BHQP.flatten(-2)
    rows = flat[..., queries - 1 : queries - 1 + queries * (wide - 1)]
    return rows.reshape(*rows.shape[:-1], queries, wide - 1)[..., :keys]


class RotaryAttention(Attention):
    """Attention whose scores depend on positions only through their difference."""

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        query_BQ, key_BN = span.numbers(key_BHNE)
        turned_BHQE = self.turned(query_BHQE, query_BQ, 1)
        return super().terms(turned_BHQE, self.turned(key_BHNE, key_BN, -1), span)

    def turned(self, x_BHNE: Tensor, number_BN: Tensor, sign: int) -> Tensor:
        """Turn pairs by their positions; `sign` is 1 for queries and -1 for keys."""
        return rotate(x_BHNE, sinusoids(number_BN, x_BHNE.shape[3], x_BHNE.dtype)[:, None])


def rotate(x_BHNE: Tensor, angles_NE: Tensor) -> Tensor:
    """Turn each pair of neighbouring coordinates by its angle, given as (sin, cos)."""
    sine_NF, cosine_NF = angles_NE[..., 0::2], angles_NE[..., 1::2]
    first, second = x_BHNE[..., 0::2], x_BHNE[..., 1::2]
    turned = (first * cosine_NF - second * sine_NF, first * sine_NF + second * cosine_NF)
    return torch.stack(turned, dim=-1).flatten(-2)


GAMMA = 0.4
SCALE = 512


class XposAttention(RotaryAttention):
    """Attention with rotary positions that decay."""

    def turned(self, x_BHNE: Tensor, number_BN: Tensor, sign: int) -> Tensor:
        """Turn pairs by their positions, and multiply them by ζ^(sign · position / 512)."""
        width, exact = x_BHNE.shape[3], wide_type(x_BHNE.dtype)
        pair_F = torch.arange(0, width, 2, device=x_BHNE.device, dtype=exact)
        decay_F = (pair_F / width + GAMMA) / (1 + GAMMA)
        factor_BNF = decay_F ** (sign / SCALE * number_BN.to(exact))[..., None]
        factor_BNE = factor_BNF.repeat_interleave(2, dim=-1).to(x_BHNE.dtype)
        return super().turned(x_BHNE, number_BN, sign) * factor_BNE[:, None]


RANK = 32
TAPS = 3


class PathAttention(Attention):
    """Attention with accumulated Householder transformations; only under a mask."""

    pairwise = True
    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        rank = min(RANK, width)
        self.narrow = nn.Linear(width, rank, bias=False)
        self.widen = nn.Linear(rank, width, bias=False)
        self.tap_TD = nn.Parameter((torch.rand(TAPS, width) * 2 - 1) / TAPS**0.5)
        self.strength = nn.Linear(width, heads)

    def seen(self, x_BND: Tensor) -> tuple[Tensor, ...]:
        """Return the base class's tensors, then w (B, H, N, E) and β (B, H, N, 1)."""
        direction_BND = functional.silu(convolved(self.widen(self.narrow(x_BND)), self.tap_TD))
        direction_BHNE = functional.normalize(split(direction_BND, self.heads), dim=-1)
        strength_BHN1 = 2 * self.strength(x_BND).sigmoid().transpose(1, 2)[..., None]
        return (*super().seen(x_BND), direction_BHNE, strength_BHN1)

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Add the contribution of the reflections, (B, H, Q, N)."""
        terms = super().terms(query_BHQE, key_BHNE, span)
        direction_BHNE, strength_BHN1 = span.seen[-2:]
        # No solver takes bf16.
        query, key, w, beta = map(wide, (terms.query, key_BHNE, direction_BHNE, strength_BHN1))
        system_BHNN = (beta * (w @ w.mT)).tril(-1)
        wanted_BHNN = (beta * (w @ key.mT)).tril(-1)
        # From the left: of a query alone that is a row, and not a matrix.
        solved_BHQN = torch.linalg.solve_triangular(
            system_BHNN,
            (query @ w.mT).tril(span.first),
            upper=False,
            left=False,
            unitriangular=True,
        )
        taken_BHQN = solved_BHQN @ wanted_BHNN
        return terms._replace(bias=-taken_BHQN.to(query_BHQE.dtype))


def convolved(x_BND: Tensor, tap_TD: Tensor) -> Tensor:
    """Return weighted sums of the last T states, (B, N, D); the last tap is for the present one."""
    taps, length = len(tap_TD), x_BND.shape[1]
    before_BND = functional.pad(x_BND, (0, 0, taps - 1, 0))
    parts = [before_BND[:, tap : tap + length] * tap_TD[tap] for tap in range(taps)]
    return torch.stack(parts).sum(0)


KINDS: dict[str, type[Attention]] = {
    "alibi": AlibiAttention,
    "fire": FireAttention,
    "kerple-log": KerpleLogAttention,
    "kerple-power": KerplePowerAttention,
    "path": PathAttention,
    "relative": RelativeAttention,
    "rope": RotaryAttention,
    "t5": T5Attention,
    "xpos": XposAttention,
}
"""The attention of each kind of positions; the others have no part in it."""
