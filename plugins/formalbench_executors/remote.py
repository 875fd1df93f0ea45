"""What a job runs."""

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Callable
from typing import Any

Answer = tuple[bool, Any]
"""Whether it was done, and what it gave or raised."""


def carry_out(function: Callable[[Any], Any], unit: object) -> Answer:
    """Do something, and return what came of it as what any process can read.

    An exception travels as it is, if it can: its kind says whose fault it was.
    """
    _work_to_the_end()
    try:
        return True, function(unit)
    except Exception as error:  # noqa: BLE001  # it is the caller's
        return False, _sendable(error)
    except BaseException as error:  # noqa: BLE001  # of a plugin's own kind: the caller's, too
        return False, RuntimeError(f"{type(error).__name__}: {error}")


def _work_to_the_end() -> None:
    """Let a job that is told its time is nearly up go on.

    submitit would raise an exception wherever the unit is, which would pass for the model's own.
    One that does not make it is killed, and so lost.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # whatever a plugin's exception does
        return RuntimeError(f"{type(error).__name__}: {error}"[:1000])
    return error
