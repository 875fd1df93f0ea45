"""The objectives: what can be asked of a model about a language. One file each.

A new objective is a file here and a line in the table below.
"""

from __future__ import annotations

from importlib import import_module

from formalbench.contracts.errors import unknown
from formalbench.contracts.objective import Objective

OBJECTIVES = {
    "classify": "formalbench.objectives.classify:Classify",
    "tag": "formalbench.objectives.tag:Tag",
    "next-symbols": "formalbench.objectives.next_symbols:NextSymbols",
    "generate": "formalbench.objectives.generate:Generate",
}


def get_objective(name: str) -> Objective:
    """Return the objective called `name`.

    Raises:
        RequestError: if there is none.
    """
    if name not in OBJECTIVES:
        raise unknown("objective", name, OBJECTIVES)
    module, attribute = OBJECTIVES[name].split(":")
    objective: Objective = getattr(import_module(module), attribute)()
    return objective
