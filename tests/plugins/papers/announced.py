"""The reproductions that the papers' plugin announces, by name."""

from formalbench_papers import plugin
from formalbench_papers.framework import bench as framework

SPECS = {spec.name: spec for spec in plugin.formalbench_reproductions()}


def carry_out(name, bench):
    """Return what one finds."""
    return framework.carry_out(bench, SPECS[name])
