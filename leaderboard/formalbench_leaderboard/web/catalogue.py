"""What a page can be searched for: every model, task and suite at hand, and what people call it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from formalbench.host import PluginHost

Kind = Literal["model", "exact", "task", "suite"]


@dataclass(frozen=True, slots=True)
class Findable:
    """Something that can be looked for.

    Attributes:
        kind: what it is; ``exact`` is a construction.
        name: its name, perhaps with fields: ``dyck-{k}``.
        summary: one line.
        words: what else it is found by: keywords, suites, papers.
    """

    kind: Kind
    name: str
    summary: str
    words: str


def catalogue(host: PluginHost) -> tuple[Findable, ...]:
    """Return all there is, each kind by name."""
    return (*_models(host), *_tasks(host), *_suites(host))


def _models(host: PluginHost) -> Iterator[Findable]:
    for entry in host.models.all():
        spec = entry.spec
        kind: Kind = "exact" if spec.kind == "exact" else "model"
        yield Findable(kind, spec.name, spec.summary, spec.reference)


def _tasks(host: PluginHost) -> Iterator[Findable]:
    suites: dict[str, list[str]] = {}
    for entry in host.registries["suites"].all():
        for task in entry.spec.tasks:
            suites.setdefault(task.partition(":")[0], []).append(entry.spec.name)
    for entry in host.tasks.all():
        spec = entry.spec
        inside = (f"suite {name}" for name in dict.fromkeys(suites.get(spec.name, [])))
        yield Findable(
            "task", spec.name, spec.summary, "; ".join((*spec.keywords, spec.reference, *inside))
        )


def _suites(host: PluginHost) -> Iterator[Findable]:
    for entry in host.registries["suites"].all():
        spec = entry.spec
        tasks = ", ".join(spec.tasks)
        yield Findable("suite", spec.name, spec.summary, f"{spec.reference}; {tasks}")
