"""RegularGPT's tree and dilated forms against the dense masked one."""

from __future__ import annotations

from functools import partial

import torch
from formalbench.contracts.batch import Batch
from formalbench.host import PluginHost
from formalbench_models.regulargpt import RegularGPT, levels
from formalbench_models.regulargpt_reference import mask
from harness import Comparison, clock, compare, markdown, show
from torch import Tensor
from torch.nn import functional

WIDTH, HEADS = 256, 8
POWERS = (14, 17, 20)


def build(task_name: str) -> tuple[RegularGPT, object]:
    host = PluginHost.load()
    task = host.task(task_name)
    torch.manual_seed(0)
    return host.network("regulargpt", task, {"width": WIDTH, "heads": HEADS}), task.objective


def dense(network: RegularGPT, symbols_BN: Tensor) -> Tensor:
    """All positions at every level, with the library's attention under the full mask of eq. 1."""
    length = symbols_BN.shape[1]
    count = levels(length, network.chunk)
    missing = network.chunk**count - length
    x_BND = network.embedding(network.alphabet.prepend(symbols_BN, "pad", missing))
    block = network.blocks[0]
    for level in range(count):
        key_value = block.key_value(x_BND).chunk(2, dim=-1)
        query, key, value = (
            y.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for y in (block.query(x_BND), *key_value)
        )
        bias = mask(block, x_BND.shape[1], network.chunk**level)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x_BND = block.finish(x_BND, mixed.transpose(1, 2).flatten(2))
    return network.readout(network.norm(x_BND if network.layout != "last" else x_BND[:, -1]))


def measure() -> list[Comparison]:
    rows = []
    for task_name, form in (("parity", "tree"), ("parity:tag", "dilated")):
        network, objective = build(task_name)
        for length, batch in ((40, 128), (500, 4), (2048, 1)):
            symbols = torch.randint(2, (batch, length))
            targets = torch.randint(2, (batch,) if form == "tree" else (batch, length))
            inputs = f"width {WIDTH}, batch {batch}, T = {length}"

            def ours(symbols=symbols, network=network):
                return network(Batch(symbols))

            def theirs(symbols=symbols, network=network, length=length):
                answer = dense(network, symbols)
                return answer if network.layout == "last" else answer[:, -length:]

            def train(forward, network=network, objective=objective, targets=targets):
                network.zero_grad(set_to_none=True)
                objective.loss(forward(), targets).backward()

            def test(forward):
                with torch.no_grad():
                    return forward()

            if form == "tree":
                assert torch.allclose(test(ours), test(theirs), atol=1e-3)
            for name, job in (("forward", test), ("training step", train)):
                rows.append(
                    compare(
                        (f"{form} form", lambda job=job, f=ours: job(f)),
                        ("dense form, SDPA", lambda job=job, f=theirs: job(f)),
                        f"{name}, {inputs}",
                    )
                )
    return rows


def growth() -> str:
    """Time the two forms alone on very long strings: cost must grow with the length."""
    rows = []
    host = PluginHost.load()
    for task_name, form in (("parity", "tree"), ("parity:tag", "dilated")):
        network = host.network("regulargpt", host.task(task_name), {"width": 16})
        times = []
        for power in POWERS:
            symbols = torch.randint(2, (1, 1 << power))
            with torch.no_grad():
                repeats = 2 if power < POWERS[-1] else 1  # the longest takes half a minute
                times.append(min(clock(partial(network, Batch(symbols))) for _ in range(repeats)))
        rows.append((form, *map(show, times)))
    head = ("form", *(f"T = 2^{power}" for power in POWERS))
    return markdown(head, rows, "Alone, width 16, batch 1, forward")
