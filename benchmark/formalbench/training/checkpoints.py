"""A cohort in the middle of its training, on disk: what is killed goes on where it was."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from formalbench.training.run_state import RunState

EVERY = 60.0
"""Seconds between two savings: what a kill can cost."""

S = TypeVar("S", bound=RunState)


@dataclass
class Checkpointer:
    """Saves a cohort every minute, and finds it again.

    Args:
        path: of the file; a function of everything that decides the cohort's numbers.
    """

    path: Path
    saved: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Say whether the last saving is long enough ago."""
        return time.monotonic() - self.saved >= EVERY

    def save(self, runs: Sequence[RunState]) -> None:
        """Write where the runs of a cohort stand; a full disk costs time only."""
        tensors: dict[str, Tensor] = {}
        plain = _adapter(runs).dump_python(list(runs), mode="json", context=tensors)
        with contextlib.suppress(OSError, SafetensorError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".writing-")
            os.close(handle)
            try:
                kept = {key: tensor.contiguous().cpu() for key, tensor in tensors.items()}
                save_file(kept, name, {"runs": json.dumps(plain)})
                Path(name).replace(self.path)
            finally:
                Path(name).unlink(missing_ok=True)
        self.saved = time.monotonic()

    def restore(self, runs: Sequence[S]) -> int:
        """Put the runs of a cohort back to where they were saved.

        A file that is not there, damaged, or of other runs, changes nothing.

        Returns:
            The steps they had done; 0 if nothing was found.
        """
        device = runs[0].parameters.device
        try:
            with safe_open(self.path, "pt") as file:
                text = (file.metadata() or {})["runs"]
                tensors = {name: file.get_tensor(name).to(device) for name in file.keys()}  # noqa: SIM118
            kept = _adapter(runs).validate_json(text, context=tensors)
        except (OSError, KeyError, SafetensorError, ValidationError):
            return 0
        if len(kept) != len(runs) or any(map(_unlike, kept, runs)):
            return 0
        for run, one in zip(runs, kept, strict=True):
            for part in fields(one):
                setattr(run, part.name, getattr(one, part.name))
        return max(run.steps for run in runs)

    def forget(self) -> None:
        """Delete the file: the cohort is through."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def _adapter(runs: Sequence[S]) -> TypeAdapter[list[S]]:
    kind: Any = type(runs[0])
    return TypeAdapter(list[kind])


def _unlike(one: RunState, other: RunState) -> bool:
    """Say whether two states are not of the same network and optimiser."""
    if list(one.slots) != list(other.slots):
        return True
    pairs = zip(one.rows, other.rows, strict=True)
    return any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in pairs)
