"""Waiting for what another process or thread does."""

import time

PATIENCE = 600.0


def until(condition):
    """Wait for a condition, and return what it then says; fail after a while."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found
