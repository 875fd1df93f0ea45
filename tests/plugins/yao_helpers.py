"""Bracket languages from their definition, and the models of Yao et al. without a host."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import torch
from formalbench.contracts.network import Batch
from formalbench_models.catalogue.constructions import (
    YaoHardConfig,
    YaoHardGenerateConfig,
    YaoRecogniseConfig,
    YaoSoftConfig,
)
from formalbench_models.constructions import builders
from torch import Tensor

BRACKETS = "()[]{}<>"


def task(k: int, D: int | None, objective: str = "classify") -> Any:
    return SimpleNamespace(
        alphabet=tuple(BRACKETS[: 2 * k]),
        source_name=f"dyck-{k}" if D is None else f"dyck-{k}-{D}",
        objective=SimpleNamespace(name=objective),
    )


def read(string: list[int], deepest: int | None) -> list[int] | None:
    """Return the stack after a prefix, None if it begins no member."""
    stack: list[int] = []
    for symbol in string:
        if symbol % 2 == 0:
            stack.append(symbol // 2)
            if deepest is not None and len(stack) > deepest:
                return None
        elif not stack or stack.pop() != symbol // 2:
            return None
    return stack


def is_member(string: list[int], deepest: int | None) -> bool:
    return read(string, deepest) == []


def ids(text: str) -> list[int]:
    return [BRACKETS.index(bracket) for bracket in text]


def batch(strings: list[list[int]]) -> Batch:
    return Batch(torch.tensor(strings, dtype=torch.int64).reshape(len(strings), -1))


def every_string(k: int, length: int) -> list[list[int]]:
    return [list(each) for each in itertools.product(range(2 * k), repeat=length)]


def beginnings(k: int, deepest: int | None, length: int) -> list[list[int]]:
    """Return all strings of a length that begin a member."""
    found: list[list[int]] = [[]]
    for _ in range(length):
        longer = ([*one, symbol] for one in found for symbol in range(2 * k))
        found = [one for one in longer if read(one, deepest) is not None]
    return found


def walk(k: int, deepest: int, length: int, seed: int, opening: float = 0.5) -> list[int]:
    """Draw a member."""
    generator = torch.Generator().manual_seed(seed)
    coins = torch.rand(length, generator=generator).tolist()
    types = torch.randint(k, (length,), generator=generator).tolist()
    string: list[int] = []
    stack: list[int] = []
    for place, (coin, kind) in enumerate(zip(coins, types, strict=True)):
        must_close = len(stack) in (deepest, length - place)
        if stack and (must_close or coin > opening):
            string.append(2 * stack.pop() + 1)
        else:
            stack.append(kind)
            string.append(2 * kind)
    return string


def accepts(network: Any, strings: list[list[int]]) -> list[bool]:
    with torch.no_grad():
        logits = network(batch(strings))
    return (logits[:, 1] > logits[:, 0]).tolist()


def legal_sets(network: Any, strings: list[list[int]]) -> Tensor:
    """Return what a generator allows after every prefix, (B, N+1, S+1)."""
    with torch.no_grad():
        return network(batch(strings)) > 0


def true_sets(strings: list[list[int]], k: int, deepest: int | None) -> Tensor:
    """Return what may follow every prefix by definition, (B, N+1, S+1)."""

    def follow(prefix: list[int]) -> list[bool]:
        into = [read([*prefix, symbol], deepest) is not None for symbol in range(2 * k)]
        return [*into, read(prefix, deepest) == []]

    return torch.tensor([[follow(one[:stop]) for stop in range(len(one) + 1)] for one in strings])


def bounded_sets(strings: list[list[int]], k: int, deepest: int | None, n: int) -> Tensor:
    """Return what may follow every prefix if members have n brackets at most, by enumeration."""
    members = [
        tuple(one)
        for length in range(n + 1)
        for one in beginnings(k, deepest, length)
        if is_member(one, deepest)
    ]
    prefixes = {one[:stop] for one in members for stop in range(len(one) + 1)}
    whole = set(members)

    def follow(prefix: tuple[int, ...]) -> list[bool]:
        return [*((*prefix, symbol) in prefixes for symbol in range(2 * k)), prefix in whole]

    return torch.tensor(
        [[follow(tuple(one[:stop])) for stop in range(len(one) + 1)] for one in strings]
    )


CONFIGS = {
    "hard": YaoHardConfig,
    "hard_as_soft": YaoRecogniseConfig,
    "recognise": YaoRecogniseConfig,
    "soft": YaoSoftConfig,
    "soft_unbounded": YaoSoftConfig,
    "hard_generate": YaoHardGenerateConfig,
}


def recogniser(name: str, k: int, D: int, **options: Any) -> Any:
    return getattr(builders, name)(task(k, D), CONFIGS[name](**options), k=k, D=D)


def generator(
    name: str, k: int, D: int | None, objective: str = "next-symbols", **more: Any
) -> Any:
    fields = {"k": k} if D is None else {"k": k, "D": D}
    return getattr(builders, name)(task(k, D, objective), CONFIGS[name](**more), **fields)
