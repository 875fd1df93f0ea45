"""What costs computing and never changes, kept between calls."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.store import write_atomically

ENVIRONMENT = "FORMALBENCH_CACHE"


def cache_folder() -> Path:
    """Return where the cache lives: ``FORMALBENCH_CACHE`` or a per-user folder."""
    if told := os.environ.get(ENVIRONMENT):
        return Path(told)
    import platformdirs

    return Path(platformdirs.user_cache_dir("formalbench", appauthor=False))


def cached(key: object, compute: Callable[[], Any]) -> Any:
    """Return `compute()`, or what it returned last time for this key.

    Args:
        key: anything JSON can write; must name everything the value depends on.
        compute: returns something JSON can write.
    """
    text = json.dumps(key, sort_keys=True)
    path = cache_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["key"] == json.loads(text):
            return kept["value"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, or not ours: compute it
    value = compute()
    with contextlib.suppress(RequestError):  # a read-only home costs time, not results
        write_atomically(path, json.dumps({"key": json.loads(text), "value": value}))
    return value
