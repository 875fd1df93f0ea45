"""What decides numbers and belongs to the process, where anybody can change it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@contextlib.contextmanager
def own_numerics() -> Iterator[None]:
    """Compute by torch's own defaults, whatever a plugin or a caller made them; then put back.

    They decide weights and are part of no identity, so a run must not depend on them.
    """
    import torch

    settings = _settings()
    before = [get() for get, _, _ in settings]
    device = torch.empty(0).device  # torch 2.8's get_default_device fails after None
    torch.set_default_device(None)
    try:
        for _, set_to, default in settings:
            set_to(default)
        yield
    finally:
        for (_, set_to, _), value in zip(settings, before, strict=True):
            set_to(value)
        if device.type != "cpu":
            torch.set_default_device(device)


Setting = tuple[Callable[[], Any], Callable[[Any], Any], Any]
"""How to get it, how to set it, and the library's default."""


def _settings() -> list[Setting]:
    import torch

    cudnn: Any = torch.backends.cudnn
    mkldnn: Any = torch.backends.mkldnn
    return [
        (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 0),
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
        (torch.is_grad_enabled, torch.set_grad_enabled, True),
        (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, False),
        (_flushes_denormals, torch.set_flush_denormal, False),
        *(_attribute(cudnn, "enabled", True), _attribute(mkldnn, "enabled", True)),
        *(_attribute(cudnn, "benchmark", False), _attribute(cudnn, "deterministic", False)),
    ]


def _attribute(owner: Any, name: str, default: Any) -> Setting:
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value), default


def _flushes_denormals() -> bool:
    import torch

    smallest: torch.Tensor = torch.tensor(1e-310, dtype=torch.float64, device="cpu")
    return bool(smallest * 1.0 == 0.0)
