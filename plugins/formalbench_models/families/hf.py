"""Networks of transformers and flash-linear-attention, from a config and with fresh weights.

Sources: Wolf et al. (2020), Transformers: state-of-the-art natural language processing; Yang &
Zhang (2024), FLA: a Triton-based library for hardware-efficient implementations of linear attention
mechanism. Nothing is downloaded. The first library's `AutoModel` gives the last hidden states;
`SIZES` says what our options are called in its configs. The second one's kernels are written in
Triton and need a GPU; with the environment variable TRITON_INTERPRET=1 Triton computes them in
Python, far slower.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
import yaml
from formalbench import RequestError, Task
from formalbench.contracts.errors import need_package, unknown
from formalbench.host.plain_network import PlainNetwork
from torch import Tensor, nn

from formalbench_models.catalogue.hf import FlaConfig, HfConfig

Sizes = Mapping[str, Callable[[Any], Any]]

EVERY: Sizes = {
    "hidden_size": lambda ours: ours.width,
    "num_hidden_layers": lambda ours: ours.layers,
    "num_attention_heads": lambda ours: ours.heads,
    "num_key_value_heads": lambda ours: ours.heads,
    "head_dim": lambda ours: ours.width // ours.heads,
    "intermediate_size": lambda ours: 4 * ours.width,
    "bos_token_id": lambda ours: None,
    "eos_token_id": lambda ours: None,
    "pad_token_id": lambda ours: None,  # otherwise a symbol would have no embedding
    "use_cache": lambda ours: False,
}
"""Names of our sizes in most configs; missing ones are omitted."""

EAGER = {"attn_implementation": "eager", "experts_implementation": "eager"}
"""Settings that allow vmap and every precision."""

SIZES: Mapping[str, Sizes] = {
    "mamba": {
        "intermediate_size": lambda ours: 2 * ours.width,
        "time_step_rank": lambda ours: -(-ours.width // 16),
    },
    "mamba2": {
        "num_heads": lambda ours: ours.heads,
        "head_dim": lambda ours: 2 * ours.width // ours.heads,
        "n_groups": lambda ours: 1,
        "state_size": lambda ours: 16,
        "chunk_size": lambda ours: 16,
        "time_step_rank": lambda ours: -(-ours.width // 16),
    },
    "recurrent_gemma": {"lru_width": lambda ours: ours.width},
    "bamba": {
        "mamba_n_heads": lambda ours: ours.heads,
        "mamba_d_head": lambda ours: 2 * ours.width // ours.heads,
        "mamba_d_state": lambda ours: 16,
        "mamba_chunk_size": lambda ours: 16,
        "attn_layer_indices": lambda ours: [*range(1, ours.layers, 2)],
    },
    "jamba": {
        "num_experts": lambda ours: 2,
        "attn_layer_period": lambda ours: 2,
        "attn_layer_offset": lambda ours: 1,
        "mamba_dt_rank": lambda ours: -(-ours.width // 16),
        "use_mamba_kernels": lambda ours: False,
    },
    "lfm2": {
        "full_attn_idxs": lambda ours: [*range(1, ours.layers, 2)],
        "layer_types": lambda ours: [("conv", "full_attention")[i % 2] for i in range(ours.layers)],
        "block_multiple_of": lambda ours: 1,
    },
    "rwkv": {
        "attention_hidden_size": lambda ours: ours.width,
        "rescale_every": lambda ours: 0,  # it halves weights in place when evaluation begins
    },
}
"""Other names of sizes by architecture, and settings for small networks."""


class HfStates(nn.Module):
    """A network of transformers that returns its last hidden states.

    Args:
        network: a network from `AutoModel`.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids_BN: Tensor) -> Tensor:
        """Return states (B, N, W) of ids (B, N)."""
        states_BNW: Tensor = self.network(input_ids=ids_BN).last_hidden_state
        return states_BNW


def build_hf(task: Task, config: HfConfig) -> PlainNetwork:
    """Build the network for a task.

    Raises:
        RequestError: for an architecture or a field that the library does not have, or a network
            that cannot be built or gives no state for each symbol.
    """
    name = f"hf[architecture={config.architecture}]"
    need_package(name, "transformers", "hf")
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if config.architecture not in CONFIG_MAPPING_NAMES:
        raise unknown("architecture of hf", config.architecture, CONFIG_MAPPING_NAMES, name)
    # Not the library's own table, which other imported packages may change.
    kind = getattr(transformers, CONFIG_MAPPING_NAMES[config.architecture])
    sizes = {**EVERY, **SIZES.get(config.architecture, {})}

    def build() -> nn.Module:
        fields = config_fields(task, config, config.architecture, sizes, kind)
        network: nn.Module = transformers.AutoModel.from_config(kind(**fields), **EAGER)
        return network

    return built(name, task, build)


FLA_SIZES: Sizes = {
    **{name: size for name, size in EVERY.items() if name != "intermediate_size"},
    "num_heads": lambda ours: ours.heads,
}
"""Names of our sizes in configs of fla; an MLP has the library's default size for a width."""


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
        fields = config_fields(task, config, config.layer, FLA_SIZES, kind)
        model = getattr(models, kind.__name__.replace("Config", "Model"))
        network: nn.Module = model(kind(**fields))
        return network

    return built(name, task, build)


def built(name: str, task: Task, build: Callable[[], nn.Module]) -> PlainNetwork:
    """Build a network that answers as those of transformers do, without warnings.

    Raises:
        RequestError: one line, if it cannot be built, or gives no state for each symbol.
    """
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # long warnings about kernels that are not installed
    try:
        return PlainNetwork(HfStates(build()), task)
    except RequestError:
        raise
    except Exception as error:
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise RequestError(f"{name} cannot be built with these options: {problem:.300}") from error
    finally:
        logging.set_verbosity(level)


def config_fields(
    task: Task, config: HfConfig | FlaConfig, architecture: str, sizes: Sizes, kind: Any
) -> dict[str, Any]:
    """Return settings of a library's config: sizes, no dropout, and the user's fields.

    `sizes` says what our sizes are called there; those that the class `kind` lacks are left out.

    Raises:
        RequestError: for a field that it does not have.
    """
    defaults = kind().to_dict() | dict(kind.attribute_map)
    fields = {name: size(config) for name, size in sizes.items() if name in defaults}
    longest = max(task.splits.train[1], task.splits.test[1], 64)
    fields |= {"vocab_size": len(task.alphabet)}
    fields |= {"max_position_embeddings": longest} if "max_position_embeddings" in defaults else {}
    fields |= {"context_length": longest} if "context_length" in defaults else {}
    fields |= {name: 0.0 for name, value in defaults.items() if "drop" in name and value == 0.1}
    for pair in filter(None, config.config.split(";")):
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or name not in defaults:
            raise unknown(f"field of the config of {architecture}", name, defaults)
        items = [yaml.safe_load(item) for item in text.split("+")]
        listed = len(items) > 1 or isinstance(defaults[name], list)
        fields[name] = items if listed else items[0]
    return fields
