"""A network: what a model plugin's factory returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.batch import Batch


class Network(Protocol):
    """What the engine asks of a `torch.nn.Module`; any module with this `forward` is one.

    `forward` has no data-dependent control flow, mutates nothing, and creates
    tensors only in its parameters' dtype and device, so that fp64, bf16, CUDA graphs
    and `vmap` just work. A module may set these attributes:

    * `accepts_padding = True`: `forward` takes padded batches (`Batch.lengths`).
    * `vmappable = False`: the network cannot run under `torch.func.vmap` (because of a
      kernel, or because it draws random numbers, as dropout does), and a cohort of it
      trains run by run: same numbers, slower.
    * `cpu_cohort = 2`: also on a CPU so many runs of it, or more, train faster as one program
      than one by one, as runs of small networks do; without it, none. (On a GPU all do that can.)
    * `symbol_embedding`: the `torch.nn.Embedding` with a row per symbol, for networks that have
      others too (of positions); whoever asks how much a symbol moves the answer needs it.

    The engine sets `under_vmap = True` on the copy of a network that it calls under `vmap`,
    for those that also have a kernel that `vmap` refuses.

    An exact model's network may say more about itself:

    * `constants`: a mapping from names to numbers, the constants of the paper's formulas
      (``c``, ``eta``, …) as they act on the logits.
    * `lengths`: the least and the greatest string length it is made for, both included
      (None for no bound); all lengths if it has no such attribute.
    * `description`: a mapping that says how large it is: ``depth`` (layers; if they
      grow with the string, a function of its length), ``width`` (numbers per position) and
      what else there is to say.
    """

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K) for the layout ``last``, (B, N, K) for ``each``,
        (B, N+1, K) for ``prefixes``.
        """  # noqa: D205
        ...


@runtime_checkable
class Traceable(Protocol):
    """A network that can be looked into."""

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return named tensors (attention weights, hidden states), outside training.

        Names are the network's own, but for those that probes read
        (`formalbench.evaluation.probes`), where it has such a thing:

        * ``….attention`` with four dimensions, (B, H, M, M): the weights of each head, from
          every position (third) to every position (last);
        * ``answer.position``, (B,): the position that a string's one answer is read from;
        * ``first.position``, (B,): the position of a string's first symbol.
        """
        ...
