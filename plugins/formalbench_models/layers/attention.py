"""Multi-head attention: soft, hard, stick-breaking, with forget gates.

Source: Hahn, "Theoretical limitations of self-attention in neural sequence models" (2020), §3;
Yao et al. (2021), §3.2, item (i). The gradient: Bengio, Léonard & Courville, "Estimating or
propagating gradients through stochastic neurons for conditional computation" (2013), the
straight-through estimator.

*Ties.* Of several greatest logits the leftmost wins, as in the constructions
(`formalbench_models.constructions.network`). An average over them would seldom differ here: learned
keys are equal where the states are, and so are the values mixed.

*Gradient.* A choice has none: argmax is constant wherever it is differentiable, so that queries and
keys would stay as they were drawn. The forward pass makes the choice, and the backward pass
takes its weights for those of the softmax: their derivative by the logits is the softmax's
Jacobian at the same logits. Values get the gradient of what was really computed, which goes to
the chosen key alone.

A factor on the logits, as log-length scaling has it, moves no choice: it changes the gradient only.

Source: Lin et al., "Forgetting transformer: softmax attention with a forget gate" (2025), §3. A
position has a gate for each head, f_t = sigmoid(w·x_t + b), and from query i to key j ≤ i the logit

    q_i·k_j / sqrt(E) + sum of log f_t over j < t ≤ i.

Their output gates and norms of queries and keys are not part of it here.

Source: Tan et al., "Scaling stick-breaking attention: an efficient implementation and in-depth
study" (2024), §2 (eq. 1). With β_ij the sigmoid of the logit from query i to key j,

    A_ij = β_ij · product of (1 - β_ik) over j < k < i.

What no key before the query takes goes to the query's own position (the *remainder*), so that
weights add up to 1. There is no softmax, and order matters without positions.

Source: Vaswani et al., "Attention is all you need" (2017), §3.2; log-length scaling:
Chiang & Cholak, "Overcoming a theoretical limitation of self-attention" (2022), §4.3.

Legend: B batch, H heads, Q queries, N keys or positions, E width of a head, D
width.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.layers.fused_attention import TRAINED_FROM, fused_attention
from formalbench_models.layers.tensors import merge, split, wide, wide_type


def straight_through(logits_BHQN: Tensor) -> Tensor:
    """Return weights 0 and 1, (B, H, Q, N), with the gradient of the softmax.

    Args:
        logits_BHQN: -inf for masked keys; each query needs a visible key.
    """
    soft_BHQN = logits_BHQN.softmax(dim=-1)
    # The library documents that this is the first of several greatest ones.
    place_BHQ1 = logits_BHQN.detach().argmax(dim=-1, keepdim=True)
    # The difference is exactly 0; it only contributes the gradient, and NaN.
    return (soft_BHQN - soft_BHQN.detach()).scatter_add(
        -1, place_BHQ1, torch.ones_like(place_BHQ1, dtype=soft_BHQN.dtype)
    )


def choose(query_BHQE: Tensor, key_BHNE: Tensor, value_BHNE: Tensor, bias: Tensor | None) -> Tensor:
    """Return the chosen values, (B, H, Q, E), when no gradient is needed.

    Queries are scaled already; the bias of the logits goes with (B, H, Q, N).
    """
    logits_BHQN = query_BHQE @ key_BHNE.transpose(-2, -1)
    if bias is not None:
        logits_BHQN = logits_BHQN + bias
    best_BHQ1, place_BHQ1 = logits_BHQN.max(dim=-1, keepdim=True)
    chosen_BHQE = value_BHNE.gather(2, place_BHQ1.expand(query_BHQE.shape))
    # NaN is chosen first, so that it is visible in the result.
    return chosen_BHQE + (best_BHQ1 - best_BHQ1).to(chosen_BHQE.dtype)


class ForgetGates(nn.Module):
    """The gates of all heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, heads)

    def forward(self, x_BND: Tensor) -> Tensor:
        """Return the sum of log f from the first position to each, (B, N, H), fp32 at least."""
        # In bf16 a long sum would lose the differences, which are all that matters.
        return functional.logsigmoid(wide(self.gate(x_BND))).cumsum(1)

    def bias(self, total_BNH: Tensor, first: int, stop: int) -> Tensor:
        """Return the bias of the logits, (B, H, Q, N); undefined for keys after a query."""
        total_BHN = total_BNH.transpose(1, 2)
        bias_BHQN = total_BHN[:, :, first:stop, None] - total_BHN[:, :, None]
        return bias_BHQN.to(self.gate.weight.dtype)


def stick_breaking(logits_BHQN: Tensor, first: int) -> Tensor:
    """Return the weights, (B, H, Q, N).

    Args:
        logits_BHQN: those of a query itself and of what is behind it are not read.
        first: the position of the first query.
    """
    queries, keys = logits_BHQN.shape[-2:]
    key_N = torch.arange(keys, device=logits_BHQN.device)
    query_Q1 = torch.arange(first, first + queries, device=logits_BHQN.device)[:, None]
    before_QN = key_N < query_Q1
    masked_BHQN = torch.where(before_QN, wide(logits_BHQN), 0.0)
    left_BHQN = torch.where(before_QN, functional.logsigmoid(-masked_BHQN), 0.0)
    # What the keys from each one on leave, and without that one itself.
    from_BHQN = left_BHQN.flip(-1).cumsum(-1).flip(-1)
    after_BHQN = functional.pad(from_BHQN[..., 1:], (0, 1))
    taken_BHQN = (functional.logsigmoid(masked_BHQN) + after_BHQN).exp()
    own_BHQN = (key_N == query_Q1) * from_BHQN[..., :1].exp()
    return torch.where(before_QN, taken_BHQN, own_BHQN).to(logits_BHQN.dtype)


MOST_BIASES = 1 << 24
"""Maximum biases or logits in memory when no gradient is needed: 64 MiB in fp32."""


class Span(NamedTuple):
    """A range of query positions, `first` … `stop` - 1.

    Attributes:
        first: the first of them.
        stop: one beyond the last.
        places: (B, N) what position codes take for each position's number, if not 0 … N-1.
        seen: what biases take from the states besides queries and keys, strings first.
    """

    first: int
    stop: int
    places: Tensor | None = None
    seen: tuple[Tensor, ...] = ()

    def numbers(self, key_BHNE: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers of the queries and of all keys, (1 or B, Q) and (1 or B, N)."""
        places = self.places
        if places is None:
            places = torch.arange(key_BHNE.shape[2], device=key_BHNE.device)[None]
        return places[:, self.first : self.stop], places

    def offsets(self, key_BHNE: Tensor) -> Tensor:
        """Return the number of each query less that of each key, (1 or B, 1, Q, N), int64."""
        query_BQ, key_BN = self.numbers(key_BHNE)
        return (query_BQ[:, :, None] - key_BN[:, None])[:, None]

    def some(self, strings: slice) -> Span:
        """Return the same for some of the strings."""
        places = None if self.places is None else self.places[strings]
        return self._replace(places=places, seen=tuple(each[strings] for each in self.seen))


class Terms(NamedTuple):
    """Parts of the logits: query·key + bias.

    Attributes:
        query: (B, H, Q, E), scaled.
        key: (B, H, N, E).
        bias: (B, H, Q, N), None if zero; its first three dimensions may be 1.
    """

    query: Tensor
    key: Tensor
    bias: Tensor | None


class Attention(nn.Module):
    """Attention without positions; subclasses change `terms`.

    Args:
        width: D.
        heads: H.
        causal: whether a query sees only its own position and those before it.
        log_length: whether logits are multiplied by ln n, n the number of attended
            positions (under a causal mask that is 1 + the query's position).
        hard: whether each query attends only to the key with its greatest logit.
        stick_breaking: whether each key takes a share of what those nearer to the query left
            (`stick_breaking`); only if causal.
        forget: whether each position has a forget gate (`ForgetGates`); only if causal.
        bias: whether the projections have biases.

    Attributes:
        drop: dropout of attention weights, if set.
    """

    pairwise = False
    """Whether the bias depends on the string, so that it is computed in parts."""

    learned_bias = False
    """Whether the bias is trained."""

    shared: tuple[str, ...] = ()
    """What of the positions layers may share."""

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        causal: bool,
        log_length: bool,
        hard: bool = False,
        stick_breaking: bool = False,
        forget: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.log_length = log_length
        self.hard = hard
        self.stick_breaking = stick_breaking
        self.query = nn.Linear(width, width, bias=bias)
        self.key_value = nn.Linear(width, 2 * width, bias=bias)
        self.merge_heads = nn.Linear(width, width, bias=bias)
        self.forget = ForgetGates(width, heads) if forget else None
        self.drop: nn.Module = nn.Identity()

    def share_positions(self, first: Self) -> None:
        """Use what can be shared of another layer: it remains a parameter of that alone."""
        for name in self.shared:
            delattr(self, name)
        self.__dict__["first"] = first  # not a submodule

    @property
    def owner(self) -> Self:
        """The layer whose parameters of positions are used: this one or a shared one."""
        owner: Self = self.__dict__.get("first", self)
        return owner

    def begin_as_the_library(self) -> None:
        """Use the initial values of `torch.nn.MultiheadAttention`.

        The three projections are one matrix, from D to 3 D, to which Xavier's bound belongs (Glorot
        & Bengio 2010, eq. 16); all biases are 0. The merging matrix stays as it is.
        """
        width = self.query.in_features
        bound = math.sqrt(6 / (width + 3 * width))
        with torch.no_grad():
            for layer in (self.query, self.key_value):
                layer.weight.uniform_(-bound, bound)
            for layer in (self.query, self.key_value, self.merge_heads):
                if layer.bias is not None:
                    layer.bias.zero_()

    def forward(
        self,
        x_BND: Tensor,
        span: Span,
        lengths_B: Tensor | None = None,
        *,
        keep_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from the positions in `span` to all visible ones.

        Args:
            x_BND: the sequence.
            span: the query positions.
            lengths_B: number of real positions of each string, if not all.
            keep_weights: whether to return the weights.

        Returns:
            (B, Q, D), and the weights (B, H, Q, N), or None: without gradients, and where
            training is faster so, they are not made unless wanted.
        """
        query_BHQE = split(self.query(x_BND[:, span.first : span.stop]), self.heads)
        key_BHNE, value_BHNE = split(self.key_value(x_BND), 2 * self.heads).chunk(2, dim=1)
        span = span._replace(seen=self.seen(x_BND))
        weights_BHQN = None
        if keep_weights or torch.is_grad_enabled():
            terms = self.scaled(query_BHQE, key_BHNE, span, lengths_B)
            fused = not keep_weights and self._trains_fused(key_BHNE)
            # The kernel skips masked entries of a causal mask.
            every = span.first == 0 and span.stop == key_BHNE.shape[2]
            alone = fused and self.causal and every and terms.bias is None
            if not alone:
                terms = self.masked(terms, span, lengths_B)
            if fused:
                mixed_BHQE = fused_attention(*terms[:2], value_BHNE, terms.bias, alone)
            else:
                weights_BHQN = self._weights(terms, span)
                mixed_BHQE = weights_BHQN @ value_BHNE
        else:
            mixed_BHQE = self._without_weights(query_BHQE, key_BHNE, value_BHNE, span, lengths_B)
        answer_BQD: Tensor = self.merge_heads(merge(mixed_BHQE))
        return answer_BQD, weights_BHQN

    def seen(self, x_BND: Tensor) -> tuple[Tensor, ...]:
        """Return `Span.seen`, with values of forget gates first, if there are any."""
        return () if self.forget is None else (self.forget(x_BND),)

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Return the parts of the logits before gates, length scaling and masks."""
        scaled_BHQE = query_BHQE / math.sqrt(query_BHQE.shape[-1])
        return Terms(scaled_BHQE, key_BHNE, self.bias(query_BHQE, key_BHNE, span))

    def bias(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Tensor | None:
        """Return the bias of the logits, (1 or B, H, Q, N), if any."""
        return None

    def _without_weights(
        self,
        query_BHQE: Tensor,
        key_BHNE: Tensor,
        value_BHNE: Tensor,
        span: Span,
        lengths_B: Tensor | None,
    ) -> Tensor:
        """Return the mixture (B, H, Q, E) without weights, in parts of the batch."""
        if not query_BHQE.numel():
            return query_BHQE
        biases = self.heads * (span.stop - span.first) * key_BHNE.shape[2]
        logits = self.hard or self.stick_breaking  # the kernel returns no weights
        own = self.pairwise or span.seen or span.places is not None
        most = max(1, MOST_BIASES // biases) if own or logits else len(query_BHQE)
        mixed = []
        for first in range(0, len(query_BHQE), most):
            some = slice(first, first + most)
            lengths_some = None if lengths_B is None else lengths_B[some]
            terms = self.adjusted(query_BHQE[some], key_BHNE[some], span.some(some), lengths_some)
            mixed.append(self._mix(terms, value_BHNE[some], span))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)

    def _trains_fused(self, key_BHNE: Tensor) -> bool:
        """Whether training is faster, and possible, without the weights."""
        if key_BHNE.device.type != "cpu" or key_BHNE.shape[2] < TRAINED_FROM:
            return False
        softmax = not (self.hard or self.stick_breaking) and isinstance(self.drop, nn.Identity)
        return softmax and not (self.learned_bias or self.forget is not None)

    def _mix(self, terms: Terms, value_BHNE: Tensor, span: Span) -> Tensor:
        """Return the mixture (B, H, Q, E), when no gradient is needed."""
        if self.stick_breaking:
            return self._weights(terms, span) @ value_BHNE
        mix = choose if self.hard else fused_attention
        return mix(terms.query, terms.key, value_BHNE, terms.bias)

    def _weights(self, terms: Terms, span: Span) -> Tensor:
        """Return the weights that the logits give, (B, H, Q, N)."""
        logits_BHQN = terms.query @ terms.key.transpose(-2, -1)
        if terms.bias is not None:
            logits_BHQN = logits_BHQN + terms.bias
        if self.stick_breaking:
            weights_BHQN = stick_breaking(logits_BHQN, span.first)
        elif self.hard:
            weights_BHQN = straight_through(logits_BHQN)
        else:
            weights_BHQN = logits_BHQN.softmax(dim=-1)
        dropped_BHQN: Tensor = self.drop(weights_BHQN)
        return dropped_BHQN

    def adjusted(
        self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span, lengths_B: Tensor | None
    ) -> Terms:
        """Return the parts of the logits with gates, length scaling and masks."""
        return self.masked(self.scaled(query_BHQE, key_BHNE, span, lengths_B), span, lengths_B)

    def scaled(
        self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span, lengths_B: Tensor | None
    ) -> Terms:
        """Add what gates forget, and scale by ln n, if asked for."""
        query, key, bias = self.terms(query_BHQE, key_BHNE, span)
        if self.forget is not None:
            forgot = self.forget.bias(span.seen[0], span.first, span.stop)
            bias = forgot if bias is None else bias + forgot
        if self.log_length:
            factor = self._log_attended(key, span, lengths_B)
            query, bias = query * factor, None if bias is None else bias * factor
        return Terms(query, key, bias)

    def masked(self, terms: Terms, span: Span, lengths_B: Tensor | None) -> Terms:
        """Mask what must not be seen."""
        query, key, bias = terms
        hidden = self._hidden(key, span, lengths_B)
        if hidden is not None:
            bias = hidden.new_zeros((), dtype=query.dtype) if bias is None else bias
            bias = torch.where(hidden, -math.inf, bias)
        return Terms(query, key, bias)

    def _hidden(self, key_BHNE: Tensor, span: Span, lengths_B: Tensor | None) -> Tensor | None:
        """Return which keys a query must not see, 4 dimensions that go with (B, H, Q, N)."""
        keys, device = key_BHNE.shape[2], key_BHNE.device
        key_11QN = torch.arange(keys, device=device).expand(1, 1, span.stop - span.first, keys)
        if self.causal:
            # What is behind a query is hidden from it, be it string or padding.
            return key_11QN > torch.arange(span.first, span.stop, device=device)[:, None]
        return None if lengths_B is None else key_11QN >= lengths_B[:, None, None, None]

    def _log_attended(
        self, key_BHNE: Tensor, span: Span, lengths_B: Tensor | None
    ) -> Tensor | float:
        """Return ln n, in dimensions that go with (B, H, Q, N)."""
        if self.causal:
            count = torch.arange(span.first, span.stop, device=key_BHNE.device)[:, None] + 1
        elif lengths_B is None:
            return math.log(key_BHNE.shape[2])
        else:
            count = lengths_B[:, None, None, None]
        # Not in bf16, which cannot tell 257 from 256.
        return count.to(wide_type(key_BHNE.dtype)).log().to(key_BHNE.dtype)
