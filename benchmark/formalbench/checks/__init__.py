"""Checks that a plugin satisfies the contract, on a CPU within seconds."""

from formalbench.checks.plugins import Check, check_plugin, check_spec

__all__ = ["Check", "check_plugin", "check_spec"]
