"""Reproductions: a paper's figure or table, measured anew, its claims checked one by one.

A new reproduction is a file here and a line in the table below. Nothing heavy is imported
until one is asked for.
"""

from __future__ import annotations

from importlib import import_module

from formalbench.contracts.errors import unknown

from formalbench_papers.framework.findings import Reproduction

_HERE = "formalbench_papers"

REPRODUCTIONS = {
    "chi-fig3": f"{_HERE}.chi_fig3:REPRODUCTION",
    "chi-fig4a": f"{_HERE}.chi_fig4a:REPRODUCTION",
    "chi-table1": f"{_HERE}.chi_table1:REPRODUCTION",
    "chi-table2": f"{_HERE}.chi_table2:REPRODUCTION",
    "chiang-cholak-fig2": f"{_HERE}.chiang_cholak_fig2:REPRODUCTION",
    "chiang-cholak-fig3": f"{_HERE}.chiang_cholak_fig3:REPRODUCTION",
    "chiang-cholak-fig4": f"{_HERE}.chiang_cholak_fig4:REPRODUCTION",
    "steffen-dyck": f"{_HERE}.steffen_dyck:REPRODUCTION",
    "steffen-layernorm": f"{_HERE}.steffen_layernorm:REPRODUCTION",
    "yao-fig4a": f"{_HERE}.yao_fig4a:REPRODUCTION",
    "yao-fig4bc": f"{_HERE}.yao_fig4bc:REPRODUCTION",
    "yao-fig5": f"{_HERE}.yao_fig5:REPRODUCTION",
    "yao-theorem-4-3": f"{_HERE}.yao_theorem_4_3:REPRODUCTION",
}


def get_reproduction(name: str) -> Reproduction:
    """Return the reproduction called `name`.

    Raises:
        RequestError: if there is none.
    """
    if name not in REPRODUCTIONS:
        raise unknown("reproduction", name, REPRODUCTIONS)
    module, attribute = REPRODUCTIONS[name].split(":")
    found: Reproduction = getattr(import_module(module), attribute)
    return found
