"""A construction in the network class that is trained.

Source of the idea: Chiang & Cholak (2022), §4.1 and Figure 3: start from the exact solution,
perturb it, and train.

Legend: D width, H heads, E = D/H width of a head, P position codes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from formalbench import Task
from torch import Tensor

from formalbench_models.configs.transformer import Positions, TransformerConfig
from formalbench_models.constructions.codes import alternating, fraction, is_first_symbol
from formalbench_models.constructions.linear import Linear
from formalbench_models.constructions.network import FeedForwardLayer
from formalbench_models.constructions.vocabulary import Code, Construction, Form, Head, Layer, times
from formalbench_models.transformer import Transformer

_POSITIONS: Mapping[tuple[Code, ...], Positions] = {
    (): "none",
    (is_first_symbol,): "first",
    (fraction, alternating): "parity",
}

State = dict[str, Tensor]
Place = Mapping[str, int]


def as_transformer(construction: Construction, task: Task) -> Transformer:
    """Return a `Transformer` (post-LN, ReLU) with a construction's weights, in fp64.

    A width that the heads do not divide gets unused coordinates, as in the published code. With
    ε > 0 its layer norm is the library's, whose mean of (x, -x) is a rounding error: then the empty
    string's logit is such an error too, and not 0.

    Args:
        construction: with CLS in front and read there, soft attention without masks, one
            feed-forward network a layer.
        task: what it was made for.

    Raises:
        ValueError: if the Transformer cannot be that.
    """
    _check(construction)
    heads = max(1, *(len(layer.heads) for layer in construction.layers))
    construction = _widened(construction, heads)
    log_length = any(head.log_length for layer in construction.layers for head in layer.heads)
    hidden = max(1, *(len(layer.feed_forwards[0].units) for layer in construction.layers))
    config = TransformerConfig(
        positions=_POSITIONS[tuple(position.code for position in construction.positions)],
        log_length=log_length,
        width=len(construction.coordinates),
        heads=heads,
        layers=len(construction.layers),
        causal=False,
        feed_forward=1,
        norm="none" if construction.norm is None else "post",
        activation="relu",
        eps=construction.norm or 0.0,
        hidden=hidden,
    )
    network = Transformer(task, config).double()
    network.load_state_dict(_state(construction, task.alphabet, network, heads))
    return network


def _check(construction: Construction) -> None:
    heads = [head for layer in construction.layers for head in layer.heads]
    networks = [network for layer in construction.layers for network in layer.feed_forwards]
    possible = (
        construction.begin
        and not construction.end
        and construction.read == "first"
        and all(head.attention == "soft" and head.mask == "none" for head in heads)
        and len({head.log_length for head in heads if head.query}) <= 1
        and not any(callable(head.scale) for head in heads)
        and all(len(layer.feed_forwards) == 1 for layer in construction.layers)
        and all(network.norm is None and not network.replaces for network in networks)
        and tuple(position.code for position in construction.positions) in _POSITIONS
    )
    if not possible:
        raise ValueError("this construction is not a Transformer of the kind that is trained")


def _widened(construction: Construction, heads: int) -> Construction:
    """Add unused coordinates until the heads divide the width and can hold what they do."""
    every = [head for layer in construction.layers for head in layer.heads]
    needed = heads * max((max(len(h.query), len(h.values)) for h in every), default=1)
    width = max(len(construction.coordinates), needed)
    missing = -(-width // heads) * heads - len(construction.coordinates)
    if missing and construction.norm is not None:
        raise ValueError("unused coordinates would change what layer norm does")
    unused = tuple(f"unused.{index}" for index in range(missing))
    return replace(construction, coordinates=construction.coordinates + unused)


def _state(
    construction: Construction, alphabet: Sequence[str], network: Transformer, heads: int
) -> State:
    """Return all weights, by their names in a `Transformer`."""
    place = {name: index for index, name in enumerate(construction.coordinates)}
    share = len(place) // heads
    state = {name: torch.zeros_like(old) for name, old in network.state_dict().items()}
    for name in state:
        if "norm" in name and name.endswith("weight"):
            state[name] += 1.0
    rows = [construction.symbols[symbol] for symbol in (*alphabet, construction.begin)]
    state["embedding.symbol.weight"] = Linear.of(rows, place).weight.detach()
    if construction.positions:
        writes = [position.writes for position in construction.positions]
        state["embedding.place_PD"] = Linear.of(writes, place).weight.detach()
    if "embedding.scale_P" in state:
        state["embedding.scale_P"] += 1.0
    for index, layer in enumerate(construction.layers):
        _write_layer(state, f"blocks.{index}.", layer, place)
        for number, head in enumerate(layer.heads):
            prefix = f"blocks.{index}.attention."
            _write_head(state, prefix, head, number * share, share, place)
    readout = Linear.of(construction.logits, place)
    state["readout.weight"], state["readout.bias"] = readout.weight.detach(), readout.bias.detach()
    return state


def _write_layer(state: State, prefix: str, layer: Layer, place: Place) -> None:
    """Write the feed-forward network; hidden units it lacks stay zero."""
    (written,) = layer.feed_forwards
    network = FeedForwardLayer(written, place)
    units = len(written.units)
    state[f"{prefix}feed_forward.up.weight"][:units] = network.up.weight.detach()
    state[f"{prefix}feed_forward.up.bias"][:units] = network.up.bias.detach()
    state[f"{prefix}feed_forward.down.weight"][:, :units] = network.down.weight.detach()
    state[f"{prefix}feed_forward.down.bias"][:] = network.down.bias.detach()


def _write_head(
    state: State, prefix: str, head: Head, start: int, share: int, place: Place
) -> None:
    """Write a head into its E rows of queries, keys and values, and its columns of the merge.

    Args:
        state: where to.
        prefix: of the attention's names.
        head: what it does.
        start: its first row.
        share: E, by whose square root the Transformer divides its logits.
        place: the index of each coordinate.
    """
    assert not callable(head.scale)
    width, steeper = len(place), head.scale * math.sqrt(share)
    queries = [times(steeper, form) for form in head.query]
    _write_rows(state, f"{prefix}query", start, queries, place)
    _write_rows(state, f"{prefix}key_value", start, head.key, place)
    _write_rows(state, f"{prefix}key_value", width + start, list(head.values.values()), place)
    for column, name in enumerate(head.values, start):
        state[f"{prefix}merge_heads.weight"][place[name], column] = 1.0


def _write_rows(state: State, prefix: str, start: int, forms: Sequence[Form], place: Place) -> None:
    rows = Linear.of(forms, place)
    state[f"{prefix}.weight"][start : start + len(forms)] = rows.weight.detach()
    state[f"{prefix}.bias"][start : start + len(forms)] = rows.bias.detach()
