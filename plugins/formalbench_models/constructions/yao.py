"""The models of Yao et al.: their constructions, built for a task.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021). What each is, and what was corrected in the print, stands in
`yao_hard`, `yao_hard_generate`, `yao_recognise` and `yao_soft`.
"""

from __future__ import annotations

from formalbench import RequestError, Task

from formalbench_models.constructions import yao_hard, yao_recognise, yao_soft
from formalbench_models.constructions.factories import check_task
from formalbench_models.constructions.network import HandWritten
from formalbench_models.constructions.vocabulary import Construction
from formalbench_models.constructions.yao_configs import (
    YaoHardConfig,
    YaoHardGenerateConfig,
    YaoRecogniseConfig,
    YaoSoftConfig,
)
from formalbench_models.constructions.yao_generator import EveryPrefix, Generator
from formalbench_models.constructions.yao_hard_generate import generator


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
    construction = yao_recognise.recogniser(k, D, task.alphabet, sharpness=config.sharpness)
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

    Where fewer than d + 2 symbols are left at depth d, the language could open another bracket
    and the generator cannot. So it is right about all members up to two brackets shorter than
    the longest, and about every beginning of a member, closed or not, up to the length that it
    states: there d is at most the length, and at most D - 1.
    """
    network = HandWritten(construction, task.alphabet)
    most = config.n - config.n % 2
    longest = max(most // 2 - 1, 0 if D is None else most - D - 1)
    return Generator(network, config.margin, threshold=_threshold(task), lengths=(0, longest))


def _threshold(task: Task) -> bool:
    return task.objective.name != "generate"


def _check(model: str, task: Task, k: int, D: int | None = None) -> None:
    """Refuse a name without a language, and a task that the network was not made for.

    Raises:
        RequestError: naming the right one.
    """
    if k < 1 or D == 0:
        raise RequestError(f"{model}: types and depth count from 1, as in yao-hard-1-1")
    check_task(model, task, f"dyck-{k}" if D is None else f"dyck-{k}-{D}")
