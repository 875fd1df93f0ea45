"""RegularGPT's tree and dilated forms against the dense masked one, and against a Transformer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from formalbench.contracts.network import Batch
from formalbench.host import PluginHost
from formalbench_models.families.regulargpt import RegularGPT, levels
from formalbench_models.families.regulargpt_reference import mask
from harness import Comparison, alternate, clock, compare_each, markdown, show, table
from torch import Tensor
from torch.nn import functional

WIDTH, HEADS = 256, 8
POWERS = (14, 17, 20)
LONG, SMALL = 8192, (64, 4)
CHUNK, LENGTHS = 128, (2048, 4096, 8192)
"""Of language models: chunks that a few levels of which reach as far as that."""

BLOCKS, LAYERS = (2, 6, 7, 12), 2
"""Blocks a level, against layers of a Transformer: the paper's bound is at 3.11 times as many."""

HOST = PluginHost.load()


def build(task_name: str, width: int = WIDTH, heads: int = HEADS) -> RegularGPT:
    torch.manual_seed(0)
    return HOST.network("regulargpt", HOST.task(task_name), {"width": width, "heads": heads})


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
            y.unflatten(-1, (block.heads, -1)).transpose(1, 2)
            for y in (block.query(x_BND), *key_value)
        )
        bias = mask(block, x_BND.shape[1], network.chunk**level)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x_BND = block.finish(x_BND, mixed.transpose(1, 2).flatten(2))
    return network.readout(network.norm(x_BND[:, -length:]))


def measure() -> list[Comparison]:
    tree, dilated = build("parity"), build("parity:tag")  # with equal parameters
    rows = []
    for length, batch in ((40, 128), (500, 4), (2048, 1)):
        symbols_BN = torch.randint(2, (batch, length))
        forms = {
            "tree form": (tree, lambda s=symbols_BN: tree(Batch(s))[:, None]),
            "dilated form": (dilated, lambda s=symbols_BN: dilated(Batch(s))),
            "dense form, SDPA": (dilated, lambda s=symbols_BN: dense(dilated, s)),
        }
        with torch.no_grad():  # shorter prefixes have fewer levels in the dilated form
            last = [forward()[:, -1] for _, forward in forms.values()]
        assert all(torch.allclose(answers, last[-1], atol=1e-3) for answers in last)
        for name, job in (("forward", test), ("training step", train)):
            *ours, theirs = ((form, partial(job, *what)) for form, what in forms.items())
            inputs = f"{name}, width {WIDTH}, batch {batch}, T = {length}"
            rows += compare_each(ours, theirs, inputs)
    return sorted(rows, key=lambda row: row.a, reverse=True)


def test(network: RegularGPT, forward: Callable[[], Tensor]) -> None:
    with torch.no_grad():
        forward()


def train(network: RegularGPT, forward: Callable[[], Tensor]) -> None:
    """Compute the gradients of a loss of all answers."""
    network.zero_grad(set_to_none=True)
    logits_BNK = forward()
    answers = torch.zeros(logits_BNK.shape[:-1], dtype=torch.long)
    functional.cross_entropy(logits_BNK.flatten(0, 1), answers.flatten()).backward()


def growth() -> str:
    """Time the two forms alone on very long strings: cost must grow with the length."""
    rows = []
    for task_name, form in (("parity", "tree"), ("parity:tag", "dilated")):
        network = HOST.network("regulargpt", HOST.task(task_name), {"width": 16})
        times = []
        for power in POWERS:
            symbols = torch.randint(2, (1, 1 << power))
            with torch.no_grad():
                repeats = 2 if power < POWERS[-1] else 1  # the longest takes half a minute
                times.append(min(clock(partial(network, Batch(symbols))) for _ in range(repeats)))
        rows.append((form, *map(show, times)))
    head = ("form", *(f"T = 2^{power}" for power in POWERS))
    return markdown(head, rows, "Alone, width 16, batch 1, forward")


def against_transformer() -> str:
    """Compare K blocks a level with L layers of a Transformer (Chi et al. 2023, §3.4).

    The paper counts attention alone, and finds RegularGPT cheaper at K < 3.11 L for 512 tokens and
    chunks of 128. Here is what all of it costs, as language models of one width.
    """
    options = {"width": WIDTH, "heads": HEADS}
    task = HOST.task("tiny:causal-lm")
    # Its fastest: ALiBi's bias is a matrix of all pairs, which takes 2.6 times as long at T = 8192.
    plain = {"layers": LAYERS, "positions": "rope", "causal": True}
    transformer = HOST.network("transformer", task, {**options, **plain})
    rows, counts = [], [(f"Transformer, L = {LAYERS}", transformer)]
    for blocks in BLOCKS:
        own = {"chunk": CHUNK, "thickness": blocks, "levels": "string"}
        counts.append(
            (f"RegularGPT, K = {blocks}", HOST.network("regulargpt", task, options | own))
        )
    for length, batch in ((512, 4), *((length, 1) for length in LENGTHS)):
        tokens = torch.randint(256, (batch, length))
        forwards = {name: (one, partial(one, Batch(tokens))) for name, one in counts}
        for job_name, job in (("forward", test), ("training step", train)):
            theirs, *ours = ((name, partial(job, *what)) for name, what in forwards.items())
            inputs = f"{job_name}, width {WIDTH}, chunks of {CHUNK}, batch {batch}, T = {length}"
            rows += compare_each(ours, theirs, inputs)
    return table(rows)


def long() -> str:
    """Compare an answer at every position of a long text, and time large chunks alone."""
    dilated = build("parity:tag", *SMALL)
    symbols_BN = torch.randint(2, (1, LONG))
    with torch.no_grad():
        dilated(Batch(symbols_BN))  # the dense form takes so long that what happens once is little
        row = alternate(
            ("dilated form", lambda: clock(lambda: dilated(Batch(symbols_BN)))),
            ("dense form, SDPA", lambda: clock(lambda: dense(dilated, symbols_BN))),
            f"forward, width {SMALL[0]}, {SMALL[1]} heads, batch 1, T = {LONG}",
            repeats=1,
        )
        options = {"width": WIDTH, "heads": HEADS, "chunk": CHUNK}
        network = HOST.network("regulargpt", HOST.task("tiny:causal-lm"), options)
        times = []
        for length in LENGTHS:
            tokens = torch.randint(256, (1, length))
            times.append(min(clock(partial(network, Batch(tokens))) for _ in range(3)))
    head = ("form", *(f"T = {length}" for length in LENGTHS))
    alone = f"Alone, chunks of {CHUNK} and two levels, width {WIDTH}, batch 1, forward"
    return f"{table([row])}\n{markdown(head, [('dilated', *map(show, times))], alone)}"
