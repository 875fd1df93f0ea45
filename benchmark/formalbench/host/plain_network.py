"""Wraps a network of a plain class as a backbone; its traits are found by trying it on a few ids.

Legend: B strings, N symbols, D width of a state.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Traits

if TYPE_CHECKING:
    from formalbench.contracts.network import Batch
    from formalbench.contracts.task import Task

TRIED = (2, 8)
"""B and N of the ids on which a network is tried."""

NOISE = 0.1
"""Standard deviation of noise added to weights before testing dependence on symbols, because many
networks initialise the weights that mix symbols with zero."""


class PlainNetwork(nn.Module):
    """A backbone around a network whose `forward(ids)` returns states.

    It counts as causal if no state changed with a later symbol, and as usable under
    `torch.func.vmap` if its gradients could be computed there.

    Raises:
        RequestError: if the result is not (B, N, D).
    """

    def __init__(self, network: nn.Module, task: Task) -> None:
        super().__init__()
        self.network = network
        ids_BN = (torch.arange(TRIED[0] * TRIED[1]).reshape(TRIED) * 7) % len(task.alphabet)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            trial = copy.deepcopy(network)
            width, ids_BN = _width(trial, ids_BN)
            causal, vmap = _causal(trial, ids_BN, len(task.alphabet)), _vmap(trial, ids_BN)
        self.traits = Traits(backbone=width, causal=causal, vmap=vmap, width=width)

    def forward(self, batch: Batch) -> Tensor:
        """Return states (B, N, D)."""
        states: Tensor = self.network(batch.symbols)
        expected = (*batch.symbols.shape, self.traits.backbone)
        if tuple(states.shape) != expected:
            raise RequestError(_shape_error(self.network, batch.symbols, states, expected))
        return states


def _shape_error(network: nn.Module, ids_BN: Tensor, output: object, expected: object) -> str:
    actual = f"a {type(output).__name__}"
    if isinstance(output, Tensor):
        actual = f"{tuple(output.shape)} of {output.dtype}"
    shape = str(expected).replace("'", "")
    return (
        f"{type(network).__name__}.forward: expected states (B, N, D) = {shape} for ids "
        f"{tuple(ids_BN.shape)}, got {actual}"
    )


def _width(network: nn.Module, ids_BN: Tensor) -> tuple[int, Tensor]:
    """Return D, and the ids on the network's device."""
    network.eval()
    try:
        states = network(ids_BN)
    except Exception:
        if not torch.cuda.is_available():
            raise
        network.cuda()  # its kernels may need a GPU
        ids_BN = ids_BN.cuda()
        states = network(ids_BN)
    valid = isinstance(states, Tensor) and states.ndim == 3 and states.is_floating_point()
    if not valid or states.shape[:2] != ids_BN.shape:
        raise RequestError(_shape_error(network, ids_BN, states, (*ids_BN.shape, "D")))
    return states.shape[2], ids_BN


def _causal(network: nn.Module, ids_BN: Tensor, symbols: int) -> bool:
    """Return whether no state changed with a symbol behind it, the weights being any."""
    weights = {name: value + NOISE * torch.randn_like(value) for name, value in _floats(network)}

    def states(ids: Tensor) -> Tensor:
        output: Tensor = torch.func.functional_call(network, weights, (ids,))
        return output[:, :-1]

    changed_BN = ids_BN.clone()
    changed_BN[:, -1] = (changed_BN[:, -1] + 1) % symbols
    with torch.no_grad():
        return torch.allclose(states(ids_BN), states(changed_BN), rtol=1e-4, atol=1e-5)


def _vmap(network: nn.Module, ids_BN: Tensor) -> bool:
    """Return whether states and gradients of two networks can be computed as one program."""
    network.train()  # in training mode, because dropout does not run under vmap
    weights = {name: torch.stack((value, value)) for name, value in _floats(network)}

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        states: Tensor = torch.func.functional_call(network, parameters, (ids_BN,))
        return states.square().mean()

    gradient: Callable[..., Any] = torch.func.grad(loss)
    try:
        with warnings.catch_warnings():  # torch warns about an operation that it runs run by run
            warnings.filterwarnings("error", "There is a performance drop")
            torch.func.vmap(loss)(weights)
            torch.func.vmap(gradient)(weights)
    except Exception:  # noqa: BLE001  # not fit for vmap: it trains run by run
        return False
    return True


def _floats(network: nn.Module) -> list[tuple[str, Tensor]]:
    """Return the parameters that can have gradients, by name."""
    parameters = network.named_parameters()
    return [(name, value.detach()) for name, value in parameters if value.is_floating_point()]
