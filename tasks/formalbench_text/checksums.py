"""Computes missing checksums of a description and adds them to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from formalbench import RequestError, read_yaml
from formalbench.files import write_atomically

from formalbench_text.description import SIDES, SPLITS, CorpusDescription, PairDescription
from formalbench_text.reading import digest_of
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
    kind = PairDescription if "pairs" in data else CorpusDescription
    described = kind.of(path, data)
    files: dict[str, Any] = {
        split: [
            {"file": one.file, "sha256": one.sha256 or digest_of(path.parent / one.file)}
            for one in described.files(split)
        ]
        for split in SPLITS
    }
    if kind is PairDescription:
        both = {split: dict(zip(SIDES, some, strict=True)) for split, some in files.items()}
        whole = {**data, "pairs": both}
    else:
        whole = {**data, "corpus": files}
    choice = described.tokeniser
    if choice.kind == "file" and choice.file and not choice.sha256:
        whole["tokeniser"] = {**data["tokeniser"], "sha256": digest_of(path.parent / choice.file)}
    elif choice.kind != "bytes" and not choice.sha256:
        tokeniser = tokeniser_of(described)
        whole["tokeniser"] = {**data["tokeniser"], "sha256": hash_of(tokeniser)}
        keep(kind.of(path, whole), tokeniser)
    return whole


def as_yaml(data: Mapping[str, Any]) -> str:
    """Return contents as YAML text."""
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100)
