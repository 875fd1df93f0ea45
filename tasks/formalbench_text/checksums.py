"""Computes missing checksums of a description and adds them to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from formalbench import RequestError, read_yaml
from formalbench.files import write_atomically

from formalbench_text.description import SPLITS, CorpusDescription, TextFile, describe, digest_of
from formalbench_text.pair_description import SIDES, PairDescription
from formalbench_text.pair_description import describe as describe_pairs
from formalbench_text.tokenisers import hash_of, keep, tokeniser_of


def complete_file(path: Path) -> str:
    """Add the checksums that are missing to a YAML file; say what was done.

    Raises:
        RequestError: one line, if the file describes no corpus, or a checksum that it has is wrong.
    """
    data = read_yaml(path)
    if not {"corpus", "pairs"} & data.keys():
        raise RequestError(
            f"{path}: not a description of a corpus (it has no key 'corpus' or 'pairs')"
        )
    whole = completed(path, data)
    if whole == data:
        return f"{path}: nothing is missing"
    write_atomically(path, as_yaml(whole))
    return f"{path}: checksums added"


def completed(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a YAML file at this path with all checksums."""
    described = _described(path, data)
    if isinstance(described, PairDescription):
        splits = {s: [_completed(path, one) for one in described.files(s)] for s in SPLITS}
        both = {split: dict(zip(SIDES, files, strict=True)) for split, files in splits.items()}
        whole = {**data, "pairs": both}
    else:
        files = {s: [_completed(path, one) for one in described.files(s)] for s in SPLITS}
        whole = {**data, "corpus": files}
    choice = described.tokeniser
    if choice.kind == "file" and choice.file and not choice.sha256:
        found = digest_of(path.parent / choice.file)
        whole["tokeniser"] = {**data["tokeniser"], "sha256": found}
    elif choice.kind != "bytes" and not choice.sha256:
        made = tokeniser_of(described)
        whole["tokeniser"] = {**data["tokeniser"], "sha256": hash_of(made)}
        keep(_described(path, whole), made)
    return whole


def _described(path: Path, data: Mapping[str, Any]) -> CorpusDescription | PairDescription:
    return describe_pairs(path, data) if "pairs" in data else describe(path, data)


def _completed(path: Path, one: TextFile) -> dict[str, str]:
    """Return a file with its checksum."""
    return {"file": one.file, "sha256": one.sha256 or digest_of(path.parent / one.file)}


def as_yaml(data: Mapping[str, Any]) -> str:
    """Return contents as YAML text."""
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100)
