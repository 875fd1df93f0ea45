"""Checks of networks.

Legend: B strings, N symbols, M answers generated so far.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from formalbench.contracts.network import Batch, Example, Traits, pad, stack, tensors, traits_of
from formalbench.contracts.objective import Promise, demand
from formalbench.contracts.source import Stream
from formalbench.contracts.task import Task, expected_shape
from formalbench.evaluation.cells import split_lengths
from formalbench.objectives.answers import tried_lengths
from formalbench.training.gradients import BatchedGradients, Gradients, Program, SequentialGradients
from formalbench.training.parameters import Layout, check_buffers, kept_buffers, layout_of, trained

Build = Callable[[], nn.Module]
LENGTHS = (0, 1, 2, 7, 16)
MIXED = (1, 4, 0, 9, 5, 2)
"""Lengths of strings that are padded together, if task and network support them."""

SHORT = 7
BATCH = 5
CHANGED = 4
"""Position of the symbol that is changed to test dependence on it."""


def model_promises(build: Build, task: Task, *, learned: bool = True) -> Iterator[Promise]:
    """Return the checks of a model's networks on one task; those that are `learned` must train."""
    torch.set_num_threads(1)
    yield "answers in the objective's layout, at every length", lambda: _shapes(build, task)
    yield "has initial weights that depend only on the seed", lambda: _initial_weights(build, task)
    yield (
        "gives the same answer to a string alone and in a batch",
        lambda: _independent(build, task),
    )
    yield "gives the same answers twice and changes nothing", lambda: _pure(build, task)
    if task.layout == "decoded":
        yield "sees only earlier output symbols", lambda: _decodes(build, task)
    elif task.layout != "last" and not task.objective.sees_all:
        yield "sees only earlier positions", lambda: _causal(build, task)
    yield "works in fp64", lambda: _double(build, task)
    yield "works in bfloat16", lambda: _bfloat16(build, task)
    yield "has finite gradients", lambda: _gradients(build, task, learned=learned)
    yield "ignores padding, if its traits say so", lambda: _padding(build, task)
    yield "runs under vmap, if its traits say so", lambda: _vmap(build, task)


def _network(build: Build, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build()
    demand(isinstance(network, nn.Module), f"the factory returned a {type(network).__name__}")
    return network.eval()


def _batch(task: Task, length: int) -> Batch:
    """Return random strings of a length; a network must answer any string."""

    def ids(what: str, size: int) -> Tensor:
        stream = Stream(f"check {what}", length)
        return torch.from_numpy(stream.integers(size, (BATCH, length)))

    symbols_BN = ids("network", len(task.alphabet))
    if task.layout != "decoded":
        return Batch(symbols_BN)
    return Batch(symbols_BN, decoded=ids("decoder", task.outputs))


def _within(traits: Traits, length: int) -> int:
    """Return the nearest length that a construction supports."""
    least, greatest = traits.lengths
    return max(least, length if greatest is None else min(length, greatest))


def _short_batch(task: Task, network: nn.Module) -> Batch:
    return _batch(task, _within(traits_of(network), SHORT))


def _answer(network: nn.Module, batch: Batch) -> Tensor:
    answer = network(batch)
    demand(isinstance(answer, Tensor), f"forward returned a {type(answer).__name__}")
    assert isinstance(answer, Tensor)
    return answer


def _same(a: Tensor, b: Tensor) -> bool:
    """Return whether numbers in double precision are equal up to rounding."""
    return torch.allclose(a, b, rtol=1e-9, atol=1e-9)


def _map_batch(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    decoded = None if batch.decoded is None else change(batch.decoded)
    return Batch(change(batch.symbols), decoded=decoded)


def _only(batch: Batch, row: int) -> Batch:
    return _map_batch(batch, lambda part: part[row : row + 1])


def _shapes(build: Build, task: Task) -> None:
    network = _network(build)
    longest = max(tried_lengths(task, "test"))
    for requested in (*LENGTHS, longest):
        length = _within(traits_of(network), requested)
        if task.layout == "each" and length == 0:
            continue
        batch = _batch(task, length)
        logits, shape = _answer(network, batch), expected_shape(task, batch)
        demand(tuple(logits.shape) == shape, f"length {length}: {tuple(logits.shape)}, not {shape}")
        demand(torch.isfinite(logits).all(), f"length {length}: a logit is not finite")


def _initial_weights(build: Build, task: Task) -> None:
    first, second = _network(build, 1).state_dict(), _network(build, 1).state_dict()
    same = all(torch.equal(value, second[name]) for name, value in first.items())
    demand(same, "the same seed gave two different networks")


def _independent(build: Build, task: Task) -> None:
    network = _network(build).double()
    batch = _short_batch(task, network)
    together = _answer(network, batch)
    alone = torch.cat([_answer(network, _only(batch, row)) for row in range(BATCH)])
    demand(_same(together, alone), "strings of a batch affect each other")


def _pure(build: Build, task: Task) -> None:
    network = _network(build)
    batch = _short_batch(task, network)
    copies = _map_batch(batch, torch.clone)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    first, second = _answer(network, batch), _answer(network, batch)
    demand(torch.equal(first, second), "the same strings got different answers")
    for part, before in zip(batch, copies, strict=True):
        unchanged = part is None or before is None or torch.equal(part, before)
        demand(unchanged, "forward changed its input")
    same = all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    demand(same, "forward changed the network")


def _causal(build: Build, task: Task) -> None:
    network = _network(build).double()
    strings = _batch(task, SHORT).symbols
    changed = _change_symbol(strings, len(task.alphabet))
    places = CHANGED + (task.layout == "prefixes")
    before, after = (_answer(network, Batch(symbols))[:, :places] for symbols in (strings, changed))
    demand(_same(before, after), "a later symbol changed an earlier answer")
    alone = _answer(network, Batch(strings[:, :CHANGED]))
    demand(_same(before, alone), "symbols after a prefix changed its answer")


def _decodes(build: Build, task: Task) -> None:
    network = _network(build).double()
    batch = _batch(task, SHORT)
    assert batch.decoded is not None
    changed = batch._replace(decoded=_change_symbol(batch.decoded, task.outputs))
    before, after = (_answer(network, strings)[:, : CHANGED + 1] for strings in (batch, changed))
    demand(_same(before, after), "a later output symbol changed an answer")
    alone = _answer(network, batch._replace(decoded=batch.decoded[:, :CHANGED]))
    demand(_same(before, alone), "a later output symbol changed an answer")


def _change_symbol(ids: Tensor, size: int) -> Tensor:
    """Return ids with a different symbol at `CHANGED`."""
    changed = ids.clone()
    changed[:, CHANGED] = (changed[:, CHANGED] + 1) % size
    return changed


def _double(build: Build, task: Task) -> None:
    network = _network(build).double()
    logits = _answer(network, _short_batch(task, network))
    demand(logits.dtype == torch.float64, f"the answer is {logits.dtype}")


def _bfloat16(build: Build, task: Task) -> None:
    network = _network(build).bfloat16()
    logits = _answer(network, _short_batch(task, network))
    demand(logits.dtype == torch.bfloat16, f"the answer is {logits.dtype}")


def _gradients(build: Build, task: Task, *, learned: bool) -> None:
    network = _network(build).train()
    if not trained(network):
        demand(not learned, "no parameter is trained")
        return  # an exact construction may have nothing to train
    length = _within(traits_of(network), tried_lengths(task, "train")[-1])
    example = tensors(task.sample(Stream("check gradients"), length, BATCH))
    layout_of(network)
    before = kept_buffers(network)
    task.objective.loss(_answer(network, example.batch), example).backward()  # type: ignore[no-untyped-call]
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    demand(gradients, "no parameter has a gradient")
    finite = all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
    demand(finite, "a gradient is not finite")
    check_buffers(network, before)


def _padding(build: Build, task: Task) -> None:
    """Compare padded examples of the task with each length alone."""
    network = _network(build).double()
    traits = traits_of(network)
    if not traits.padding:
        return
    examples = [
        task.sample(Stream("check padding", length), length, 2)
        for length in _mixed_lengths(task, traits)
    ]
    if not examples:
        return  # it supports none of the task's lengths
    together = _answer(network, tensors(pad(examples, task.layout)).batch)
    for row, example in enumerate(examples):
        rows = together[2 * row : 2 * row + 2]
        _same_answers(rows, _answer(network, tensors(example).batch), example)


def _mixed_lengths(task: Task, traits: Traits) -> list[int]:
    mixed = [length for length in MIXED if task.lengths(length, length)]
    lengths = mixed if len(mixed) > 1 else split_lengths(task, "train")[:BATCH]
    return [length for length in lengths if _within(traits, length) == length]


def _same_answers(padded: Tensor, alone: Tensor, example: Example) -> None:
    """Check that scored answers equal those of each string alone."""
    shared = padded if padded.ndim == alone.ndim == 2 else padded[:, : alone.shape[1]]
    if example.scored is not None:
        scored = torch.from_numpy(example.scored)
        shared, alone = shared[scored], alone[scored]
    demand(_same(shared, alone), "padding changed an answer")


def _vmap(build: Build, task: Task) -> None:
    # In training mode, to detect dropout under vmap.
    networks = [_network(build, seed).double().train() for seed in range(2)]
    traits = traits_of(networks[0])
    if not traits.vmap:
        return
    short = min(split_lengths(task, "train"), key=lambda length: abs(length - SHORT))
    length = _within(traits, short)
    runs = [task.sample(Stream("check vmap", run), length, BATCH) for run in range(2)]
    _same_logits(networks, tensors(runs[0]).batch)
    if trained(networks[0]):
        _same_step(networks, task, tensors(stack(runs)))


def _same_logits(networks: list[nn.Module], batch: Batch) -> None:
    """Compare the logits of two networks under vmap with those of each alone."""
    network = copy.deepcopy(networks[0])
    for module in network.modules():
        vars(module)["under_vmap"] = True  # as training does

    def logits(weights: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        answer: Tensor = torch.func.functional_call(network, (weights, buffers), (batch,))
        return answer

    together = torch.func.vmap(logits)(*torch.func.stack_module_state(networks))
    alone = torch.stack([_answer(network, batch) for network in networks])
    demand(_same(together, alone), "vmap changed the numbers")


def _same_step(networks: list[nn.Module], task: Task, example: Example) -> None:
    """Compare one training step of two runs under vmap with each run alone."""
    flat_RP = Layout.of(networks[0]).stack(networks)

    def step(program: Program) -> Gradients:
        return program.gradients(program.select((0, 1)), flat_RP, example, (0, 1))

    together, alone = (
        step(BatchedGradients(networks, task)),
        step(SequentialGradients(networks, task)),
    )
    for a, b in zip(together, alone, strict=True):
        # No closer: at a kink, which constructions have, a gradient may be that of either side.
        demand(torch.allclose(a, b, atol=1e-5), "vmap changed a training step")
