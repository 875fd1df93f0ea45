"""The encoder-decoder transformer.

Source: Vaswani et al., "Attention is all you need" (2017), §3.1; pre-LN: Xiong et al. (2020);
logits times ln n in all three kinds of attention, n the positions that each attends to: Chiang &
Cholak (2022), §4.3 and, for translation, §4.4; tied embeddings: Vaswani et al., §3.4. Dropout is
where the code of their translations has it: on embeddings, on attention's weights, on hidden units
and on every branch; words are dropped, too.

The encoder sees the whole string, behind a begin symbol. The decoder begins with a begin symbol of
its own and sees what has been said so far, under a causal mask, and all of the encoder's states.
Position codes other than sinusoidal ones are in each half's attention to itself only.

Legend: B batch, N symbols and N+1 = S positions of the encoder, M symbols said and M+1 = Q
positions of the decoder, D width, K outputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from formalbench import Batch, ExtendedAlphabet, RequestError, Task, Traits
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.transformers import EncoderDecoderConfig
from formalbench_models.families.transformer import TransformerBlock, make_norm
from formalbench_models.layers.attention import Attention, Span
from formalbench_models.layers.feed_forward import WordDropout, make_dropout
from formalbench_models.layers.positions import Embedding
from formalbench_models.layers.tensors import merge, split


class CrossAttention(Attention):
    """Attention from one sequence to another, without positions."""

    def keys_and_values(self, other_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and the values of a sequence that is asked, (B, H, S, E) each."""
        key_BHSE, value_BHSE = split(self.key_value(other_BSD), 2 * self.heads).chunk(2, dim=1)
        return key_BHSE, value_BHSE

    def take(
        self, x_BQD: Tensor, key_BHSE: Tensor, value_BHSE: Tensor, lengths_B: Tensor | None
    ) -> Tensor:
        """Attend to the keys and values that `keys_and_values` returned, (B, Q, D)."""
        query_BHQE = split(self.query(x_BQD), self.heads)
        span = Span(0, x_BQD.shape[1])
        weights_BHQS = self._weights(self.adjusted(query_BHQE, key_BHSE, span, lengths_B), span)
        answer_BQD: Tensor = self.merge_heads(merge(weights_BHQS @ value_BHSE))
        return answer_BQD


class DecoderBlock(nn.Module):
    """Attention to the answer so far, attention to the string, then a feed-forward network."""

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.said = TransformerBlock(config.block, causal=True)
        self.cross = CrossAttention(
            config.width, config.heads, causal=False, log_length=config.log_length
        )
        self.cross.drop = make_dropout(config.dropout)
        self.norm_cross = make_norm(config.block)

    def forward(
        self,
        x_BQD: Tensor,
        memory: tuple[Tensor, Tensor],
        lengths_B: Tensor | None,
        first: int = 0,
    ) -> Tensor:
        """Update the positions of the decoder from `first` on.

        Args:
            x_BQD: all positions.
            memory: keys and values of the string (`CrossAttention.keys_and_values`).
            lengths_B: how many of its positions are real, if not all.
            first: the first position to compute.
        """
        block, span, now_BQD = self.said, Span(first, x_BQD.shape[1]), x_BQD[:, first:]
        drop = block.drop
        if self.pre_norm:
            now_BQD = now_BQD + drop(block.attention(block.norm_attention(x_BQD), span)[0])
            now_BQD = now_BQD + drop(self.cross.take(self.norm_cross(now_BQD), *memory, lengths_B))
            change_BQD: Tensor = drop(block.feed_forward(block.norm_feed_forward(now_BQD)))
            return torch.add(now_BQD, change_BQD)
        now_BQD = block.norm_attention(now_BQD + drop(block.attention(x_BQD, span)[0]))
        now_BQD = self.norm_cross(now_BQD + drop(self.cross.take(now_BQD, *memory, lengths_B)))
        after_BQD: Tensor = block.norm_feed_forward(now_BQD + drop(block.feed_forward(now_BQD)))
        return after_BQD


class EncoderDecoder(nn.Module):
    """The encoder-decoder transformer.

    Raises:
        RequestError: if embeddings are tied, and what is read is not of the alphabet of what is
            said.
    """

    def __init__(self, task: Task, config: EncoderDecoderConfig) -> None:
        super().__init__()
        if config.tied and len(task.alphabet) + 1 != task.outputs:  # END is an answer, too
            raise RequestError(
                f"tied=true needs the same input and output alphabet, not {len(task.alphabet)} "
                f"symbols and {task.outputs - 1}"
            )
        width, extra = config.width, ("begin", "unknown") if config.word_dropout else ("begin",)
        self.said_alphabet = ExtendedAlphabet(task.outputs, *extra)
        self.read_alphabet = (
            self.said_alphabet if config.tied else ExtendedAlphabet(len(task.alphabet), *extra)
        )

        def embedding(symbols: ExtendedAlphabet) -> Embedding:
            return Embedding(symbols.size, width, config.positions, most=0, scaled=config.tied)

        def hidden(symbols: ExtendedAlphabet) -> nn.Module:
            share = config.word_dropout
            return WordDropout(share, symbols["unknown"]) if share else nn.Identity()

        self.hide_read, self.hide_said = map(hidden, (self.read_alphabet, self.said_alphabet))
        self.drop = make_dropout(config.dropout)
        self.read = embedding(self.read_alphabet)
        self.said = None if config.tied else embedding(self.said_alphabet)
        self.encoder = nn.ModuleList(
            TransformerBlock(config.block, causal=False) for _ in range(config.layers)
        )
        self.decoder = nn.ModuleList(DecoderBlock(config) for _ in range(config.layers))
        last = config.norm == "pre"
        self.norm_encoder = make_norm(config.block) if last else nn.Identity()
        self.norm_decoder = make_norm(config.block) if last else nn.Identity()
        self.readout = None if config.tied else nn.Linear(width, task.outputs)
        if config.tied:
            self.bias_K = nn.Parameter(torch.zeros(task.outputs))
        self.traits = Traits(
            causal=False,
            padding=True,
            encoder_decoder=True,
            vmap=not (config.dropout or config.word_dropout),
            symbol_embedding="read.symbol",
            mechanisms=("softmax-attention", "encoder-decoder"),
            depth=2 * config.layers,
            width=width,
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return logits of the next symbol after each prefix of the answer, (B, M+1, K)."""
        state_BSD, lengths_B = self._encoded(batch)
        assert batch.decoded is not None
        decoded_BM = self.hide_said(batch.decoded)
        x_BQD = self._vectors(self.said_alphabet.prepend(decoded_BM, "begin"))
        for block in self._blocks():
            x_BQD = block(x_BQD, block.cross.keys_and_values(state_BSD), lengths_B)
        return self._answer(x_BQD)

    def begin(self, batch: Batch) -> tuple[Tensor, ...]:
        """Read strings, to say symbol by symbol what is next (`Stepwise` in the contracts).

        What is kept: the symbols said, a begin symbol first, (B, Q); how many positions of the
        string are real, (B,); of each block what it was given so far, (B, Q-1, D), and then of each
        its keys and values of the string.
        """
        state_BSD, lengths_B = self._encoded(batch)
        count, size, width = state_BSD.shape
        if lengths_B is None:
            lengths_B = batch.symbols.new_full((count,), size)
        begin_B1 = self.said_alphabet.prepend(batch.symbols[:, :0], "begin")
        inputs = [state_BSD.new_zeros((count, 0, width)) for _ in self.decoder]
        memory = [
            part for block in self._blocks() for part in block.cross.keys_and_values(state_BSD)
        ]
        return (begin_B1, lengths_B, *inputs, *memory)

    def next(
        self, kept: tuple[Tensor, ...], said_B: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the logits of the next symbol, (B, K), and the new state."""
        symbols_BQ, lengths_B, *rest = kept
        if said_B is not None:
            symbols_BQ = torch.cat((symbols_BQ, said_B[:, None]), dim=1)
        inputs, memory = rest[: len(self.decoder)], rest[len(self.decoder) :]
        last = symbols_BQ.shape[1] - 1
        x_B1D = self._vectors(symbols_BQ)[:, last:]
        for index, block in enumerate(self._blocks()):
            inputs[index] = torch.cat((inputs[index], x_B1D), dim=1)
            pair = memory[2 * index], memory[2 * index + 1]
            x_B1D = block(inputs[index], pair, lengths_B, last)
        return self._answer(x_B1D)[:, 0], (symbols_BQ, lengths_B, *inputs, *memory)

    def _encoded(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return the encoder's states, (B, S, D), and how many are real, if not all."""
        lengths_B = None if batch.lengths is None else batch.lengths + 1
        symbols_BS = self.read_alphabet.prepend(self.hide_read(batch.symbols), "begin")
        state_BSD: Tensor = self.drop(self.read(symbols_BS, lengths_B))
        every = Span(0, state_BSD.shape[1])
        for block in self.encoder:
            state_BSD, _ = block(state_BSD, every, lengths_B)
        return self.norm_encoder(state_BSD), lengths_B

    def _vectors(self, symbols_BQ: Tensor) -> Tensor:
        """Return the decoder's input, (B, Q, D)."""
        embedding = self.read if self.said is None else self.said
        x_BQD: Tensor = self.drop(embedding(symbols_BQ, None))
        return x_BQD

    def _answer(self, x_BQD: Tensor) -> Tensor:
        """Return logits off the states of the topmost block, (B, Q, K)."""
        x_BQD = self.norm_decoder(x_BQD)
        if self.readout is None:
            weight_KD = self.read.symbol.weight[: len(self.bias_K)]
            return functional.linear(x_BQD, weight_KD, self.bias_K)
        logits: Tensor = self.readout(x_BQD)
        return logits

    def _blocks(self) -> Iterator[DecoderBlock]:
        for block in self.decoder:
            assert isinstance(block, DecoderBlock)
            yield block
