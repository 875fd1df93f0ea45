"""RegularGPT: one block, applied log_C T times over dilated chunks of C positions.

Source: Chi et al., "Transformer Working Memory Enables Regular Language Reasoning and
Natural Language Length Extrapolation" (2023). At level l, position m attends to the
positions m - j·C^l for j = 0 … C-1 (eq. 1); after ceil(log_C T) levels the last position
has seen all T symbols, each once.

Two forms of the same function, neither with a T×T matrix (`regulargpt_reference.py` is
the slow one, straight from eq. 1, which tests compare with):

* the *tree* (one answer per string) keeps only the positions that feed the last one:
  those whose distance from it is a multiple of C^l. About T·C/(C-1) updates in all;
* the *dilated* form (an answer at every position) updates all positions at each level, where
  chunks are large by matrix products (`regulargpt_bands.py`).

The paper has one number of levels for all positions, that of the whole string, which
tells every prefix how long the string goes on (``levels=string``). By default the answer to a
prefix is what the tree gives for that prefix alone: position m is read after its own
max(1, ceil(log_C m)) levels, m symbols being in the prefix. Its state goes on after that, as eq. 1
has it, for those positions to the right of it that have more levels and attend to it. So it is
trained to be read after fewer levels than the string has, too, which the paper's never is.

A string whose length is no power of C is padded on the left. Padding is a learned vector that
is *attended*, not masked: with masked padding `1` and `11` have the same activations, since
softmax averages the count away. As in the published code, every level pads with the same
vector, so that a level beyond those of training meets no padding that it has not been trained on.
A window of a text is not padded: it begins in the middle of a text, and the keys in front of it
are masked, as eq. 1 has it.

The block is that of the published code, which differs from §3 ("all the other details of GPT2"):
post-LN, which brings the state back to one scale after each level, ReLU, no biases in the
projections of attention, haiku's initial weights, embeddings scaled by the root of the width.
Width 64 is the code's on most languages; Table 4 has 256. With pre-LN there is a final norm before
the read-out. In the code the keys of a thick block (K > 1) end where the padding begins; here,
where a prefix is to have the answer of the string, the padding goes on through the blocks of a
level.

Legend: B batch, N positions, G groups of C positions, C chunk, D width, K outputs.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from formalbench import Batch, Corpus, ExtendedAlphabet, Task, Traits, read_asked
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.configs.regulargpt import RegularGptConfig
from formalbench_models.regulargpt_block import RegularGptBlock, Trace
from formalbench_models.regulargpt_tables import Table

DEVIATION = 0.02
"""Of the initial values of symbols, padding and positions, as in the code; of all in GPT-2."""


def levels(length: int, chunk: int) -> int:
    """Return max(1, ceil(log_C T)), in integers."""
    count, reach = 1, chunk
    while reach < length:
        count, reach = count + 1, reach * chunk
    return count


def depth(length: int, chunk: int, thickness: int) -> int:
    """Return how many blocks a string of this length goes through."""
    return levels(length, chunk) * thickness


class RegularGPT(nn.Module):
    """RegularGPT.

    Every answer, be it to a string or to a prefix, is a function of that string or prefix
    alone, and the same one, but for prefixes that go through the levels of their string. The empty
    string or prefix has one level of nothing but padding. In padded batches of the layout ``last``
    a string that has had its number of levels keeps its state.

    Of texts the read-out is the embedding (Table 5's 81 and 123 million parameters), without a
    bias.

    Args:
        task: gives the symbols, the number of outputs per answer, and where to answer.
        config: sizes and choices; `thickness` is the number of blocks per level (§3.2), each with
            its own parameters.
    """

    def __init__(self, task: Task, config: RegularGptConfig) -> None:
        super().__init__()
        width, self.chunk = config.width, config.chunk
        self.alphabet = ExtendedAlphabet(len(task.alphabet), "pad")
        self.layout = task.layout
        self.as_string = config.levels == "string"
        self.of_text = task.layout == "each" and isinstance(task.source, Corpus)
        self.outputs = task.outputs
        self.embedding = nn.Embedding(self.alphabet.size, width)
        self.blocks = nn.ModuleList(RegularGptBlock(config) for _ in range(config.thickness))
        self.norm = nn.LayerNorm(width) if config.norm == "pre" else nn.Identity()
        self.readout = None if self.of_text else nn.Linear(width, task.outputs)
        # The code multiplies what it looks up, not its padding.
        self.scale = math.sqrt(width) if config.init == "haiku" else 1.0
        self._draw(config.init)
        pairs = ("chunks-of-two",) if config.chunk == 2 else ()
        self.traits = Traits(
            padding=self._tree or not self.as_string,
            cpu_cohort=0 if width > 64 else 2 if width <= 32 else 3,  # measured: speed/README.md
            symbol_embedding="embedding",
            mechanisms=("softmax-attention", "logarithmic-depth", *pairs),
            depth=partial(depth, chunk=self.chunk, thickness=config.thickness),
            width=width,
            notes={"hidden": config.hidden or width * config.feed_forward},
        )

    def _draw(self, init: str) -> None:
        """Draw the initial values: haiku's, as the published code, or GPT-2's."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                if init == "haiku":
                    deviation = 1 / math.sqrt(module.in_features)
                    nn.init.trunc_normal_(
                        module.weight, std=deviation, a=-2 * deviation, b=2 * deviation
                    )
                else:
                    nn.init.normal_(module.weight, std=DEVIATION)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, RegularGptBlock):
                nn.init.normal_(module.relative_CH, std=DEVIATION)
        nn.init.normal_(self.embedding.weight, std=DEVIATION)
        if init == "haiku":
            symbols = self.embedding.weight[: self.alphabet["pad"]]
            nn.init.trunc_normal_(symbols, std=DEVIATION, a=-2 * DEVIATION, b=2 * DEVIATION)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K), (B, N, K) or (B, N+1, K), by the layout."""
        return self._run(batch, None)

    def answer(self, states_D: Tensor) -> Tensor:
        """Return the logits at final states: (..., D) to (..., K)."""
        if self.readout is None:
            return functional.linear(states_D, self.embedding.weight[: self.outputs])
        logits_K: Tensor = self.readout(states_D)
        return logits_K

    def vectors(self) -> tuple[Tensor, Tensor]:
        """Return the vectors of all symbols, padding included, and the vector of padding.

        Returns:
            (V, D) and (D,).
        """
        weight_VD, pad = self.embedding.weight, self.alphabet["pad"]
        if self.scale == 1:
            return weight_VD, weight_VD[pad]
        is_pad_V1 = (torch.arange(len(weight_VD), device=weight_VD.device) == pad)[:, None]
        return torch.where(is_pad_V1, weight_VD, self.scale * weight_VD), weight_VD[pad]

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Look inside.

        Returns:
            For each level l and block k, ``level.l.block.k.attention`` (B, positions,
            C, H), the keys in reading order, ``level.l.block.k.feed_forward`` (B,
            positions, D), the feed-forward network's output before it is added, and
            ``level.l.block.k.state``, what leaves the block; the positions are those
            that the block updates, the last one last, whether they are still to be read
            or not. ``read`` (B, answers, D) are the states that the answers are read from.
        """
        trace: Trace = {}
        self._run(batch, trace)
        return trace

    @property
    def _tree(self) -> bool:
        """Whether only the last position is answered for."""
        return self.layout == "last"

    def _run(self, batch: Batch, trace: Trace | None) -> Tensor:
        vectors_VD, pad_D = self.vectors()
        read: list[Tensor] = []
        if self.layout == "prefixes" or batch.symbols.shape[1] == 0:
            read.append(self._empty(len(batch.symbols), pad_D))
        if batch.symbols.shape[1]:
            table = Table(vectors_VD, self.alphabet["pad"], self.chunk)
            read += self._levels(batch, table, pad_D, trace)
        elif self.layout == "each":
            read = [read[0][:, :0]]
        read_BND = torch.cat(read, dim=1)
        if trace is not None:
            trace["read"] = read_BND
        states = self.norm(read_BND[:, 0] if self._tree else read_BND)
        return read_asked(self.answer, states, batch.asked)

    def _levels(
        self, batch: Batch, table: Table, pad_D: Tensor, trace: Trace | None
    ) -> list[Tensor]:
        """Return the states that are read, (B, n, D) of each level at which there are some."""
        symbols_BN, lengths_B = batch.symbols, batch.lengths
        count = levels(symbols_BN.shape[1], self.chunk)
        if self._tree and lengths_B is not None:
            symbols_BN = align_right(symbols_BN, lengths_B, self.alphabet["pad"])
        # Tables hold too little if somebody looks inside, if strings differ in their number of
        # levels, if keys are masked, or if thick blocks let a chunk see its neighbours.
        alike = (lengths_B is None or not self._tree) and not self.of_text
        by_table = trace is None and alike and len(self.blocks) == 1
        read: list[Tensor] = []
        x_BND, done = self._first_levels(table, symbols_BN, count, read, by_table=by_table)
        for level in range(done, count):
            before_BND = x_BND
            x_BND = self._level(x_BND, pad_D, level, trace)
            if not self._tree:
                # A copy: a view would keep all positions of every level in memory.
                read.append(x_BND[:, self._due(level, count)].clone())
            elif lengths_B is not None:
                x_BND = self._keep_finished(before_BND, x_BND, level, lengths_B)
                x_BND = self._keep_padding(x_BND, pad_D, level, lengths_B)
        return [x_BND[:, -1:]] if self._tree else read

    def _empty(self, count: int, pad_D: Tensor) -> Tensor:
        """Return the state of the empty prefix, (B, 1, D): a level of nothing but padding."""
        for index in range(len(self.blocks)):
            pad_D = self._block(index).update_pad(pad_D)
        return pad_D.expand(count, 1, -1)

    def _due(self, level: int, count: int) -> slice:
        """Return the positions whose last level this is, by the length of their prefix or string.

        Args:
            level: from 0.
            count: how many levels the string has.
        """
        if self.as_string:
            return slice(0, None if level == count - 1 else 0)
        return slice(self.chunk**level if level else 0, self.chunk ** (level + 1))

    def _first_levels(
        self, table: Table, rows_BN: Tensor, count: int, read: list[Tensor], *, by_table: bool
    ) -> tuple[Tensor, int]:
        """Do levels by table, if that can be, as long as it saves work.

        Args:
            table: of the symbols.
            rows_BN: their ids.
            count: how many levels there are.
            read: where the states of positions go that have had their last level.
            by_table: whether tables hold enough.

        Returns:
            the states (B, N, D), the levels done.
        """
        done, step = 0, self.chunk if self._tree else 1
        while by_table and done < count and table.pays(rows_BN.numel() // step):
            dilation = self.chunk**done
            rows_BN = table.group(rows_BN) if self._tree else table.slide(rows_BN, dilation)
            table = table.grow(self._block(0))
            if not self._tree:
                read.append(table.look_up(rows_BN[:, self._due(done, count)]))
            done += 1
        return table.look_up(rows_BN), done

    def _level(self, x_BND: Tensor, pad_D: Tensor, level: int, trace: Trace | None) -> Tensor:
        """Apply every block once; in the tree the last block keeps every C-th position."""
        dilation = 1 if self._tree else self.chunk**level
        for index in range(len(self.blocks)):
            block, name = self._block(index), f"level.{level}.block.{index}"
            if self._tree and index == len(self.blocks) - 1:
                x_BND = block.keep_last(groups(x_BND, pad_D, self.chunk), trace, name)
            else:
                pads = None if self.of_text else pad_D
                x_BND = block.keep_all(x_BND, pads, dilation, trace, name)
            pad_D = block.update_pad(pad_D)
        return x_BND

    def _keep_padding(self, x_BND: Tensor, pad_D: Tensor, level: int, lengths_B: Tensor) -> Tensor:
        """Put the padding back where a group of the tree had nothing else, but for the answer."""
        symbols_B = lengths_B.clamp(min=1)  # the empty string is answered from padding
        left_N = torch.arange(x_BND.shape[1], 0, -1, device=x_BND.device) - 1
        there_BN = left_N * self.chunk ** (level + 1) < symbols_B[:, None]
        return torch.where(there_BN[:, :, None], x_BND, pad_D)

    def _keep_finished(
        self, before_BND: Tensor, after_BND: Tensor, level: int, lengths_B: Tensor
    ) -> Tensor:
        """Undo a level for the strings that are too short to have it."""
        if level == 0:  # even the empty string has one
            return after_BND
        if self._tree:
            before_BND = before_BND.flip(1)[:, :: self.chunk].flip(1)
        return torch.where((lengths_B > self.chunk**level)[:, None, None], after_BND, before_BND)

    def _block(self, index: int) -> RegularGptBlock:
        block = self.blocks[index]
        assert isinstance(block, RegularGptBlock)
        return block


def groups(x_BND: Tensor, pad_D: Tensor, chunk: int) -> Tensor:
    """Cut a sequence into groups of C from the right, padded on the left: (B, G, C, D)."""
    batch, length, width = x_BND.shape
    missing = -length % chunk
    if missing:
        x_BND = torch.cat((pad_D.expand(batch, missing, width), x_BND), dim=1)
    return x_BND.reshape(batch, (length + missing) // chunk, chunk, width)


def align_right(symbols_BN: Tensor, lengths_B: Tensor, pad: int) -> Tensor:
    """Move strings padded on the right to the right end, with `pad` on their left."""
    length = symbols_BN.shape[1]
    source_BN = torch.arange(length, device=symbols_BN.device) - (length - lengths_B[:, None])
    return symbols_BN.gather(1, source_BN.clamp(min=0)).where(source_BN >= 0, pad)
