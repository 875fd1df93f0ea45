"""From a task and a config to a network: the factories of the exact models."""

from __future__ import annotations

from dataclasses import replace

from formalbench import RequestError, Task

from formalbench_models.constructions import chiang_cholak
from formalbench_models.constructions.configs import (
    BuiltAs,
    ExactDyckConfig,
    ExactFirstConfig,
    ExactParityConfig,
    FfnnParityConfig,
    FlawedFirstConfig,
    has_norm,
)
from formalbench_models.constructions.dyck_slides import dyck
from formalbench_models.constructions.loading import as_transformer
from formalbench_models.constructions.network import HandWritten
from formalbench_models.constructions.rumelhart import ParityFFNN
from formalbench_models.constructions.transforms import (
    with_cross_entropy,
    with_layer_norm,
    with_steeper_output,
    with_value_entry,
)
from formalbench_models.constructions.vocabulary import Construction
from formalbench_models.transformer import Transformer


def check_task(model: str, task: Task, language: str) -> None:
    """Refuse a task that a construction was not made for.

    Raises:
        RequestError: one line that names the right task.
    """
    if task.source_name != language:
        raise RequestError(f"{model} is made for {language}, not for {task.source_name}")


def ffnn_parity(task: Task, config: FfnnParityConfig) -> ParityFFNN:
    """Build the feed-forward network for strings of length n."""
    check_task("ffnn-parity", task, "parity")
    return ParityFFNN(task, config)


def exact_parity(task: Task, config: ExactParityConfig) -> HandWritten | Transformer:
    """Build the transformer for PARITY."""
    check_task("exact-parity", task, "parity")
    construction = normed(chiang_cholak.parity(config.c), config)
    if config.value_6_2 != 1.0:
        entry = ("k/n", "is 1")
        construction = with_value_entry(construction, 1, "count", entry, config.value_6_2)
    return compiled(construction, task, config.network)


def exact_first(task: Task, config: ExactFirstConfig) -> HandWritten | Transformer:
    """Build the transformer for FIRST."""
    check_task("exact-first", task, "first")
    construction = chiang_cholak.first(config.c, log_length=config.log_length)
    if config.log_length and config.eta:
        construction = _proposition_3(construction, config)
    else:
        construction = normed(construction, config)
    return compiled(construction, task, config.network)


def flawed_first(task: Task, config: FlawedFirstConfig) -> HandWritten | Transformer:
    """Build the flawed transformer for FIRST."""
    check_task("flawed-first", task, "first")
    construction = chiang_cholak.flawed_first(config.c, log_length=config.log_length)
    return compiled(construction, task, config.network)


def exact_dyck_1(task: Task, config: ExactDyckConfig, *, D: int | None = None) -> HandWritten:
    """Build the recogniser of Dyck-1, of depth at most D if given."""
    bound = "" if D is None else f"-{D}"
    model = f"exact-dyck-1{bound}"
    if D == 0:
        raise RequestError(f"{model}: the depth must be at least 1, as in exact-dyck-1-1")
    check_task(model, task, f"dyck-1{bound}")
    return HandWritten(normed(dyck(D), config), task.alphabet)


def normed(
    construction: Construction, config: ExactParityConfig | ExactFirstConfig | ExactDyckConfig
) -> Construction:
    """Add layer norm and the layer of Proposition 2, as far as they are asked for."""
    if has_norm(config.norm, config.eps):
        construction = with_layer_norm(construction, config.eps)
    return with_cross_entropy(construction, config.eta) if config.eta else construction


def _proposition_3(construction: Construction, config: ExactFirstConfig) -> Construction:
    """Return FIRST with log-length attention and the cross-entropy η, with or without layer norm.

    Without it |s| > 1/4, with it |s| > (5/24 + ε)^(-1/2) / 4, whatever the length.
    """
    if has_norm(config.norm, config.eps):
        construction = with_layer_norm(construction, config.eps)
        return with_steeper_output(construction, config.eta, (5 / 24 + config.eps) ** -0.5 / 4)
    return with_steeper_output(construction, config.eta, 1 / 4)


def compiled(construction: Construction, task: Task, network: BuiltAs) -> HandWritten | Transformer:
    """Return a construction as a network of its own, or as the one that is trained."""
    if network == "hand-written":
        return HandWritten(construction, task.alphabet)
    loaded = as_transformer(construction, task)
    loaded.traits = replace(
        construction.traits,
        causal=False,
        padding=loaded.traits.padding,
        symbol_embedding=loaded.traits.symbol_embedding,
    )
    return loaded
