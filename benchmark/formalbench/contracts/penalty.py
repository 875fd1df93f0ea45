"""A penalty: a term that a protocol adds to the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Penalty(ABC):
    """A term of the loss that is no judgement of answers; the protocol says its weight.

    The loss of a step is the objective's, plus the weight times the term of each penalty, averaged
    over the batches of the step. A run in which it is not finite has diverged.

    Attributes:
        traced: whether `term` is given a trace. That costs a second forward pass at every step, and
            only networks with a method ``trace`` can be trained under it.

    Example:
        >>> class SquaredLogits(Penalty):
        ...     def term(self, logits, trace, parameters):
        ...         return logits.square().mean()
    """

    traced: bool = False

    @abstractmethod
    def term(
        self, logits: Tensor, trace: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """Return the term for some strings, a scalar through which gradients flow.

        It runs under `torch.func.vmap`, too, with one run's tensors at a time.

        Args:
            logits: of the strings, in the objective's layout; those of answers that do not count
                are among them.
            trace: of the network on these strings, by name; empty unless `traced`.
            parameters: all that is trained, by name.
        """


class Weighted(NamedTuple):
    """A penalty as a protocol names it."""

    name: str
    weight: float
    penalty: Penalty
