"""What is announced of Delétang et al. (2023): numbers that boards show."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import TableSpec

TABLES = (
    TableSpec(
        "deletang-2023", "five models on eight tasks", Path(__file__).with_name("published.yaml")
    ),
)
