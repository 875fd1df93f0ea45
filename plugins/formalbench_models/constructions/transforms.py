"""A construction changed: layer norm, cross-entropy, one entry; and loaded into a Transformer.

Source: Chiang & Cholak, "Overcoming a theoretical limitation of self-attention" (2022), §3.1
(layer norm without recentring) and §3.2, Proposition 2 (a wanted cross-entropy).

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

from formalbench_models.catalogue.transformers import Positions, TransformerConfig
from formalbench_models.constructions.construction import (
    Code,
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
    Position,
    alternating,
    fraction,
    is_first_symbol,
    times,
)
from formalbench_models.constructions.gates import clear_gate, copy_gate
from formalbench_models.constructions.network import FeedForwardLayer, Linear
from formalbench_models.families.transformer import Transformer


def negative(coordinate: str) -> str:
    """Return the name of the coordinate that holds minus another."""
    return f"-{coordinate}"


def doubled(form: Form) -> Form:
    """Return what is written to x, and its negative to -x."""
    return {**form, **{negative(name): -factor for name, factor in form.items()}}


def with_layer_norm(construction: Construction, epsilon: float) -> Construction:
    """Replace activations by (x, -x) and add a layer norm after every residual connection.

    The mean of (x, -x) is zero, so layer norm only scales it. The decision stays the same if the
    construction does not mind that each position's activations are multiplied by a positive
    number of its own; in particular it must use no constants. (The paper prints the input as
    (x, 0); it must be (x, -x).)

    Args:
        construction: without layer norm.
        epsilon: ε, 0 or more; with ε = 0 the layer norm of zero is zero.
    """
    if construction.norm is not None:
        raise ValueError("this construction already has layer norm")
    return replace(
        construction,
        coordinates=(*construction.coordinates, *map(negative, construction.coordinates)),
        symbols={symbol: doubled(each) for symbol, each in construction.symbols.items()},
        positions=tuple(Position(p.code, doubled(p.writes)) for p in construction.positions),
        layers=tuple(_doubled_layer(layer) for layer in construction.layers),
        norm=epsilon,
        constants={**construction.constants, "eps": epsilon},
    )


def _doubled_layer(layer: Layer) -> Layer:
    return Layer(
        tuple(replace(head, values=_doubled_values(head.values)) for head in layer.heads),
        tuple(_doubled_feed_forward(network) for network in layer.feed_forwards),
    )


def _doubled_values(values: Mapping[str, Form]) -> dict[str, Form]:
    return {**values, **{negative(name): times(-1.0, each) for name, each in values.items()}}


def _doubled_feed_forward(network: FeedForward) -> FeedForward:
    return replace(
        network,
        units=tuple(HiddenUnit(unit.reads, doubled(unit.writes)) for unit in network.units),
        constants=doubled(network.constants),
        replaces=(*network.replaces, *map(negative, network.replaces)),
    )


def with_cross_entropy(construction: Construction, eta: float) -> Construction:
    """Add the layer of Proposition 2, after which the cross-entropy is η if ε = 0.

    The layer takes the stream to zero but for the old logit s and -s, so that layer norm makes
    them ±√(d/2); the new output layer multiplies that by -log(exp η - 1) / √(d/2). The paper puts
    s and -s into the first two of the d dimensions; here they have two of their own.

    Args:
        construction: a recogniser with layer norm.
        eta: η in nats, 0 < η < ln 2.
    """
    if construction.norm is None or construction.logits[0]:
        raise ValueError("Proposition 2 is about recognisers with layer norm and one logit")
    logit, minus = "logit", negative("logit")
    (_, old) = construction.logits
    layer = Layer(
        feed_forwards=(
            clear_gate(*construction.coordinates)
            + copy_gate(old, logit)
            + copy_gate(old, minus, -1),
        )
    )
    width = len(construction.coordinates) + 2
    half = len(construction.coordinates) // 2
    plus_half, minus_half = construction.coordinates[:half], construction.coordinates[half:]
    return replace(
        construction,
        coordinates=(*plus_half, logit, *minus_half, minus),
        layers=(*construction.layers, layer),
        logits=({}, {logit: saturation(eta) / math.sqrt(width / 2)}),
        constants={**construction.constants, "eta": eta},
    )


def with_steeper_output(construction: Construction, eta: float, least: float) -> Construction:
    """Multiply the logit, so that a construction whose |s| is at least `least` has entropy η.

    As in the proof of Proposition 3, where `least` does not depend on the length.
    """
    steeper = tuple(times(saturation(eta) / least, each) for each in construction.logits)
    constants = {**construction.constants, "eta": eta}
    return replace(construction, logits=steeper, constants=constants)


def saturation(eta: float) -> float:
    """Return the logit at which the cross-entropy is η nats, 0 < η < ln 2: -log(exp η - 1)."""
    return -math.log(math.expm1(eta))


def with_value_entry(
    construction: Construction, layer: int, head: str, entry: tuple[str, str], value: float
) -> Construction:
    """Change one entry of a head's value matrix.

    Args:
        construction: any.
        layer: from 1, as in papers.
        head: its name.
        entry: the coordinate written (the row) and the one read (the column).
        value: what the entry becomes.
    """
    written, read = entry

    def changed(old: Head) -> Head:
        values = {**old.values, written: {**old.values[written], read: value}}
        return replace(old, values=values)

    layers = list(construction.layers)
    heads = layers[layer - 1].heads
    if head not in {each.name for each in heads}:
        raise ValueError(f"layer {layer} has no head {head}")
    layers[layer - 1] = replace(
        layers[layer - 1], heads=tuple(changed(h) if h.name == head else h for h in heads)
    )
    return replace(construction, layers=tuple(layers))


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
        raise ValueError("this construction does not have the form of a trained transformer")


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
    """Return all weights by their names in a `Transformer`."""
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
    """Write the feed-forward network; unused hidden units stay zero."""
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

    `start` is the first row, `share` E, by whose square root the Transformer divides its logits.
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
