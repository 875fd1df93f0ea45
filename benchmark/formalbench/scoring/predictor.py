"""Wraps functions, modules and lists of answers as networks that the engine can test.

Legend: B strings of one length, N symbols each, K outputs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Traits
from formalbench.contracts.task import Task, expected_shape

Predict = Callable[[Any], Any]
"""From ids (B, N) to labels or logits; see `formalbench.evaluate`."""


class Predictor(nn.Module):
    """Wraps a function from ids to labels or logits as a network.

    An `nn.Module` gets a LongTensor on its device, anything else a NumPy array.

    Args:
        bits: whether an answer is a set of outputs (bits) instead of one output.

    Attributes:
        gave: ``labels`` or ``logits``, after the first answer.
    """

    traits = Traits()

    def __init__(self, predict: Predict, task: Task, *, bits: bool) -> None:
        super().__init__()
        self._task, self._bits, self.gave = task, bits, ""
        self.predict = predict  # a module becomes a submodule

    def forward(self, batch: Batch) -> Tensor:
        """Return logits in the task's layout.

        Raises:
            RequestError: for an answer of the wrong shape or an invalid label.
        """
        ids: Any = batch.symbols
        if isinstance(self.predict, nn.Module):
            first = next(self.predict.parameters(), ids)
            ids = ids.to(first.device)
        else:
            ids = ids.cpu().numpy()
        answer = self.predict(ids)
        if not isinstance(answer, Tensor):
            answer = _tensor(answer)
        return self._logits(answer.detach().to(batch.symbols.device), batch)

    def _logits(self, answer: Tensor, batch: Batch) -> Tensor:
        task, logits = self._task, expected_shape(self._task, batch)
        labels = logits if self._bits else logits[:-1]
        shape = tuple(answer.shape)
        if shape == logits and answer.is_floating_point():
            self.gave = "logits"
            return answer
        if shape != labels:
            raise RequestError(
                f"predict was given ids of shape {tuple(batch.symbols.shape)} and returned "
                f"{str(answer.dtype).removeprefix('torch.')} of shape {shape}: expected labels "
                f"{labels} or logits {logits} (floats) for {task.name}"
            )
        self.gave = "labels"
        most = 2 if self._bits else task.outputs
        whole = answer.long()
        if bool((whole != answer.double()).any()) or not bool(
            ((whole >= 0) & (whole < most)).all()
        ):
            raise RequestError(
                f"predict returned labels that are not integers from 0 to {most - 1}"
            )
        return task.objective.decided(whole, task.outputs)


class RecordedAnswers(nn.Module):
    """Wraps given answers as a network that returns them in the order of the test."""

    traits = Traits()
    gave = "labels"

    def __init__(self, labels: Iterable[npt.NDArray[Any]], task: Task) -> None:
        super().__init__()
        self._labels, self._task = deque(labels), task

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits of the next answers."""
        rows = [self._labels.popleft() for _ in range(len(batch.symbols))]
        return self._task.objective.decided(torch.from_numpy(np.stack(rows)), self._task.outputs)


def network_of(predict: Any, task: Task, *, bits: bool) -> nn.Module:
    """Wrap a predictor as a network.

    Args:
        predict: a function or module, an object with a method named after the objective
            (``next_symbols``), or a class of these, which is called with the task.
        task: what is asked.
        bits: whether an answer is a set of outputs.

    Raises:
        RequestError: if it cannot be called or built with the task, if it is a backbone, or if
            answers are generated step by step and it is no network with traits.
    """
    if isinstance(predict, type):
        name, arguments = predict.__name__, signature(predict)
        try:
            arguments.bind(task)
        except TypeError:
            line = f"{name}{arguments} takes no task argument: expected {name}(task)"
            raise RequestError(line) from None
        predict = predict(task)
    traits = getattr(predict, "traits", None)
    if isinstance(predict, nn.Module) and isinstance(traits, Traits):
        if traits.backbone:  # a new readout would answer at random
            raise RequestError(
                f"{type(predict).__name__} is a backbone: it returns states and no answers: pass "
                "a trained network (formalbench.trained), or one with its readout"
            )
        return predict
    if task.layout == "decoded":
        raise RequestError(
            f"the answers of {task.name} are generated step by step: predict must be a network "
            "with Traits(encoder_decoder=True)"
        )
    wanted = task.objective.name.replace("-", "_")
    method = getattr(predict, wanted, None)
    predict = method if callable(method) and not isinstance(predict, nn.Module) else predict
    if not callable(predict):
        line = f"predict is {type(predict).__name__}, which cannot be called"
        raise RequestError(f"{line} and has no method {wanted}")
    return Predictor(predict, task, bits=bits)


def _tensor(answer: Any) -> Tensor:
    """Convert an array of any framework to a tensor."""
    try:
        array = np.array(answer)  # a copy, because arrays of other frameworks may be read-only
        if array.dtype.kind == "c":
            raise ValueError("complex numbers")
        if array.dtype.kind not in "biuf":  # bfloat16 of other frameworks
            array = array.astype(np.float32)
        return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        raise RequestError(f"predict did not return an array of numbers: {error}") from error
