"""The number formats of a protocol."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError

if TYPE_CHECKING:
    import torch

    from formalbench.contracts.protocol import Protocol


def check_precision(protocol: Protocol, device: str) -> None:
    """Refuse a precision that a device does not have.

    Raises:
        RequestError: one line.
    """
    if protocol.precision == "tf32" and not device.startswith("cuda"):
        raise RequestError(
            f"protocol {protocol.name}: precision tf32 needs a CUDA device; on a CPU use fp32"
        )


@contextlib.contextmanager
def multiplying(precision: str) -> Iterator[None]:
    """Let CUDA multiply fp32 matrices in TF32 (10 bits of mantissa), or forbid it."""
    import torch

    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [backend.allow_tf32 for backend in backends]
    try:
        for backend in backends:
            backend.allow_tf32 = precision == "tf32"  # cuDNN's default is to use it
        yield
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.allow_tf32 = value


def forward_in(precision: str, device: torch.device) -> contextlib.AbstractContextManager[object]:
    """Return the context for a forward pass: bf16 casts what autocast deems safe to cast.

    Parameters, their gradients and the optimiser stay in fp32, as do the logits' losses.
    """
    if precision == "bf16":
        import torch

        return torch.autocast(device.type, torch.bfloat16)
    return contextlib.nullcontext()
