"""The store: a folder with one JSON record per run or verification, and the runs' weights."""

from formalbench.files import UNFINISHED, replacing, sweep, write_atomically
from formalbench.store.records import (
    RunFacts,
    Store,
    default_results,
    read_record,
    read_stored,
    safe_name,
    weights_path,
    without_collection,
)

__all__ = [
    "UNFINISHED",
    "RunFacts",
    "Store",
    "default_results",
    "read_record",
    "read_stored",
    "replacing",
    "safe_name",
    "sweep",
    "weights_path",
    "without_collection",
    "write_atomically",
]
