"""RegularGPT (Chi et al. 2023): its block, its tables, its tree and its dilated form.

Source: Chi et al., "Transformer Working Memory Enables Regular Language Reasoning and
Natural Language Length Extrapolation" (2023), §3.1. At level l, position m attends to the
positions m - j·C^l for j = 0 … C-1 (eq. 1); after ceil(log_C T) levels the last position
has seen all T symbols, each once.

RegularGPT has no position codes, so that a position's state after level l depends only on the
C^(l+1) symbols that feed it. Over a small alphabet far fewer such chunks exist than a batch has
positions: the state of every possible chunk is computed once, and positions carry the number of
their chunk. This changes no result and saves most of the work: over a binary alphabet with padding
there are 9 chunks of two and 81 of four.

Two forms of the same function, neither with a T×T matrix (`regulargpt_reference.py` is
the slow one, straight from eq. 1, which tests compare with):

* the *tree* (one answer per string) keeps only the positions that feed the last one:
  those whose distance from it is a multiple of C^l. About T·C/(C-1) updates in all;
* the *dilated* form (an answer at every position) updates all positions at each level, where
  chunks are large by matrix products (`layers/dilated_attention.py`).

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

Legend: B batch, N positions, C keys per query (the chunk), D width, H heads, E width of a head, G
groups of C positions, V rows of a table, K outputs. Keys are in reading order: the
query's own position is the last of its C keys.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from formalbench import Batch, Corpus, ExtendedAlphabet, Task, Traits, read_asked
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.transformers import RegularGptConfig
from formalbench_models.layers.dilated_attention import LEAST, attend_in_bands
from formalbench_models.layers.feed_forward import PositionWise

Trace = dict[str, Tensor]
"""Named intermediate tensors, collected for a trace."""


class RegularGptBlock(nn.Module):
    """A Transformer block whose queries see C keys each.

    The scores of a head are its scaled dot products plus its scalars r_0 … r_{C-1},
    one per distance in steps of the level's dilation (eq. 1).
    """

    def __init__(self, config: RegularGptConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.chunk = config.chunk
        self.pre_norm = config.norm == "pre"
        self.norm_attention = nn.LayerNorm(width)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=config.bias)
        self.key_value = nn.Linear(width, 2 * width, bias=config.bias)
        self.merge_heads = nn.Linear(width, width, bias=config.bias)
        self.feed_forward = PositionWise(
            width, config.feed_forward, config.activation, hidden=config.hidden
        )
        self.relative_CH = nn.Parameter(torch.zeros(config.chunk, config.heads))

    def keep_last(self, x_CD: Tensor, trace: Trace | None = None, name: str = "") -> Tensor:
        """Update only the last position of each group of C: (..., C, D) to (..., D)."""
        normed_CD = self.norm_attention(x_CD) if self.pre_norm else x_CD
        query_D = self.query(normed_CD[..., -1, :])
        key_CD, value_CD = self.key_value(normed_CD).chunk(2, dim=-1)
        attended_D, weights_CH = self.attend(query_D, key_CD, value_CD)
        if trace is not None:
            trace[f"{name}.attention"] = weights_CH
        return self.finish(x_CD[..., -1, :], attended_D, trace, name)

    def keep_all(
        self,
        x_BND: Tensor,
        pad_D: Tensor | None,
        dilation: int,
        trace: Trace | None = None,
        name: str = "",
    ) -> Tensor:
        """Update every position m from the positions m - j·dilation, j < C: (B, N, D).

        Positions before the first are all in the state `pad_D`; if it is None, they are masked.
        """
        normed_BND = self.norm_attention(x_BND) if self.pre_norm else x_BND
        key_BND, value_BND = self.key_value(normed_BND).chunk(2, dim=-1)
        query_BND = self.query(normed_BND)
        pads = None if pad_D is None else self._pad_key_value(pad_D).chunk(2, dim=-1)
        if self.chunk >= LEAST and trace is None:
            both = (key_BND, value_BND)
            attended_BND = attend_in_bands(query_BND, both, pads, self.relative_CH, dilation)
            return self.finish(x_BND, attended_BND)
        nothing_D = key_BND.new_zeros(key_BND.shape[-1])
        pad_key_D, pad_value_D = pads or (nothing_D, nothing_D)
        key_BNCD = windows(key_BND, pad_key_D, self.chunk, dilation)
        value_BNCD = windows(value_BND, pad_value_D, self.chunk, dilation)
        there_NC = None
        if pads is None:
            place_N = torch.arange(x_BND.shape[1], device=x_BND.device)
            back_C = torch.arange(self.chunk - 1, -1, -1, device=x_BND.device) * dilation
            there_NC = place_N[:, None] >= back_C
        attended_BND, weights_BNCH = self.attend(query_BND, key_BNCD, value_BNCD, there_NC)
        if trace is not None:
            trace[f"{name}.attention"] = weights_BNCH
        return self.finish(x_BND, attended_BND, trace, name)

    def update_pad(self, pad_D: Tensor) -> Tensor:
        """Return the next state of a position that has only padding at and before it.

        All its C keys and values are equal, so the attention output is this value for any weights.
        """
        _, value_D = self._pad_key_value(pad_D).chunk(2, dim=-1)
        return self.finish(pad_D, value_D)

    def attend(
        self, query_D: Tensor, key_CD: Tensor, value_CD: Tensor, there_C: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend from (..., D) to (..., C, D): the mixture (..., D), the weights (..., C, H).

        Keys that `there_C` (..., C) says are not there are masked.

        Products of a vector with C vectors are too small for matrix kernels: they are
        written elementwise.
        """
        split = (self.heads, query_D.shape[-1] // self.heads)
        products_CHE = (query_D.unsqueeze(-2) * key_CD).reshape(*key_CD.shape[:-1], *split)
        scores_CH = products_CHE.sum(-1) / math.sqrt(split[1]) + self.relative_CH.flip(0)
        if there_C is not None:
            scores_CH = scores_CH.where(there_C.unsqueeze(-1), -math.inf)
        weights_CH = scores_CH.softmax(dim=-2)
        value_CHE = value_CD.reshape(*value_CD.shape[:-1], *split)
        mixed_HE = (weights_CH.unsqueeze(-1) * value_CHE).sum(-3)
        return mixed_HE.flatten(-2), weights_CH

    def finish(
        self, x_D: Tensor, attended_D: Tensor, trace: Trace | None = None, name: str = ""
    ) -> Tensor:
        """Do the rest of the block at the positions that are kept: (..., D)."""
        x_D = x_D + self.merge_heads(attended_D)
        if not self.pre_norm:
            x_D = self.norm_attention(x_D)
        normed_D = self.norm_feed_forward(x_D) if self.pre_norm else x_D
        change_D: Tensor = self.feed_forward(normed_D)
        x_D = x_D + change_D
        if not self.pre_norm:
            x_D = self.norm_feed_forward(x_D)
        if trace is not None:
            trace |= {f"{name}.feed_forward": change_D, f"{name}.state": x_D}
        return x_D

    def _pad_key_value(self, pad_D: Tensor) -> Tensor:
        normed_D = self.norm_attention(pad_D) if self.pre_norm else pad_D
        key_value: Tensor = self.key_value(normed_D)
        return key_value


def windows(x_BND: Tensor, pad_D: Tensor, chunk: int, dilation: int) -> Tensor:
    """Return x at m - j·dilation for every position m, j = C-1 … 0: (B, N, C, D)."""
    batch, length, width = x_BND.shape
    shifted = []
    for j in reversed(range(chunk)):
        missing = min(j * dilation, length)
        front = pad_D.expand(batch, missing, width)
        shifted.append(torch.cat((front, x_BND[:, : length - missing]), dim=1))
    return torch.stack(shifted, dim=2)


class Table:
    """Every state that a position can be in at one level.

    Attributes:
        states_VD: the states.
        pad: the row of a position with only padding at and before it.
        chunk: C.
    """

    def __init__(self, states_VD: Tensor, pad: int, chunk: int) -> None:
        self.states_VD = states_VD
        self.pad = pad
        self.chunk = chunk

    def pays(self, positions: int) -> bool:
        """Return whether the next level has far fewer chunks than positions to compute."""
        rows: int = len(self.states_VD) ** self.chunk
        return 2 * rows <= positions

    def grow(self, block: RegularGptBlock) -> Table:
        """Return the next level's table, V^C rows: all chunks of this level's states.

        A row's number has C digits in base V, the leftmost first.
        """
        size, places = len(self.states_VD), range(self.chunk)
        rows = torch.arange(size**self.chunk, device=self.states_VD.device)
        digits_VC = torch.stack([rows // size**j % size for j in reversed(places)], dim=1)
        pad = sum(self.pad * size**j for j in places)
        states_VD = block.keep_last(self.look_up(digits_VC))
        # Every level pads with the same vector.
        states_VD = torch.where((rows == pad)[:, None], self.states_VD[self.pad], states_VD)
        return Table(states_VD, pad, self.chunk)

    def look_up(self, rows: Tensor) -> Tensor:
        """Return the states in these rows: (...) to (..., D)."""
        return functional.embedding(rows, self.states_VD)

    def group(self, rows_BN: Tensor) -> Tensor:
        """Return the next level's rows of groups of C positions from the right: (B, G)."""
        batch, length = rows_BN.shape
        missing = -length % self.chunk
        padded_BN = functional.pad(rows_BN, (missing, 0), value=self.pad)
        return self._number(
            padded_BN.reshape(batch, (length + missing) // self.chunk, self.chunk).unbind(-1)
        )

    def slide(self, rows_BN: Tensor, dilation: int) -> Tensor:
        """Return the next level's rows of the chunks that end at each position: (B, N)."""
        length = rows_BN.shape[1]
        shifts = [min(j * dilation, length) for j in reversed(range(self.chunk))]
        return self._number(
            [functional.pad(rows_BN[:, : length - s], (s, 0), value=self.pad) for s in shifts]
        )

    def _number(self, digits: tuple[Tensor, ...] | list[Tensor]) -> Tensor:
        number = digits[0]
        for digit in digits[1:]:
            number = number * len(self.states_VD) + digit
        return number


DEVIATION = 0.02
"""Standard deviation of initial embeddings (symbols, padding, positions) as in the code; with
GPT-2's weights, of all parameters."""


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
        return self._run(batch, None)

    def state_size(self, length: int) -> int:
        """Return the numbers of the keys and values that a later symbol sees; see `Stateful`.

        Level l sees (C - 1)·C^l symbols back. Each block of a level has keys and values of its own.
        """
        visible, level = 0, 1
        while level < max(length, 2):
            visible += min(length, (self.chunk - 1) * level)
            level *= self.chunk
        return 2 * len(self.blocks) * self.embedding.embedding_dim * visible

    def answer(self, states_D: Tensor) -> Tensor:
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
        """Return intermediate tensors by name.

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
        # Tables do not suffice for a trace, for strings with different numbers of levels, for
        # masked keys, or if thick blocks let a chunk see its neighbours.
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
        real_BN = left_N * self.chunk ** (level + 1) < symbols_B[:, None]
        return torch.where(real_BN[:, :, None], x_BND, pad_D)

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
