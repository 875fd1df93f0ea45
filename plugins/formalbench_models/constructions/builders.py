"""Builds the announced network of each construction for a task.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021). `yao_hard` and `yao_soft` describe them and the corrections of the
print.
"""

from __future__ import annotations

from dataclasses import replace

from formalbench import RequestError, Task

from formalbench_models.catalogue.constructions import (
    BuiltAs,
    ExactDyckConfig,
    ExactFirstConfig,
    ExactParityConfig,
    FfnnParityConfig,
    FlawedFirstConfig,
    YaoHardConfig,
    YaoHardGenerateConfig,
    YaoRecogniseConfig,
    YaoSoftConfig,
    has_norm,
)
from formalbench_models.constructions import chiang_cholak, yao_hard, yao_soft
from formalbench_models.constructions.chiang_cholak import ParityFFNN
from formalbench_models.constructions.construction import Construction
from formalbench_models.constructions.network import HandWritten
from formalbench_models.constructions.steffen import dyck
from formalbench_models.constructions.transforms import (
    as_transformer,
    with_cross_entropy,
    with_layer_norm,
    with_steeper_output,
    with_value_entry,
)
from formalbench_models.constructions.yao import EveryPrefix, Generator
from formalbench_models.constructions.yao_hard import generator
from formalbench_models.families.transformer import Transformer


def check_task(model: str, task: Task, language: str) -> None:
    """Check that a task is the construction's own.

    Raises:
        RequestError: naming the right task.
    """
    if task.source_name != language:
        raise RequestError(f"{model} recognises {language}, not {task.source_name}")


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
        raise RequestError(f"{model}: the depth must be at least 1 (example: exact-dyck-1-1)")
    check_task(model, task, f"dyck-1{bound}")
    return HandWritten(normed(dyck(D), config), task.alphabet)


def normed(
    construction: Construction, config: ExactParityConfig | ExactFirstConfig | ExactDyckConfig
) -> Construction:
    """Add layer norm and the layer of Proposition 2, if requested."""
    if has_norm(config.norm, config.eps):
        construction = with_layer_norm(construction, config.eps)
    return with_cross_entropy(construction, config.eta) if config.eta else construction


def _proposition_3(construction: Construction, config: ExactFirstConfig) -> Construction:
    """Return FIRST with log-length attention and the cross-entropy η, with or without layer norm.

    At every length, |s| > 1/4 without it and |s| > (5/24 + ε)^(-1/2) / 4 with it.
    """
    if has_norm(config.norm, config.eps):
        construction = with_layer_norm(construction, config.eps)
        return with_steeper_output(construction, config.eta, (5 / 24 + config.eps) ** -0.5 / 4)
    return with_steeper_output(construction, config.eta, 1 / 4)


def compiled(construction: Construction, task: Task, network: BuiltAs) -> HandWritten | Transformer:
    """Return a construction as a compiled network or loaded into a `Transformer`."""
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


def hard(task: Task, config: YaoHardConfig, *, k: int, D: int) -> HandWritten:
    """Build ``yao-hard-{k}-{D}``: the recogniser of Theorem 4.1."""
    _check(f"yao-hard-{k}-{D}", task, k, D)
    bits = config.position_bits
    return HandWritten(yao_hard.recogniser(k, D, task.alphabet, position_bits=bits), task.alphabet)


def hard_as_soft(task: Task, config: YaoRecogniseConfig, *, k: int, D: int) -> HandWritten:
    """Build ``yao-hard-as-soft-{k}-{D}``: the same with soft attention at a low temperature."""
    _check(f"yao-hard-as-soft-{k}-{D}", task, k, D)
    construction = yao_hard.recogniser(k, D, task.alphabet, sharpness=config.sharpness)
    return HandWritten(construction, task.alphabet)


def recognise(task: Task, config: YaoRecogniseConfig, *, k: int, D: int) -> HandWritten:
    """Build ``yao-recognise-{k}-{D}``: the recogniser of Corollary B.2."""
    _check(f"yao-recognise-{k}-{D}", task, k, D)
    construction = yao_soft.recogniser(k, D, task.alphabet, sharpness=config.sharpness)
    return HandWritten(construction, task.alphabet)


def hard_generate(task: Task, config: YaoHardGenerateConfig, *, k: int, D: int) -> Generator:
    """Build ``yao-hard-generate-{k}-{D}``: the generator of Corollary A.2."""
    _check(f"yao-hard-generate-{k}-{D}", task, k, D)
    network = EveryPrefix(HandWritten(generator(k, D, task.alphabet), task.alphabet))
    return Generator(network, config.margin, threshold=_threshold(task), lengths=(0, None))


def soft(task: Task, config: YaoSoftConfig, *, k: int, D: int) -> Generator:
    """Build ``yao-soft-{k}-{D}``: the generator of Theorem 4.2."""
    _check(f"yao-soft-{k}-{D}", task, k, D)
    sharpness = config.sharpness
    construction = yao_soft.bounded(k, D, task.alphabet, n=config.n, sharpness=sharpness)
    return _length_bounded(task, construction, config, D)


def soft_unbounded(task: Task, config: YaoSoftConfig, *, k: int) -> Generator:
    """Build ``yao-soft-{k}``: the generator of Theorem B.3."""
    _check(f"yao-soft-{k}", task, k)
    construction = yao_soft.unbounded(k, task.alphabet, n=config.n, sharpness=config.sharpness)
    return _length_bounded(task, construction, config)


def _length_bounded(
    task: Task, construction: Construction, config: YaoSoftConfig, D: int | None = None
) -> Generator:
    """Return a generator of strings of at most n brackets.

    If fewer than d + 2 symbols are left at depth d, the language could open another bracket but the
    generator cannot. So it is correct for all members that are at least two brackets shorter than
    the longest, and for every prefix of a member up to the stated length, where d is at most the
    length and at most D - 1.
    """
    network = HandWritten(construction, task.alphabet)
    most = config.n - config.n % 2
    longest = max(most // 2 - 1, 0 if D is None else most - D - 1)
    return Generator(network, config.margin, threshold=_threshold(task), lengths=(0, longest))


def _threshold(task: Task) -> bool:
    return task.objective.name != "generate"


def _check(model: str, task: Task, k: int, D: int | None = None) -> None:
    """Check that the name has a language and the task is the network's own.

    Raises:
        RequestError: naming the right one.
    """
    if k < 1 or D == 0:
        raise RequestError(f"{model}: types and depth must be at least 1 (example: yao-hard-1-1)")
    check_task(model, task, f"dyck-{k}" if D is None else f"dyck-{k}-{D}")
