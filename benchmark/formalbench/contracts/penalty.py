"""Penalties: terms that a protocol adds to the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Penalty(ABC):
    """A term of the loss that does not depend on targets; the protocol sets its weight.

    The loss of a step is the objective's, plus the weight times the term of each penalty, averaged
    over the batches of the step. A run whose term is not finite has diverged.

    Attributes:
        traced: whether `term` gets a trace. This costs a second forward pass at every step, and
            requires networks with a method ``trace``.

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
        """Return the term for a batch of strings, a differentiable scalar.

        It must run under `torch.func.vmap`, which passes one run's tensors at a time.

        Args:
            logits: logits of the strings, in the objective's layout, including answers that are not
                scored.
            trace: tensors of the network's trace by name; empty unless `traced`.
            parameters: all trained parameters, by name.
        """


class Weighted(NamedTuple):
    """A penalty with its weight in a protocol."""

    name: str
    weight: float
    penalty: Penalty
