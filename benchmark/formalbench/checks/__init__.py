"""The contract, run: does a task or a model plugin keep its promises? On a CPU, in seconds."""

from formalbench.checks.report import Check, check_plugin, check_spec

__all__ = ["Check", "check_plugin", "check_spec"]
