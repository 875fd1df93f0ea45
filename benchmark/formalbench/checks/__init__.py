"""Checks that a plugin satisfies the contract, on a CPU within seconds."""

from formalbench.checks.plugins import check_plugin, check_spec
from formalbench.checks.promises import Check

__all__ = ["Check", "check_plugin", "check_spec"]
