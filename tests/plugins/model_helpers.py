"""A task without a language package: all that a model looks at; and models by their options."""

from types import SimpleNamespace
from typing import Any

import torch
from formalbench.contracts.network import Batch
from formalbench.contracts.specs import Splits
from formalbench_models.catalogue.transformers import RegularGptConfig, TransformerConfig
from formalbench_models.families.regulargpt import RegularGPT
from formalbench_models.families.transformer import Transformer
from torch import Tensor, nn

LAYOUTS = ("last", "each", "prefixes")


def fake_task(
    layout: str = "last",
    symbols: int = 3,
    outputs: int = 4,
    longest: int = 60,
    sees_all: bool = False,
) -> Any:
    return SimpleNamespace(
        source=None,
        objective=SimpleNamespace(sees_all=sees_all),
        alphabet=tuple("abcdefgh"[:symbols]),
        outputs=outputs,
        layout=layout,
        splits=Splits(train=(1, 10), test=(11, longest)),
    )


def transformer(task: Any, **options: Any) -> Transformer:
    return Transformer(task, TransformerConfig(**options))


def regulargpt(task: Any, **options: Any) -> RegularGPT:
    return RegularGPT(task, RegularGptConfig(**options))


def strings(count: int, length: int, symbols: int = 3, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(symbols, (count, length), generator=generator)


def shaken(network: nn.Module, seed: int = 0) -> Any:
    """Give every parameter a generic value in fp64: zeros at the start would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    network.double()
    with torch.no_grad():
        for parameter in network.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.3 * noise)
    return network


def padded(lengths: list[int], symbols: int = 3) -> tuple[Batch, list[Batch]]:
    """Return a padded batch, and each of its strings alone."""
    together = strings(len(lengths), max(lengths), symbols)
    own = torch.tensor(lengths)
    together[torch.arange(max(lengths)) >= own[:, None]] = 0
    alone = [Batch(together[i : i + 1, :n]) for i, n in enumerate(lengths)]
    return Batch(together, own), alone


def assert_same_gradients(found, want, wanted, tolerance: float = 1e-8) -> None:
    """Compare the gradients of two answers, of which each number counts otherwise."""
    weight = torch.randn_like(want)
    mine, other = (
        torch.autograd.grad((y * weight).abs().square().sum(), wanted, materialize_grads=True)
        for y in (found, want)
    )
    torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)


def assert_padding_changes_nothing(network: nn.Module, lengths: list[int], symbols=3) -> None:
    batch, alone = padded(lengths, symbols)
    together = network(batch)
    for row, single in enumerate(alone):
        want = network(single)[0]
        found = together[row] if want.ndim == 1 else together[row, : len(want)]
        torch.testing.assert_close(found, want, rtol=0, atol=1e-10)
