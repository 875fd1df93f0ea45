"""The selected weights of a run, stored beside its record, and the network with these weights.

A file holds the network's parameters and persistent buffers, each with its name and in its own
precision. The format is safetensors, which contains no code. The record has its SHA-256.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from formalbench.contracts.errors import RequestError
from formalbench.device import own_numerics
from formalbench.store.archive import MAX_BYTES, read_weights

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, Record
    from formalbench.host import PluginHost
    from formalbench.running.remote_network import NetworkQuestion

MAX_BUILT = 4 * MAX_BYTES
"""Maximum bytes that a network may register when built: weights, tied ones, fixed tables."""


def pack(network: nn.Module) -> bytes | None:
    """Return a network's weights as the contents of a safetensors file; None if too large.

    The same weights give the same bytes.
    """
    tensors = _weights(network)
    if sum(tensor.nbytes for tensor in tensors.values()) > MAX_BYTES:
        return None
    # Copies, since a recurrent network's parameters may be views of one block of memory.
    copies = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    packed: bytes = save(copies)
    return packed if len(packed) <= MAX_BYTES else None


def load_network(
    host: PluginHost, record: Record, path: Path, protocol: Protocol | None = None
) -> nn.Module:
    """Return the network that a run was tested with, on the CPU, ready for another test.

    The file is not trusted: it must have the hash in the record, and fit the network that the
    record's model builds here.

    Raises:
        RequestError: one line, if these are not the weights of this run, or do not fit.
        BrokenPluginError: if the model's factory fails.
    """
    packed = read_weights(record, path)
    return network_from(host, record, packed, str(path), protocol or record.protocol)


def network_from(
    host: PluginHost,
    run: Record | NetworkQuestion,
    packed: bytes,
    origin: str,
    protocol: Protocol,
) -> nn.Module:
    """Return the network of a run from the contents of its weights file; see `load_network`."""
    _check_version(host, run.model, origin)
    # Tensors that the file does not hold keep their values from before training.
    with own_numerics():  # as the run did: a caller's default dtype would change the network
        network = build_network(host, run, protocol)
    try:
        tensors: dict[str, Tensor] = load(packed)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise RequestError(f"{origin}: not a safetensors file: {reason}") from None
    places = _weights(network)
    _check_fit(places, tensors, f"{origin}: not the weights of {run.model.name}")
    with torch.no_grad():
        for name, place in places.items():
            place.copy_(tensors[name])
    return network.eval()


def build_network(
    host: PluginHost, run: Record | NetworkQuestion, protocol: Protocol | None
) -> nn.Module:
    """Return the network of a run as it is before training, on the CPU."""
    task = host.task(run.task.name, run.task.options)
    if protocol is not None:
        task = protocol.apply(task)
    with torch.random.fork_rng(devices=[]), bounded(run.model.name):
        torch.manual_seed(run.seed)
        network: nn.Module = host.network(run.model.name, task, run.model.options)
    return network


@contextlib.contextmanager
def bounded(what: str) -> Iterator[None]:
    """Stop building a network when it registers more bytes than stored weights can have.

    The size that a record's options lead to is known only when the network is built. Layers
    register their tensors before they fill them, so a tensor that is too large uses no memory yet.

    Raises:
        RequestError: one line, if the network is too large.
    """
    total = 0

    def count(module: nn.Module, name: str, tensor: Tensor | None) -> None:
        nonlocal total
        total += 0 if tensor is None else tensor.nbytes
        if total > MAX_BUILT:
            raise RequestError(f"{what} as the record has it is larger than weights can be")

    hooks = [
        register_module_parameter_registration_hook(count),
        register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _weights(network: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a weights file, by name; tied tensors have their first name."""
    persistent = network.state_dict().keys()
    buffers = {name: b for name, b in network.named_buffers() if name in persistent}
    return {**dict(network.named_parameters()), **buffers}


def _check_version(host: PluginHost, model: ModelUsed, origin: str) -> None:
    """Refuse weights of another model version, in which they may have another meaning."""
    entry, _ = host.models.get(model.name)
    if entry.spec.version != model.version:
        raise RequestError(
            f"{origin}: weights of version {model.version} of {model.name}, "
            f"which is at version {entry.spec.version} here"
        )


def _check_fit(places: Mapping[str, Tensor], tensors: Mapping[str, Tensor], what: str) -> None:
    if missing := [name for name in places if name not in tensors]:
        raise RequestError(f"{what}: {missing[0]} is missing")
    if extra := sorted(name for name in tensors if name not in places):
        raise RequestError(f"{what}: it has no {extra[0]!r:.100}")
    for name, place in places.items():
        if (actual := _form(tensors[name])) != (expected := _form(place)):
            raise RequestError(f"{what}: {name} is {actual}, not {expected}")


def _form(tensor: Tensor) -> str:
    """Return a tensor's element type and shape, as ``float32 (3, 4)``."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
