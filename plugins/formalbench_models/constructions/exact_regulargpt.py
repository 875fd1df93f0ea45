"""Any finite automaton, written into the weights of RegularGPT.

Source: Chi et al., "Transformer Working Memory Enables Regular Language Reasoning and
Natural Language Length Extrapolation" (2023), §7.2 (eq. 2, Lemma 1) and appendix C, which
have chunks of two. Chunks of more, and answers to every prefix, are ours.

The state of a position is the matrix of what the symbols that feed it do to the automaton:
Q×Q, binary, entry (p, q) saying whether they lead from state p to state q (eq. 2). One level
multiplies the matrices of a chunk. What each part of the block is for:

* *Embedding.* A symbol is its transition matrix, padding the identity. A state holds C
  copies of its matrix, in slots 0 … C-1, because the attention will fill C slots with C
  different matrices and a residual stream has one width. Hence D = C·Q².
* *Attention.* Head j looks at the key at distance j alone: its scalar r_j is 0, the others
  are -10⁴, of which the softmax makes weights of exactly 1 and 0 in every precision down to
  fp16 (-∞ in the paper). It copies that key's matrix into slot j. To the residual stream,
  which has the query's own matrix in every slot, it adds the difference from what head 0
  sees, which is that very matrix.
* *Layer norm.* Before and after the feed-forward network a state has C·Q ones among its
  C·Q² entries, wherever they are. So its mean is 1/Q and its variance (1 - 1/Q)/Q, always,
  and a gain of √(variance + ε) and a bias of 1/Q make it the identity, for any ε (other than
  0 if there is only one state).
* *Feed-forward network.* 2·C·Q² hidden units, relu(x) and relu(-x), take away the old
  state. The others are one or two for each path of states p_0, p_1, …, p_C, which is there
  iff all of its C steps are: an AND of C bits. Paths from p to q add up to entry (p, q) of
  the product, of which at most one is there, every row of a matrix having a single 1.
* *Read-out.* The row of the start state says in which state the string ends, and so what
  the answer is.

An AND of C bits with sum s is relu(s - C + 1) in Lemma 1 (``clamp=false``). That is exact in
exact arithmetic, but it doubles the rounding error of its operands at every level. With two
units, relu(2s - 2C + 3/2) - relu(2s - 2C + 1/2), all sums within 1/4 of a whole number give
exactly 0 or 1 (the default), so that errors never add up and no length is too long.

Width C·Q², heads C, hidden units 2·C·Q² + 2·Q^(C+1) (or 1· with Lemma 1), depth
max(1, ceil(log_C N)) levels of one shared block. Post-LN, ReLU, no biases in the attention's
projections: options of the class that is trained, into which the weights load. Precision:
with two units the margin is the same at every length, in bf16, fp16, fp32 and fp64; with
one unit the error is of the order of N times the precision's.

Cost: 4·C·Q²·(C·Q² + Q^(C+1)) weights in the feed-forward network, and as many
multiplications for each update of a position.

Legend: Q states, S symbols, C chunk, D width, P paths, K outputs, B batch, N positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import torch
from formalbench import Batch, RequestError, Task
from formalbench.contracts.source import automaton_of
from torch import Tensor, nn

from formalbench_models.catalogue.constructions import ExactRegularGptConfig
from formalbench_models.catalogue.transformers import RegularGptConfig
from formalbench_models.families.regulargpt import RegularGPT, RegularGptBlock

MAX_HIDDEN = 1 << 16
"""Maximum number of hidden units; each uses memory at every updated position."""

MAX_WEIGHTS = 1 << 27
"""Maximum number of weights of the block: 1 GiB in fp64."""

MAX_ACTIVATIONS = 1 << 26
"""Approximate maximum of hidden activations; larger batches are split."""

FAR = -1e4
"""Scalar of a masked distance: exp(FAR) is 0 in fp64, and fp16 can represent it."""


@dataclass(frozen=True)
class Machine:
    """A complete deterministic automaton.

    Attributes:
        table: for each state, the state reached by each symbol; (Q, S).
        classes: the class of each state.
        start: the state of the empty string.
    """

    table: Sequence[Sequence[int]]
    classes: Sequence[int]
    start: int

    @property
    def states(self) -> int:
        """Q, the number of states."""
        return len(self.table)

    def legal(self) -> list[list[bool]]:
        """For each state, say which symbols can still lead to class 1, and if it has it."""
        live = {state for state, label in enumerate(self.classes) if label == 1}
        while True:
            before = {state for state, row in enumerate(self.table) if live.intersection(row)}
            if before <= live:
                break
            live |= before
        return [
            [*(target in live for target in row), label == 1]
            for row, label in zip(self.table, self.classes, strict=True)
        ]


def machine_of(task: Task, model: str = "exact-regulargpt") -> Machine:
    """Return the automaton of a task's language.

    Args:
        task: what is to be answered.
        model: the name of the exact model, for errors.

    Raises:
        RequestError: if it has none.
    """
    automaton = automaton_of(task.source)
    if automaton is None:
        raise RequestError(
            f"{model}: {task.source_name} is not given by an automaton: "
            "take a language that is, as cycle-navigation, parity or one from a YAML file"
        )
    table = [[int(target) for target in row] for row in automaton.transitions]
    return Machine(table, [int(label) for label in automaton.classes], int(automaton.start))


@dataclass(frozen=True)
class Sizes:
    """Size of the network for an automaton.

    Attributes:
        states: Q.
        chunk: C.
        clamp: whether a path has two units.
    """

    states: int
    chunk: int
    clamp: bool

    @property
    def width(self) -> int:
        """D = C·Q²."""
        return self.chunk * self.states**2

    @property
    def paths(self) -> int:
        """P = Q^(C+1)."""
        return int(self.states ** (self.chunk + 1))

    @property
    def hidden(self) -> int:
        """Number of units that remove the old state, plus one or two for each path."""
        return 2 * self.width + (2 if self.clamp else 1) * self.paths

    @property
    def fits(self) -> bool:
        """Whether the size is within the limits."""
        weights = 4 * self.width**2 + 2 * self.width * self.hidden
        return self.hidden <= MAX_HIDDEN and weights <= MAX_WEIGHTS

    @property
    def precision(self) -> str:
        """What precision it needs, in words."""
        if self.clamp:
            return "O(1) bits: bf16 at any length"
        return "O(log n) bits: errors add up to n"

    def check(self, language: str) -> None:
        """Check that the network is not too large.

        Raises:
            RequestError: naming the largest possible chunk.
        """
        if self.fits:
            return
        smaller = [c for c in range(2, self.chunk) if Sizes(self.states, c, self.clamp).fits]
        hint = f"try chunk={smaller[-1]}" if smaller else "no smaller one fits"
        raise RequestError(
            f"exact-regulargpt: chunk={self.chunk} and the {self.states} states of {language} "
            f"take {self.hidden} hidden units at width {self.width}, beyond {MAX_HIDDEN} units "
            f"or {MAX_WEIGHTS} weights: {hint}"
        )


class ExactRegularGPT(RegularGPT):
    """RegularGPT with weights written by hand, in fp64; its parameters are those of its class.

    Args:
        task: what to answer.
        machine: the automaton of its language.
        sizes: of the network.
        scale: the logits: of the right class (0 for the others), or of a legal symbol
            (minus as much for an illegal one).

    Attributes:
        traits: among them the scale as a constant; the depth is a function of the string length,
            the levels of the one block. With two units per path all lengths are correct; otherwise
            errors grow with the length.
    """

    def __init__(self, task: Task, machine: Machine, sizes: Sizes, scale: float) -> None:
        config = RegularGptConfig(
            chunk=sizes.chunk,
            width=sizes.width,
            heads=sizes.chunk,
            norm="post",
            activation="relu",
            bias=False,
            hidden=sizes.hidden,
            init="gpt2",  # its embeddings are not scaled
        )
        super().__init__(task, config)
        self.double()  # so that another dtype rounds once
        self.traits = replace(
            self.traits,
            constants={"scale": scale},
            notes={"heads": sizes.chunk, "hidden": sizes.hidden, "precision": sizes.precision},
        )
        write(self, machine, sizes, answers(task, machine, scale))

    def forward(self, batch: Batch) -> Tensor:
        count, length = batch.symbols.shape
        hidden: int = self._block(0).feed_forward.up.out_features
        updated = max(1, length // self.chunk if self.layout == "last" else length)
        rows = max(1, MAX_ACTIVATIONS // (hidden * updated))
        if count <= rows:
            return super().forward(batch)
        lengths = repeat(None) if batch.lengths is None else torch.split(batch.lengths, rows)
        parts = zip(torch.split(batch.symbols, rows), lengths, strict=False)
        return torch.cat([self._run(Batch(*part), None) for part in parts])


def answers(task: Task, machine: Machine, scale: float) -> Tensor:
    """Return the logits for each state that a string can end in, (Q, K)."""
    if task.objective.name == "next-symbols":
        return scale * (2 * torch.tensor(machine.legal(), dtype=torch.float64) - 1)
    classes_Q = torch.tensor(machine.classes)
    return scale * nn.functional.one_hot(classes_Q, task.outputs).double()


@torch.no_grad()
def write(network: RegularGPT, machine: Machine, sizes: Sizes, answers_QK: Tensor) -> None:
    """Write an automaton into a network of the right sizes.

    Args:
        network: post-LN, with ReLU, and C heads; all of its weights are overwritten.
        machine: the automaton.
        sizes: of the network.
        answers_QK: the logits for each state that a string can end in.
    """
    states, chunk = sizes.states, sizes.chunk
    for parameter in network.parameters():
        parameter.zero_()
    matrices = [*zip(*machine.table, strict=True), range(states)]  # padding is the identity
    for symbol, targets in enumerate(matrices):
        matrix_QQ = network.embedding.weight.new_zeros(states, states)
        matrix_QQ[torch.arange(states), torch.tensor(targets)] = 1
        network.embedding.weight[symbol] = matrix_QQ.flatten().repeat(chunk)
    block = network.blocks[0]
    assert isinstance(block, RegularGptBlock)
    _write_attention(block, sizes)
    _write_feed_forward(block, sizes)
    for norm in (block.norm_attention, block.norm_feed_forward):
        norm.weight.fill_(((1 - 1 / states) / states + norm.eps) ** 0.5)
        norm.bias.fill_(1 / states)
    row = machine.start * states
    assert network.readout is not None  # only texts have no such layout
    network.readout.weight[:, row : row + states] = answers_QK.T.to(network.readout.weight)


def _write_attention(block: RegularGptBlock, sizes: Sizes) -> None:
    """Make head j write the matrix at distance j minus the query's own into slot j."""
    width, states = sizes.width, sizes.states
    block.relative_CH.fill_(FAR).fill_diagonal_(0)
    value_DD = block.key_value.weight[width:]  # queries and keys stay 0
    value_DD.fill_diagonal_(1)
    merge_DD = block.merge_heads.weight
    merge_DD.fill_diagonal_(1)
    for slot in range(sizes.chunk):  # in slot 0 the difference is zero
        rows = torch.arange(slot * states**2, (slot + 1) * states**2)
        merge_DD[rows, torch.arange(states**2)] -= 1


def _write_feed_forward(block: RegularGptBlock, sizes: Sizes) -> None:
    """Replace C matrices, the oldest in the last slot, by C copies of their product."""
    width, states, chunk, count = sizes.width, sizes.states, sizes.chunk, sizes.paths
    up, down = block.feed_forward.up, block.feed_forward.down
    # Nothing of the old state remains, not even rounding errors, which would accumulate over
    # levels.
    for start, sign in ((0, 1.0), (width, -1.0)):
        up.weight[start : start + width].fill_diagonal_(sign)
        down.weight[:, start : start + width].fill_diagonal_(-sign)
    path_P = torch.arange(count)
    visited = [path_P // states ** (chunk - step) % states for step in range(chunk + 1)]
    # (slope, threshold, sign) of the units of a path, on the number of its steps that are there.
    lemma = ((1.0, chunk - 1.0, 1.0),)
    clamped = ((2.0, 2 * chunk - 1.5, 1.0), (2.0, 2 * chunk - 0.5, -1.0))
    for index, (slope, threshold, sign) in enumerate(clamped if sizes.clamp else lemma):
        unit_P = 2 * width + index * count + path_P
        up.bias[unit_P] = -threshold
        for step in range(chunk):
            entry_P = visited[step] * states + visited[step + 1]
            up.weight[unit_P, (chunk - 1 - step) * states**2 + entry_P] = slope
        product_P = visited[0] * states + visited[-1]
        for slot in range(chunk):
            down.weight[slot * states**2 + product_P, unit_P] = sign


def build(task: Task, config: ExactRegularGptConfig) -> ExactRegularGPT:
    """Write the automaton of a task's language into RegularGPT.

    Raises:
        RequestError: if it has none, or one too large for the chunk.
    """
    machine = machine_of(task)
    sizes = Sizes(machine.states, config.chunk, config.clamp)
    sizes.check(task.source_name)
    return ExactRegularGPT(task, machine, sizes, config.scale)
