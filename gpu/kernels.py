"""The core of linear recurrences against flash-linear-attention's kernels, in bf16 at T = 2,048.

Both get the same numbers and go forward and backward. Theirs is a package of its own (`fla`), which
needs a GPU; a kernel that will not run is a line that says why.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import torch
from formalbench_models.layers.matrix_memory import Steps, remember
from torch import Tensor
from torch.nn import functional

BATCH, HEADS, LENGTH, SIZE = 32, 4, 2048, 64
CHUNK = 32
DTYPE = torch.bfloat16

Make = Callable[[Callable[..., Tensor]], tuple[Steps, dict[str, Tensor], float]]


class Kernel(NamedTuple):
    """A published kernel and what it is given.

    Attributes:
        place: its module, and its name there.
        make: returns our steps, its arguments, and what no decay is below, from a way to draw.
    """

    place: tuple[str, str]
    make: Make


def _plain(draw: Callable[..., Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    return draw(SIZE), functional.normalize(draw(SIZE), dim=-1), draw(SIZE)


def _simple(draw: Callable[..., Tensor]) -> tuple[Steps, dict[str, Tensor], float]:
    query, key, value = _plain(draw)
    logs = functional.logsigmoid(draw(1) + 3)
    return Steps(query, key, value, logs.exp()), _named(query, key, value, g=logs[..., 0]), 0.0


def _rows(draw: Callable[..., Tensor]) -> tuple[Steps, dict[str, Tensor], float]:
    query, key, value = _plain(draw)
    logs = functional.logsigmoid(draw(SIZE)) / 16
    return Steps(query, key, value, logs.exp()), _named(query, key, value, g=logs), 0.0067


def _delta(draw: Callable[..., Tensor]) -> tuple[Steps, dict[str, Tensor], float]:
    query, key, value = _plain(draw)
    rate = draw(1).sigmoid()
    steps = Steps(query, rate * key, value, None, -rate * key, key)
    return steps, _named(query, key, value, beta=rate[..., 0]), 0.0


def _gated_delta(draw: Callable[..., Tensor]) -> tuple[Steps, dict[str, Tensor], float]:
    query, key, value = _plain(draw)
    rate, logs = draw(1).sigmoid(), functional.logsigmoid(draw(1) + 3)
    steps = Steps(query, rate * key, value, logs.exp(), -rate * logs.exp() * key, key)
    return steps, _named(query, key, value, beta=rate[..., 0], g=logs[..., 0]), 0.0


def _low_rank(draw: Callable[..., Tensor]) -> tuple[Steps, dict[str, Tensor], float]:
    query, key, value = _plain(draw)
    read = functional.normalize(draw(SIZE), dim=-1)
    write, logs = -read * draw(SIZE).sigmoid(), -0.6065 * draw(SIZE).sigmoid()
    steps = Steps(query, key, value, logs.exp(), write, read)
    return steps, _named(query, key, value, a=read, b=write, gk=logs), 0.54


def _named(query: Tensor, key: Tensor, value: Tensor, **more: Tensor) -> dict[str, Tensor]:
    return {"q": query, "k": key, "v": value, **more}


KERNELS = {
    "deltanet": Kernel(("fla.ops.delta_rule", "chunk_delta_rule"), _delta),
    "gated-deltanet": Kernel(("fla.ops.gated_delta_rule", "chunk_gated_delta_rule"), _gated_delta),
    "gla": Kernel(("fla.ops.gla", "chunk_gla"), _rows),
    "mamba-2": Kernel(("fla.ops.simple_gla", "chunk_simple_gla"), _simple),
    "rwkv-7": Kernel(("fla.ops.generalized_delta_rule", "chunk_dplr_delta_rule"), _low_rank),
}


class Contest(NamedTuple):
    """Both programs, on the same numbers.

    Attributes:
        ours: goes forward and backward, and returns the answers, (B, H, T, V).
        theirs: the same; None if it is not installed.
        why: it is not here.
    """

    ours: Callable[[], Tensor]
    theirs: Callable[[], Tensor] | None
    why: str = ""


def contest(name: str, device: str, length: int = LENGTH, batch: int = BATCH) -> Contest:
    """Return a family's core and the kernel for it."""
    torch.manual_seed(0)
    kernel = KERNELS[name]

    def draw(size: int) -> Tensor:
        return torch.randn(batch, HEADS, length, size, device=device, dtype=DTYPE)

    steps, given, least = kernel.make(draw)
    leaves = [part.detach().requires_grad_() for part in steps if part is not None]

    def ours() -> Tensor:
        parts = iter(leaves)
        again = Steps._make(None if part is None else next(parts) for part in steps)
        answers, _ = remember(again, None, CHUNK, least=least)
        return _back(answers * SIZE**-0.5)

    try:
        function: Any = getattr(import_module(kernel.place[0]), kernel.place[1])
    except Exception as error:  # noqa: BLE001  another's package, on a machine nobody has seen
        return Contest(ours, None, f"{type(error).__name__}: {error}")
    turned = {key: part.transpose(1, 2).detach().requires_grad_() for key, part in given.items()}

    def theirs() -> Tensor:
        return _back(function(**turned)[0].transpose(1, 2))

    return Contest(ours, theirs)


def _back(answers: Tensor) -> Tensor:
    answers.float().square().mean().backward()
    return answers.detach()
