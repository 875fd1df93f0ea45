"""From a task and options to a network: the factories of the exact models."""

from __future__ import annotations

import math

from formalbench.contracts.errors import RequestError
from formalbench.contracts.task import Task

from formalbench_models.constructions import chiang_cholak
from formalbench_models.constructions.catalogue import EPSILON
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
    if task.language_name != language:
        raise RequestError(f"{model} is made for {language}, not for {task.language_name}")


def ffnn_parity(task: Task, *, n: int = 10) -> ParityFFNN:
    """Build the feed-forward network for strings of length n."""
    check_task("ffnn-parity", task, "parity")
    return ParityFFNN(n)


def exact_parity(
    task: Task,
    *,
    c: float = 1.0,
    norm: bool = False,
    eps: float = EPSILON,
    eta: float = 0.0,
    value_6_2: float = 1.0,
    network: str = "hand-written",
) -> HandWritten | Transformer:
    """Build the transformer for PARITY; `catalogue` says what the options mean."""
    check_task("exact-parity", task, "parity")
    construction = normed("exact-parity", chiang_cholak.parity(c), norm, eps, eta)
    if value_6_2 != 1.0:
        entry = ("k/n", "is 1")
        construction = with_value_entry(construction, 1, "count", entry, value_6_2)
    return compiled(construction, task, network)


def exact_first(
    task: Task,
    *,
    c: float = 1.0,
    log_length: bool = False,
    norm: bool = False,
    eps: float = EPSILON,
    eta: float = 0.0,
    network: str = "hand-written",
) -> HandWritten | Transformer:
    """Build the transformer for FIRST; `catalogue` says what the options mean."""
    check_task("exact-first", task, "first")
    construction = chiang_cholak.first(c, log_length=log_length)
    if log_length and eta:
        construction = _proposition_3(construction, c, norm or eps != EPSILON, eps, eta)
    else:
        construction = normed("exact-first", construction, norm, eps, eta)
    return compiled(construction, task, network)


def flawed_first(
    task: Task, *, c: float = 1.0, log_length: bool = False, network: str = "hand-written"
) -> HandWritten | Transformer:
    """Build the flawed transformer for FIRST; `catalogue` says what the options mean."""
    check_task("flawed-first", task, "first")
    return compiled(chiang_cholak.flawed_first(c, log_length=log_length), task, network)


def exact_dyck_1(
    task: Task,
    *,
    D: int | None = None,
    norm: bool = False,
    eps: float = EPSILON,
    eta: float = 0.0,
) -> HandWritten:
    """Build the recogniser of Dyck-1, of depth at most D if given."""
    bound = "" if D is None else f"-{D}"
    model = f"exact-dyck-1{bound}"
    if D == 0:
        raise RequestError(f"{model}: the depth must be at least 1, as in exact-dyck-1-1")
    check_task(model, task, f"dyck-1{bound}")
    return HandWritten(normed(model, dyck(D), norm, eps, eta), task.alphabet)


def normed(
    model: str, construction: Construction, norm: bool, eps: float, eta: float
) -> Construction:
    """Add layer norm and the layer of Proposition 2, as far as they are asked for.

    Args:
        model: its name, for errors.
        construction: without layer norm.
        norm: whether layer norm is wanted; an `eps` of one's own asks for it too.
        eps: ε.
        eta: η in nats, 0 for no such layer.

    Raises:
        RequestError: if `eta` is asked for without layer norm, or is out of range.
    """
    if norm or eps != EPSILON:
        construction = with_layer_norm(construction, eps)
    if not eta:
        return construction
    _check_eta(model, eta)
    if construction.norm is None:
        raise RequestError(f"{model}: eta={eta:g} needs layer norm: add --set eps=0")
    return with_cross_entropy(construction, eta)


def _proposition_3(
    construction: Construction, c: float, norm: bool, eps: float, eta: float
) -> Construction:
    """Return FIRST with log-length attention and the cross-entropy η, with or without layer norm.

    Without it |s| > 1/4, with it |s| > (5/24 + ε)^(-1/2) / 4, whatever the length.
    """
    _check_eta("exact-first", eta)
    if c < 1:
        raise RequestError(f"exact-first: eta with log_length needs c of 1 or more, not {c:g}")
    if norm:
        construction = with_layer_norm(construction, eps)
        return with_steeper_output(construction, eta, (5 / 24 + eps) ** -0.5 / 4)
    return with_steeper_output(construction, eta, 1 / 4)


def _check_eta(model: str, eta: float) -> None:
    if not 0 < eta < math.log(2):
        raise RequestError(f"{model}: eta must be below ln 2 = 0.693 nats, not {eta:g}")


def compiled(construction: Construction, task: Task, network: str) -> HandWritten | Transformer:
    """Return a construction as a network of its own, or as the one that is trained."""
    if network == "hand-written":
        return HandWritten(construction, task.alphabet)
    loaded = as_transformer(construction, task)
    vars(loaded).update(
        constants=dict(construction.constants),
        lengths=construction.lengths,
        description=construction.describe(),
    )
    return loaded
