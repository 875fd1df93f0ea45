"""The contract, run: does a task or a model plugin keep its promises? On a CPU, in seconds."""

from formalbench.checks.plugins import check_plugin, check_spec
from formalbench.checks.promises import Check

__all__ = ["Check", "check_plugin", "check_spec"]
