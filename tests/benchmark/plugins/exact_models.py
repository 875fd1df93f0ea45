"""Exact models to verify: right ones, and ones that fail in a way of their own."""

from collections.abc import Iterable

import torch
from formalbench import Batch, Config, ModelSpec, RequestError, Task, Traits, hookimpl, option
from torch import Tensor, nn


class CountingConfig(Config):
    c: float = option(1.0, "size of a logit")
    wrong_at: str = option("-", "a string answered wrong")
    silent_at: str = option("-", "a string answered by NaN")


class Counting(nn.Module):
    """PARITY by counting: the logit is `c` if the number of 1s is odd, else -c.

    Args:
        c: the size of a logit.
        wrong_at: a string of bits answered wrong.
        silent_at: a string of bits answered by a logit that is not a number.
        lengths: those it is made for.
    """

    def __init__(
        self,
        c: float = 1.0,
        wrong_at: str = "-",
        silent_at: str = "-",
        lengths: tuple[int, int | None] = (0, None),
    ) -> None:
        super().__init__()
        self.c = nn.Parameter(torch.tensor(c, dtype=torch.float64))
        self.wrong_at, self.silent_at = wrong_at, silent_at
        self.traits = Traits(
            causal=False,
            lengths=lengths,
            constants={"c": c},
            depth=2,
            width=3,
            notes={"precision": "O(log n) bits"},
        )

    def forward(self, batch: Batch) -> Tensor:
        symbols_BN = batch.symbols
        ones_B = symbols_BN.to(self.c.dtype).sum(1)  # in fp16 and bf16, wrong for long strings
        s_B = self.c * (2 * (ones_B % 2) - 1)
        s_B = torch.where(_is(symbols_BN, self.wrong_at), -s_B, s_B)
        s_B = torch.where(_is(symbols_BN, self.silent_at), torch.nan, s_B)
        return torch.stack((torch.zeros_like(s_B), s_B), dim=1)


def _is(symbols_BN: Tensor, string: str) -> Tensor:
    if len(string) != symbols_BN.shape[1] or not set(string) <= set("01"):
        return torch.zeros(len(symbols_BN), dtype=torch.bool)
    return (symbols_BN == torch.tensor([int(bit) for bit in string])).all(1)


class Legal(nn.Module):
    """What may follow each prefix in (10)*: a 1 or the end, then a 0, and so on."""

    # As of a network that has half as many layers as the string has symbols.
    traits = Traits(depth=lambda length: length // 2)

    def __init__(self, may_end: bool = True) -> None:
        super().__init__()
        end = 3.0 if may_end else -3.0
        rows = torch.tensor([[-2.0, 2.0, end], [2.0, -2.0, -3.0]], dtype=torch.float64)
        self.rows = nn.Parameter(rows)

    def forward(self, batch: Batch) -> Tensor:
        count, length = batch.symbols.shape
        place_N = torch.arange(length + 1) % 2
        return self.rows[place_N].expand(count, length + 1, 3)


class CountingMod5(nn.Module):
    """Cycle navigation, by counting; five classes."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, batch: Batch) -> Tensor:
        position_B = (batch.symbols - 1).sum(1) % 5
        return self.one * nn.functional.one_hot(position_B, 5)


class BadShape(nn.Module):
    """Forgets a class."""

    def forward(self, batch: Batch) -> Tensor:
        return torch.zeros(len(batch.symbols), 1)


class Interrupted(Counting):
    """Somebody presses Ctrl-C when it sees a string of length 5."""

    def forward(self, batch: Batch) -> Tensor:
        if batch.symbols.shape[1] == 5:
            raise KeyboardInterrupt
        return super().forward(batch)


def make_counting(task: Task, config: CountingConfig) -> Counting:
    """Return the counter; it is made for PARITY."""
    if task.source_name != "parity":
        raise RequestError(f"model counting is made for parity, not {task.source_name}")
    return Counting(config.c, config.wrong_at, config.silent_at)


@hookimpl
def formalbench_models() -> Iterable[ModelSpec]:
    yield _exact("counting", make_counting, "parity", CountingConfig)
    yield _exact("counting-{n}", lambda task, n: Counting(lengths=(n, n)), "parity")
    yield _exact("counting-to-{n}", lambda task, n: Counting(lengths=(0, n)), "parity")
    yield _exact("legal", lambda task: Legal(), "tomita-2:next-symbols")
    yield _exact("endless", lambda task: Legal(may_end=False), "tomita-2:next-symbols")
    yield _exact("mod-{k}", lambda task, k: CountingMod5(), "cycle-navigation")
    yield _exact("anything", lambda task: Counting(), "")
    yield _exact("bad-shape", lambda task: BadShape(), "parity")
    yield _exact("interrupted", lambda task: Interrupted(), "parity")


def _exact(name: str, factory: object, task: str, config: type | None = None) -> ModelSpec:
    return ModelSpec(name, 1, name, factory, config, kind="exact", task=task)  # type: ignore[arg-type]
