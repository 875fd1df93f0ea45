"""What a user of JAX would write: one jitted training step of an Elman network or an LSTM.

Cross-entropy of parity, the gradient clipped to norm 1, Adam; a `scan` over positions, what a
gate gets from a symbol looked up in a table. A program that takes turns; needs `jax` and NumPy.

Legend: N positions, B batch, W width, G gates times W, S symbols.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from turns import Line

SYMBOLS, CLASSES, BATCH = 2, 2, 128
RATE, FIRST, SECOND, TINY = 1e-3, 0.9, 0.999, 1e-8
GATES = {"rnn": 1, "lstm": 4}

Tree = dict[str, jax.Array]


def fresh(kind: str, width: int, seed: int = 0) -> Tree:
    """Return parameters, drawn as PyTorch would."""
    keys = jax.random.split(jax.random.PRNGKey(seed), 6)
    bound, gates = width**-0.5, GATES[kind] * width

    def uniform(key: jax.Array, *shape: int) -> jax.Array:
        return jax.random.uniform(key, shape, minval=-bound, maxval=bound)

    return {
        "embedding": jax.random.normal(keys[0], (SYMBOLS, width)),
        "inputs": uniform(keys[1], width, gates),
        "recurrent": uniform(keys[2], width, gates),
        "bias": uniform(keys[3], gates),
        "readout": uniform(keys[4], width, CLASSES),
        "readout_bias": uniform(keys[5], CLASSES),
    }


def last_state(
    kind: str, unroll: int, tree: Tree, symbols_BN: jax.Array, lengths_B: jax.Array | None
) -> jax.Array:
    """Return the state after the whole string, (B, W)."""
    width = tree["embedding"].shape[1]
    table_SG = tree["embedding"] @ tree["inputs"] + tree["bias"]
    x_NBG = table_SG[symbols_BN.T]
    zero_BW = jnp.zeros((symbols_BN.shape[0], width))

    def elman(state: Any, x_BG: jax.Array) -> Any:
        return (jnp.tanh(x_BG + state[0] @ tree["recurrent"]),)

    def lstm(state: Any, x_BG: jax.Array) -> Any:
        h_BW, c_BW = state
        i, f, g, o = jnp.split(x_BG + h_BW @ tree["recurrent"], 4, axis=-1)
        c_BW = jax.nn.sigmoid(f) * c_BW + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c_BW), c_BW

    step, start = (elman, (zero_BW,)) if kind == "rnn" else (lstm, (zero_BW, zero_BW))

    def move(state: Any, x: Any) -> Any:
        if lengths_B is None:
            return step(state, x), None
        x_BG, position = x
        inside = (position < lengths_B)[:, None]  # behind its end a string's state stays
        new = step(state, x_BG)
        return tuple(jnp.where(inside, n, s) for n, s in zip(new, state, strict=True)), None

    inputs = x_NBG if lengths_B is None else (x_NBG, jnp.arange(len(x_NBG)))
    (h_BW, *_), _ = jax.lax.scan(move, start, inputs, unroll=min(unroll, len(x_NBG)))
    return h_BW


def make_step(kind: str, unroll: int) -> Callable[..., Any]:
    """Return a jitted training step that has compiled nothing yet."""

    def loss(tree: Tree, symbols_BN: jax.Array, targets_B: jax.Array, lengths_B: Any) -> jax.Array:
        h_BW = last_state(kind, unroll, tree, symbols_BN, lengths_B)
        logits = jax.nn.log_softmax(h_BW @ tree["readout"] + tree["readout_bias"])
        return -jnp.take_along_axis(logits, targets_B[:, None], 1).mean()

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(
        tree: Tree, mean: Tree, square: Tree, count: float, symbols: Any, targets: Any, lengths: Any
    ) -> Any:
        value, gradient = jax.value_and_grad(loss)(tree, symbols, targets, lengths)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        gradient = jax.tree.map(lambda g: g * scale, gradient)
        mean = jax.tree.map(lambda m, g: FIRST * m + (1 - FIRST) * g, mean, gradient)
        square = jax.tree.map(lambda s, g: SECOND * s + (1 - SECOND) * g * g, square, gradient)
        mean_scale, square_scale = 1 - FIRST**count, 1 - SECOND**count

        def update(p: jax.Array, m: jax.Array, s: jax.Array) -> jax.Array:
            return p - RATE * (m / mean_scale) / (jnp.sqrt(s / square_scale) + TINY)

        return jax.tree.map(update, tree, mean, square), mean, square, value

    return step


class Training:
    """A network in training; its compiled steps are kept until a fresh one is asked for."""

    def __init__(self) -> None:
        self.step: Callable[..., Any] | None = None
        self.kept: tuple[Any, ...] = ()

    def train(
        self,
        kind: str,
        width: int,
        lengths: Sequence[int],
        *,
        unroll: int = 1,
        recompile: bool = False,
        padded: int | None = None,
    ) -> dict[str, Any]:
        """Train on strings of these lengths, one a step, and return the time.

        Args:
            kind: ``rnn`` or ``lstm``.
            width: of the state.
            lengths: of the strings of each step.
            unroll: positions per turn of the scan's loop.
            recompile: start with an empty compilation cache.
            padded: pad every batch to this length, so that there is but one program.
        """
        if recompile:
            jax.clear_caches()
            self.step = None
        start = time.perf_counter()
        if self.step is None or self.kept != (kind, width, unroll, padded):
            self.step, self.kept = make_step(kind, unroll), (kind, width, unroll, padded)
        rng = np.random.default_rng(0)
        tree = fresh(kind, width)
        mean, square = jax.tree.map(jnp.zeros_like, tree), jax.tree.map(jnp.zeros_like, tree)
        value = None
        for count, length in enumerate(lengths, start=1):
            symbols = np.zeros((BATCH, padded or length), dtype=np.int32)
            symbols[:, :length] = rng.integers(SYMBOLS, size=(BATCH, length), dtype=np.int32)
            targets = symbols.sum(1) % 2
            ends = np.full(BATCH, length, dtype=np.int32) if padded else None
            tree, mean, square, value = self.step(
                tree, mean, square, float(count), symbols, targets, ends
            )
        assert value is not None
        assert bool(jnp.isfinite(value))  # waits for it, too
        return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    Line().serve({"train": Training().train})
