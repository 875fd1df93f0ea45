"""The Transformer, with a choice of positions.

Source: Vaswani et al., "Attention is all you need" (2017); pre-LN: Xiong et al., "On layer
normalization in the transformer architecture" (2020).

One begin symbol stands in front of every string. A causal network answers at the last symbol, or
at all of them: the begin symbol stands for the empty prefix. One without a mask that answers once
reads the begin symbol, as CLS. Where an answer may depend on its prefix only, the network is always
causal.

With ``marker=end`` an empty symbol stands behind every string instead, and is read for its one
answer (Delétang et al. 2023); with ``marker=both`` it stands there besides the begin symbol, so
that the answer is read where no symbol of the string is (Yang, Veseli et al. 2026). Where there is
an answer at every symbol, no empty symbol is added.

Legend: B batch, N symbols, M positions (N and what is added), Q of them read, D width, H heads,
K outputs.
"""

from __future__ import annotations

from typing import Any

import torch
from formalbench import Batch, ExtendedAlphabet, RequestError, Task, Traits, read_asked
from torch import Tensor, nn

from formalbench_models.catalogue.transformers import MASKED, TransformerConfig
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.feed_forward import LayerNorm, PositionWise, make_dropout
from formalbench_models.layers.positions import Embedding, random_places, shifted_places
from formalbench_models.layers.relative_positions import KINDS, FireAttention

_GPT2_DEVIATION = 0.02


def make_norm(config: TransformerConfig) -> nn.Module:
    """Return the layer norm that a config asks for, or what stands in its place."""
    if config.norm == "none":
        return nn.Identity()
    # The library's is faster, but gives NaN for 0/0.
    kind = LayerNorm if config.eps == 0 else nn.LayerNorm
    return kind(config.width, eps=config.eps)


def _mechanisms(config: TransformerConfig, causal: bool, ends: bool) -> tuple[str, ...]:
    """Return the network's mechanisms in the vocabulary of the theorems.

    Args:
        config: sizes and choices.
        causal: whether a position sees the past alone.
        ends: whether the answer is read at a symbol behind the string.
    """
    weights = "softmax" if config.attention == "soft" else config.attention
    # Theorems that bound attention with a softmax do not hold of products of reflections.
    mechanisms = [f"{'path' if config.positions == 'path' else weights}-attention", "fixed-depth"]
    if causal:
        mechanisms.append("future-masked")
    if config.forget:
        mechanisms.append("forget-gates")
    elif config.positions == "none" and not config.log_length:  # a scale that tells the length
        mechanisms.append("no-positions")
    if config.attention == "hard":
        mechanisms.append("ties-to-the-left")
    if ends:
        mechanisms.append("end-marker")
    if config.marker == "end":
        mechanisms.append("no-begin-symbol")
    return tuple(mechanisms)


def check_mask(config: TransformerConfig, causal: bool) -> None:
    """Check that options which require a causal mask have one.

    Raises:
        RequestError: naming the option.
    """
    for name, values in MASKED.items():
        value = getattr(config, name)
        if value in values and not causal:
            told = str(value).lower()
            raise RequestError(f"{name}={told} needs a causal mask: do not set causal=false")


class TransformerBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual and a layer norm."""

    def __init__(self, config: TransformerConfig, *, causal: bool) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        kind = KINDS.get(config.positions, Attention)
        attention = kind(
            config.width,
            config.heads,
            causal=causal,
            log_length=config.log_length,
            hard=config.attention == "hard",
            stick_breaking=config.attention == "stick-breaking",
            forget=config.forget,
            bias=config.bias,
        )
        if config.init == "library":
            attention.begin_as_the_library()
        self.attention: nn.Module = attention
        self.drop = make_dropout(config.dropout)
        attention.drop = make_dropout(config.dropout)
        self.feed_forward = PositionWise(
            *(config.width, config.feed_forward, config.activation),
            hidden=config.hidden,
            dropout=config.dropout,
        )
        self.norm_attention = make_norm(config)
        self.norm_feed_forward = make_norm(config)

    def forward(
        self, x_BMD: Tensor, span: Span, lengths_B: Tensor | None, *, keep_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Update the positions in `span`: (B, Q, D), and the attention weights, if made."""
        x_BQD = x_BMD[:, span.first : span.stop]
        input_BMD = self.norm_attention(x_BMD) if self.pre_norm else x_BMD
        change_BQD, weights = self.attention(input_BMD, span, lengths_B, keep_weights=keep_weights)
        x_BQD = x_BQD + self.drop(change_BQD)
        if self.pre_norm:
            change_BQD = self.feed_forward(self.norm_feed_forward(x_BQD))
            return x_BQD + self.drop(change_BQD), weights
        x_BQD = self.norm_attention(x_BQD)
        change_BQD = self.feed_forward(x_BQD)
        return self.norm_feed_forward(x_BQD + self.drop(change_BQD)), weights


class Transformer(nn.Module):
    """The Transformer; the task's longest string is the longest that learned positions reach.

    Raises:
        RequestError: if the positions would tell a prefix what it may not know.
    """

    def __init__(self, task: Task, config: TransformerConfig) -> None:
        super().__init__()
        # An answer may see the whole string if it is the only one, or if the objective says so.
        whole = task.layout == "last" or task.objective.sees_all
        if config.positions in ("scalar", "parity", "sinusoidal-from-end") and not whole:
            raise RequestError(
                f"positions={config.positions} reveals the length of the whole string to every "
                "prefix: for this objective use positions=scalar-6000"
            )
        self.begins = config.marker != "end"
        self.ends = config.marker != "begin" and task.layout == "last"
        if not self.begins and task.layout == "prefixes":
            raise RequestError(
                "marker=end has no position for the empty prefix: for this objective use "
                "marker=begin"
            )
        extra = {"begin": ("begin",), "end": ("empty",), "both": ("begin", "empty")}
        self.alphabet = ExtendedAlphabet(len(task.alphabet), *extra[config.marker])
        self.layout = task.layout
        self.added = self.begins + self.ends
        self.causal = config.causal or not whole
        check_mask(config, self.causal)
        most = max(task.splits.train[1], task.splits.test[1]) + max(0, self.added - 1)
        self.range, self.shifted = config.randomised, config.shifted
        if self.shifted:
            _check_whole("shifted", whole)
            most += self.shifted - 1
        if self.range:
            _check_range(self.range, most, whole)
            most = self.range - 1
        self.embedding = Embedding(self.alphabet.size, config.width, config.positions, most)
        self.drop = make_dropout(config.dropout)
        self.blocks = nn.ModuleList(self.make_block(config, i) for i in range(config.layers))
        if config.init == "library":  # `nn.TransformerEncoder` stacks copies of a layer
            for block in self.blocks[1:]:
                block.load_state_dict(self.blocks[0].state_dict())
        attentions = [a for b in self.blocks if isinstance(a := b.attention, Attention)]
        for attention in attentions[1:] if config.shared_positions else ():
            attention.share_positions(attentions[0])
        for attention in attentions:
            if isinstance(attention, FireAttention):
                quarter = max(1, task.splits.train[1] // 4)
                attention.first_threshold = config.threshold or quarter
        self.norm = make_norm(config) if config.norm == "pre" else nn.Identity()
        self.readout = nn.Linear(config.width, task.outputs)
        if config.init == "gpt2":
            self._begin_as_gpt2()
        if config.init == "haiku":
            self._begin_as_haiku()
        if config.embedding_scale != 1:
            with torch.no_grad():
                self.embedding.symbol.weight.mul_(config.embedding_scale)
        self.traits = Traits(
            causal=self.causal,
            padding=True,
            symbol_embedding="embedding.symbol",
            mechanisms=_mechanisms(config, self.causal, self.ends),
            depth=config.layers,
            width=config.width,
            vmap=not config.dropout,
        )

    def make_block(self, config: Any, index: int) -> TransformerBlock:
        """Return the block with this number, from 0; relatives may have others."""
        return TransformerBlock(config, causal=self.causal)

    def _begin_as_gpt2(self) -> None:
        """Draw the initial values of GPT-2 (Radford et al. 2019): normal, biases 0.

        Where a position is a dimension of its own, the symbols' vectors stay as they are drawn:
        GPT-2 has no such thing, and Yao et al. (2021) gave it embeddings from outside.
        """
        kinds = nn.Linear if self.embedding.scalar else (nn.Linear, nn.Embedding)
        for module in self.modules():
            if isinstance(module, kinds):
                nn.init.normal_(module.weight, std=_GPT2_DEVIATION)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def _begin_as_haiku(self) -> None:
        """Draw haiku's initial values of linear maps, cut off at two deviations of 1/√n."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                deviation = module.in_features**-0.5
                bounds = {"a": -2 * deviation, "b": 2 * deviation}
                nn.init.trunc_normal_(module.weight, std=deviation, **bounds)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, batch: Batch) -> Tensor:
        lengths_B = None if batch.lengths is None else batch.lengths + self.added
        x_BMD, every = self._embed(batch, lengths_B)
        for block in self.blocks[:-1]:
            x_BMD, _ = block(x_BMD, every, lengths_B)
        # Nobody reads the topmost block anywhere else.
        first, stop = self._read_span(batch)
        x_BQD, _ = self.blocks[-1](x_BMD, every._replace(first=first, stop=stop), lengths_B)
        return read_asked(self.readout, self.norm(self._select(x_BQD, batch)), batch.asked)

    def state_size(self, length: int) -> int:
        """Return the numbers of all keys and values of a string; see `Stateful`."""
        depth, width = self.traits.depth, self.embedding.symbol.embedding_dim
        layers = depth(length) if callable(depth) else len(self.blocks)
        return 2 * layers * width * (length + self.added)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return intermediate tensors by name.

        Returns:
            ``state.0`` (B, M, D), the input; for each block l, ``block.l.attention``
            (B, H, M, M) and ``state.{l+1}`` (B, M, D), what leaves it; ``first.position``
            (B,), of the first symbol, and ``answer.position`` (B,) if there is one answer.
        """
        lengths_B = None if batch.lengths is None else batch.lengths + self.added
        x_BMD, every = self._embed(batch, lengths_B)
        trace = {"state.0": x_BMD}
        for index, block in enumerate(self.blocks):
            x_BMD, weights_BHMM = block(x_BMD, every, lengths_B, keep_weights=True)
            if weights_BHMM is not None:
                trace[f"block.{index}.attention"] = weights_BHMM
            trace[f"state.{index + 1}"] = x_BMD
        return trace | self._positions(batch)

    def _positions(self, batch: Batch) -> dict[str, Tensor]:
        """Return where the first symbol is, and the answer if there is one, for a trace."""
        place_B = batch.symbols.new_ones(len(batch.symbols))
        positions = {"first.position": place_B if self.begins else 0 * place_B}
        if self.layout == "last":
            length_B = place_B * batch.symbols.shape[1] if batch.lengths is None else batch.lengths
            last_B = length_B + self.added - 1
            positions["answer.position"] = 0 * place_B if self._reads_the_front else last_B
        return positions

    @property
    def _reads_the_front(self) -> bool:
        """Whether a string's one answer is read at the begin symbol."""
        return not self.ends and not self.causal

    def _marked(self, batch: Batch) -> Tensor:
        """Return the symbols with the one that is added, (B, M)."""
        symbols_BM = batch.symbols
        if self.ends:
            symbols_BM = self.alphabet.append(symbols_BM, "empty")
            if batch.lengths is not None:
                place_M = torch.arange(symbols_BM.shape[1], device=symbols_BM.device)
                at_end_BM = place_M == batch.lengths[:, None]
                symbols_BM = torch.where(at_end_BM, self.alphabet["empty"], symbols_BM)
        return self.alphabet.prepend(symbols_BM, "begin") if self.begins else symbols_BM

    def _embed(self, batch: Batch, lengths_B: Tensor | None) -> tuple[Tensor, Span]:
        """Return the input, (B, M, D), and the span of all positions."""
        symbols_BM = self._marked(batch)
        count, places_BM = symbols_BM.shape[1], None
        if self.range:
            _check_range(self.range, count - 1, True)
            places_BM = random_places(symbols_BM, lengths_B, self.range)
        elif self.shifted:
            places_BM = shifted_places(symbols_BM, lengths_B, self.shifted)
        x_BMD = self.drop(self.embedding(symbols_BM, lengths_B, places_BM))
        return x_BMD, Span(0, count, places_BM)

    def _read_span(self, batch: Batch) -> tuple[int, int]:
        """Return the positions that the topmost block must update, as first and stop."""
        count = batch.symbols.shape[1] + self.added
        if self.layout == "last" and self._reads_the_front:
            return 0, 1
        if self.layout == "last" and batch.lengths is None:
            return count - 1, count  # the last symbol behind a begin symbol, or the empty one
        return 0, count

    def _select(self, x_BQD: Tensor, batch: Batch) -> Tensor:
        """Return the states to answer from, of those in the read span."""
        if self.layout == "each":
            return x_BQD[:, self.added :]
        if self.layout != "last":
            return x_BQD
        if self._reads_the_front or batch.lengths is None:
            return x_BQD[:, 0]
        index_B = batch.lengths + self.added - 1
        index_B1D = index_B[:, None, None].expand(-1, 1, x_BQD.shape[2])
        return x_BQD.gather(1, index_B1D).squeeze(1)


def _check_range(numbers: int, longest: int, whole: bool) -> None:
    """Check that a range of random positions is large enough and reveals nothing.

    Raises:
        RequestError: if it is.
    """
    _check_whole("randomised", whole)
    if numbers < longest + 1:
        raise RequestError(
            f"randomised={numbers} supports strings of up to {numbers - 1} symbols, not "
            f"{longest}: take randomised={longest + 1} or more"
        )


def _check_whole(option: str, whole: bool) -> None:
    """Check that positions depend only on the prefix if answers must.

    Raises:
        RequestError: if so.
    """
    if not whole:
        raise RequestError(
            f"{option} needs an objective with one answer per string, such as classify: it "
            "depends on the whole string"
        )
