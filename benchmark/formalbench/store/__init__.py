"""The store: a folder of records, one JSON file per run or verification, and their weights."""

from formalbench.store.records import (
    RunFacts,
    Store,
    default_results,
    read_record,
    safe_name,
    weights_path,
    without_collection,
    write_atomically,
)

__all__ = [
    "RunFacts",
    "Store",
    "default_results",
    "read_record",
    "safe_name",
    "weights_path",
    "without_collection",
    "write_atomically",
]
