"""How much each symbol of a string moves the answer: gradients with respect to its vector.

A network may look its symbols up however it likes (RegularGPT computes whole tables of chunks,
recurrent networks gather what a symbol gives straight into their gates), so that there is no
one place to hook into. Instead every position is given a symbol of its own, whose row in the
embedding is a copy of the old symbol's: what comes out is the same, and the gradient of a
position's row is that of its vector.

Legend: B strings, N symbols, V rows of the embedding, D width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

from formalbench.contracts.batch import Batch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import traits_of


def input_gradients(network: nn.Module, batch: Batch, answer: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the gradient of an answer with respect to the vector of every symbol, (B, N, D).

    Args:
        network: as it is tested; its parameters get no gradient.
        batch: the strings.
        answer: makes one number of the logits; a sum over strings, if each is to have its own.

    Raises:
        RequestError: if it has no embedding, or does not say which is that of symbols.
    """
    name, weight_VD = _embedding(network)
    symbols_BN = batch.symbols
    own = len(weight_VD) + torch.arange(symbols_BN.numel(), device=symbols_BN.device)
    rows_ND = weight_VD[symbols_BN.flatten()].requires_grad_()
    logits = functional_call(
        network,
        {name: torch.cat((weight_VD, rows_ND))},
        (batch._replace(symbols=own.view(symbols_BN.shape)),),
        tie_weights=False,  # a read-out that shares the embedding keeps its number of outputs
    )
    (gradient_ND,) = torch.autograd.grad(answer(logits), rows_ND)
    return gradient_ND.view(*symbols_BN.shape, weight_VD.shape[1])


def _embedding(network: nn.Module) -> tuple[str, Tensor]:
    """Return the name and the values of the matrix with a row per symbol."""
    told = traits_of(network).symbol_embedding
    found = {name: m for name, m in network.named_modules() if isinstance(m, nn.Embedding)}
    named = {name: m for name, m in found.items() if told in ("", name)}
    if len(named) != 1:
        raise RequestError(
            f"{type(network).__name__} has {len(found)} torch.nn.Embedding: its traits must name "
            "that of symbols (symbol_embedding)"
        )
    ((name, module),) = named.items()
    return f"{name}.weight", module.weight.detach()
