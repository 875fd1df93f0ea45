"""What an objective promises: answers are judged, and of padded strings none but their own.

Legend: B strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from formalbench.contracts.example import Example, pad, tensors
from formalbench.contracts.metric import Measure, State, add_up
from formalbench.contracts.objective import CROSS_ENTROPY, Promise
from formalbench.contracts.promises import demand
from formalbench.contracts.shape import expected_shape
from formalbench.contracts.stream import Stream
from formalbench.contracts.task import Task
from formalbench.objectives.lengths import some_lengths

if TYPE_CHECKING:
    from torch import Tensor

COUNT = 8
"""Strings of each length that are judged."""


def judging_promises(task: Task) -> Iterator[Promise]:
    """Return what an objective promises about any answers that a network might give."""
    yield "judges answers by its loss and its metrics", lambda: _judges(task)
    yield "judges padded strings as it does each on its own", lambda: _padded(task)


def _judges(task: Task) -> None:
    for length in some_lengths(task)[:3]:
        example = tensors(_example(task, length))
        logits = _logits(task, example).requires_grad_()
        loss = task.objective.loss(logits, example)
        demand(loss.ndim == 0, f"length {length}: a loss of shape {tuple(loss.shape)}")
        demand(loss.isfinite(), f"length {length}: the loss is {loss}")
        loss.backward()  # type: ignore[no-untyped-call]
        demand(logits.grad is not None, f"length {length}: the loss does not depend on the logits")
        right_B = _right(task, logits.detach(), example)
        demand(right_B.shape == (COUNT,), f"length {length}: right is {tuple(right_B.shape)}")
        inside = ((right_B >= 0) & (right_B <= 1)).all()
        demand(inside, f"length {length}: more of a string is right than there is")
        _measures(task, _finished(task, [_states(task, logits.detach(), example)]))


def _measures(task: Task, found: dict[str, Measure]) -> None:
    primary = task.primary.name
    for name in (primary, CROSS_ENTROPY):
        demand(name in found, f"{name} is not measured: there is {', '.join(found)}")
    right, asked = found[primary]
    demand(asked > 0 and 0 <= right <= asked, f"{primary} is {right:g} of {asked}")
    best = task.objective.preference(found, primary)
    demand(isinstance(best, tuple) and best, "preference gives no tuple of numbers")


def _padded(task: Task) -> None:
    lengths = some_lengths(task)[:3]
    examples = [_example(task, length) for length in lengths]
    together = tensors(pad(examples, task.layout))
    logits = _logits(task, together)
    right_B = _right(task, logits, together)
    demand(task.objective.loss(logits, together).isfinite(), "the loss is not finite")
    states = []
    for index, length in enumerate(lengths):
        example = tensors(examples[index])
        rows = slice(index * COUNT, (index + 1) * COUNT)
        own = logits[rows]
        if task.layout != "last":
            own = own[:, : expected_shape(task, example.batch)[1]]
        states.append(_states(task, own, example))
        apart_B = (right_B[rows] - _right(task, own, example)).abs()
        demand((apart_B < 1e-6).all(), f"length {length}: padding counts as an answer")
    padded = _finished(task, [_states(task, logits, together)])
    alone = _finished(task, states)
    for name, measure in alone.items():
        found = padded[name]
        same = abs(found.total - measure.total) < 1e-3 and found.count == measure.count
        both = f"{found.total:g} of {found.count}", f"{measure.total:g} of {measure.count}"
        demand(same, f"{name} is {both[0]} in padded strings, {both[1]} in the same alone")


def _example(task: Task, length: int) -> Example:
    return task.sample(Stream("check judging", length), length, COUNT)


def _logits(task: Task, example: Example) -> Tensor:
    """Return any answers, between -2 and 2."""
    import torch  # here, so that a task's other checks need none

    drawn = Stream("check logits").uniform(expected_shape(task, example.batch))
    return torch.from_numpy(4 * drawn - 2).float()


def _right(task: Task, logits: Tensor, example: Example) -> Tensor:
    return task.objective.right(logits, example, task.primary).double()


def _states(task: Task, logits: Tensor, example: Example) -> list[State]:
    return [metric.measure(logits, example).double().numpy() for metric in task.metrics]


def _finished(task: Task, parts: Sequence[list[State]]) -> dict[str, Measure]:
    """Return all measures by name."""
    found: dict[str, Measure] = {}
    for metric, states in zip(task.metrics, zip(*parts, strict=True), strict=True):
        own = metric.finish(add_up(states))
        twice = ", ".join(set(found) & set(own))
        demand(not twice, f"{metric.name} measures what another metric does: {twice}")
        found |= own
    return found
