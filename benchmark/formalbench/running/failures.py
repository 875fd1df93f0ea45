"""What went wrong in a run: a status, one line, and the place in a plugin's code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalbench.contracts.errors import BrokenPluginError, FormalbenchError
from formalbench.contracts.record import Place, Status

if TYPE_CHECKING:
    from formalbench.host import PluginHost

MAX_LINE = 500
"""Characters of a message, or of a frame."""

MAX_FRAMES = 8

_ENGINE = Path(__file__).resolve().parent.parent


class RunFailure(NamedTuple):
    """Why a run did not finish.

    Attributes:
        status: as a record has it.
        message: one line.
        place: where in a plugin's code; None if elsewhere.
    """

    status: Status
    message: str
    place: Place | None = None


def failure_of(error: BaseException, host: PluginHost, *, debug: bool = False) -> RunFailure:
    """Return what a record says of an exception in a run.

    Args:
        error: the exception.
        host: knows the plugins, and so whose code it came from.
        debug: whether to print the whole traceback to standard error, too.
    """
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    message = _message(error)
    return RunFailure(_status(error, message), message, _place(error, _roots(host)))


def _message(error: BaseException) -> str:
    lines = [f"{type(error).__name__}: {error}"]
    if isinstance(error, FormalbenchError):
        lines = str(error).strip().splitlines()
        lines = [lines[0], lines[-1]] if len(lines) > 1 else lines
    return plain_line(": ".join(lines))


def plain_line(text: str) -> str:
    """Return a text as one line that a record can hold."""
    line = " ".join(text.split())
    return line.encode("utf-8", "backslashreplace").decode()[:MAX_LINE]


def _status(error: BaseException, message: str) -> Status:
    import torch

    from formalbench.evaluation.evaluate import NotFiniteError

    if isinstance(error, NotFiniteError):
        return "diverged"
    out_of_memory = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
    if out_of_memory or "can't allocate memory" in message:
        return "out-of-memory"
    return "error"


def _roots(host: PluginHost) -> list[Path]:
    """Return the file or folder of every plugin but the engine itself."""
    roots = []
    for plugin in host.plugins:
        file = getattr(plugin.module, "__file__", None)
        if plugin.local is not None:
            roots.append(plugin.local.path)
        elif file is not None:
            roots.append(Path(file).resolve().parent)
    return [root for root in roots if root != _ENGINE]


def _place(error: BaseException, roots: Sequence[Path]) -> Place | None:
    """Return where the innermost frame of a plugin's own code is, with those above it."""
    while isinstance(error, BrokenPluginError) and error.__cause__ is not None:
        error = error.__cause__
    frames = [
        (root, frame)
        for frame in traceback.extract_tb(error.__traceback__)
        for root in _owner(frame.filename, roots)
    ]
    if not frames:
        return None
    root, innermost = frames[-1]
    own = [frame for other, frame in frames if other == root]
    return Place(
        file=_relative(innermost.filename, root),
        line=innermost.lineno or 0,
        frames=tuple(
            plain_line(f"{_relative(f.filename, root)}:{f.lineno} in {f.name}: {f.line}")
            for f in own[-MAX_FRAMES:]
        ),
    )


def _owner(filename: str, roots: Sequence[Path]) -> list[Path]:
    file = Path(filename).resolve()
    return [root for root in roots if file.is_relative_to(root)][:1]


def _relative(filename: str, root: Path) -> str:
    file = Path(filename).resolve()
    return file.name if file == root else plain_line(file.relative_to(root).as_posix())
