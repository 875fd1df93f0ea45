"""Stores a reproduction's measurements without training, step by step, in a file next to its page.

A stored step is not measured again: an interrupted command loses one step at most, and `formalbench
leaderboard check` works the verdicts out from the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.files import read_plain, write_atomically

MAX_BYTES = 64 << 20

Step = Mapping[str, Any]
"""Everything that decides a step's result, as JSON data: model, task, options, lengths, seeds."""


class UnmeasuredError(RequestError):
    """A step that is not in the file, where nothing is to be measured."""


class Measurements:
    """Measurements by step.

    Args:
        file: where it is kept, one JSON object a line; None to keep it in memory.
        measure: whether to measure what is not there.

    Attributes:
        used: what was asked for, the steps as JSON.
    """

    def __init__(self, file: Path | None = None, *, measure: bool = True) -> None:
        self._file, self._measure = file, measure
        self._known = _read(file) if file is not None and file.exists() else {}
        self.used: dict[str, Any] = {}

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self._known)

    def get(self, step: Step, measure: Callable[[], Any]) -> Any:
        """Return a step's result as JSON data; measure it if it is not stored.

        Args:
            step: which.
            measure: does it; returns what JSON can say.

        Raises:
            UnmeasuredError: if it is not there and nothing is to be measured.
        """
        key = _text(step)
        if key not in self._known:
            if not self._measure:
                raise UnmeasuredError(f"not measured: {key}")
            self._known[key] = json.loads(_text(measure()))
            self._write(self._known)
        self.used[key] = self._known[key]
        return self._known[key]

    def runs(self) -> set[str]:
        """Return the `test_id` of every run that there is a step of."""
        return {step["test_id"] for step in map(json.loads, self._known) if "test_id" in step}

    def keep_used(self, others: Collection[str]) -> None:
        """Delete unused steps from the file.

        Args:
            others: the `test_id` of runs whose steps stay all the same.
        """
        kept = {
            key: found
            for key, found in self._known.items()
            if key in self.used or json.loads(key).get("test_id") in others
        }
        if len(kept) < len(self._known):
            self._known = kept
            self._write(kept)

    def _write(self, steps: Mapping[str, Any]) -> None:
        if self._file is not None:
            lines = (f'{{"step":{key},"found":{_text(found)}}}\n' for key, found in steps.items())
            write_atomically(self._file, "".join(lines))


def _read(file: Path) -> dict[str, Any]:
    try:
        lines = read_plain(file, MAX_BYTES, "a file of measurements").splitlines()
        return {_text(one["step"]): one["found"] for one in map(json.loads, lines)}
    except (ValueError, LookupError, TypeError):
        raise RequestError(f"{file}: damaged") from None


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), sort_keys=True)
