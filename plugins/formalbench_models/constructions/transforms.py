"""What can be done to any construction.

Source: Chiang & Cholak, "Overcoming a theoretical limitation of self-attention" (2022), §3.1
(layer norm without recentring) and §3.2, Proposition 2 (a wanted cross-entropy).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from formalbench_models.constructions.gates import clear_gate, copy_gate
from formalbench_models.constructions.vocabulary import (
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
    Position,
    times,
)


def negative(coordinate: str) -> str:
    """Return the name of the coordinate that holds minus another."""
    return f"-{coordinate}"


def doubled(form: Form) -> Form:
    """Return what is written to x, and its negative to -x."""
    return {**form, **{negative(name): -factor for name, factor in form.items()}}


def with_layer_norm(construction: Construction, epsilon: float) -> Construction:
    """Let every activation be (x, -x), and put a layer norm behind every residual connection.

    The mean of (x, -x) is zero, so layer norm only scales it. The decision stays the same if the
    construction does not mind that each position's activations are multiplied by a positive
    number of its own; in particular it must use no constants. (The paper prints the input as
    (x, 0); it must be (x, -x).)

    Args:
        construction: without layer norm.
        epsilon: ε, 0 or more; with ε = 0 the layer norm of zero is zero.
    """
    if construction.norm is not None:
        raise ValueError("this construction has layer norm already")
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
    check_eta(eta)
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
    check_eta(eta)
    steeper = tuple(times(saturation(eta) / least, each) for each in construction.logits)
    constants = {**construction.constants, "eta": eta}
    return replace(construction, logits=steeper, constants=constants)


def saturation(eta: float) -> float:
    """Return the logit at which the cross-entropy is η nats: -log(exp η - 1)."""
    return -math.log(math.expm1(eta))


def check_eta(eta: float) -> None:
    """Refuse an η that no logit of the right sign has."""
    if not 0 < eta < math.log(2):
        raise ValueError(f"eta must be between 0 and ln 2 nats, not {eta}")


def with_value_entry(
    construction: Construction, layer: int, head: str, entry: tuple[str, str], value: float
) -> Construction:
    """Change one entry of a head's value matrix, and nothing else.

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
