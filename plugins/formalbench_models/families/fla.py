"""Networks of flash-linear-attention, from a config and with fresh weights.

Source: Yang & Zhang (2024), FLA: a Triton-based library for hardware-efficient implementations of
linear attention mechanism. Its kernels are written in Triton and need a GPU; with the environment
variable TRITON_INTERPRET=1 Triton computes them in Python, far slower.
"""

from __future__ import annotations

import os

import torch
from formalbench import RequestError, Task
from formalbench.contracts.errors import need_package, unknown
from formalbench.host.plain_network import PlainNetwork
from torch import nn

from formalbench_models.catalogue.hf import FlaConfig
from formalbench_models.families.hf import EVERY, Sizes, built, config_fields

SIZES: Sizes = {
    **{name: size for name, size in EVERY.items() if name != "intermediate_size"},
    "num_heads": lambda ours: ours.heads,
}
"""Names of our sizes; an MLP has the library's default size for a width."""


def build_fla(task: Task, config: FlaConfig) -> PlainNetwork:
    """Build the network for a task.

    Raises:
        RequestError: if the library or a GPU is missing, for a layer or a field that the library
            does not have, or a network that cannot be built or gives no state for each symbol.
    """
    name = f"fla[layer={config.layer}]"
    for package in ("fla", "fla.models", "triton"):
        need_package(name, package, "fla")
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise RequestError(f"{name} needs a GPU: its kernels are written in Triton")
    from fla import models

    configs = (getattr(models, one) for one in models.__all__ if one.endswith("Config"))
    kinds = {kind.model_type: kind for kind in configs}
    if config.layer not in kinds:
        raise unknown("layer of fla", config.layer, kinds, name)
    kind = kinds[config.layer]

    def build() -> nn.Module:
        fields = config_fields(task, config, config.layer, SIZES, kind)
        network: nn.Module = getattr(models, kind.__name__.replace("Config", "Model"))(
            kind(**fields)
        )
        return network

    return built(name, task, build)
