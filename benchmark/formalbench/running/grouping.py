"""Which runs go together: cohorts, of one model on one task with one seed, and their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from formalbench.contracts.errors import PLUGIN_FAILURES, RequestError
from formalbench.running.plan import Run

if TYPE_CHECKING:
    from formalbench.host import PluginHost


def cohorts_of(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Return the runs that can train together, in order.

    They are of one model on one task under one protocol and, since the lengths of a run's batches
    depend on its seed, of one seed; of several under a protocol whose seeds share them.
    """
    found: list[list[Run]] = []
    places: dict[tuple[str, str, str, int | None], list[list[Run]]] = {}
    for run in runs:
        seed = None if run.protocol.shared_lengths else run.seed
        pair = (run.info.model, run.info.task, run.protocol.title, seed)
        for cohort in places.setdefault(pair, []):
            if cohort[0].protocol == run.protocol:
                cohort.append(run)
                break
        else:
            found.append([run])
            places[pair].append(found[-1])
    return [tuple(cohort) for cohort in found]


def divided(cohort: Sequence[Run], device: str, least: int | None) -> Iterator[tuple[Run, ...]]:
    """Divide a cohort into what goes to one process.

    On a GPU its runs train together. On a CPU every run is by itself, so that a core is busy with
    one and a kill loses one, but for networks so small that they train faster together. How many
    processes there are has no say: it would have one in the last digits.

    Args:
        cohort: the runs.
        device: ``cpu``, ``cuda`` or ``cuda:i``.
        least: from how many runs on they train faster together on a CPU; None for never.
    """
    alone = device == "cpu" and (least is None or len(cohort) < least)
    size = 1 if alone else len(cohort)
    for first in range(0, len(cohort), size):
        yield tuple(cohort[first : first + size])


def look_at_task(host: PluginHost, run: Run) -> None:
    """Refuse what a task cannot be asked under a protocol, before anything is trained.

    Raises:
        RequestError: for options, lengths or a protocol that the task refuses. Anything else that
            goes wrong is left to the run, whose record will tell.
    """
    from formalbench.evaluation.cells import (
        cell_lengths,
        check_process,
        is_window,
        split_lengths,
    )

    try:
        task = run.protocol.apply(host.task(run.task.name, run.task.options))
        check_process(task, run.protocol)
        split_lengths(task, "train"), split_lengths(task, "test")
        if not is_window(task, run.protocol):
            cell_lengths(task, run.protocol)
        if run.protocol.splits is None:  # lengths of its own are meant
            host.warn_of_overlap(task)
    except RequestError:
        raise
    except PLUGIN_FAILURES:
        return


def least_of(host: PluginHost, run: Run, device: str) -> int | None:
    """Build a run's network once, and say from how many such runs on they train together.

    Args:
        host: the plugins.
        run: one of a cohort.
        device: ``cpu``, ``cuda`` or ``cuda:i``.

    Raises:
        RequestError: for options or pairings that the model refuses. Anything else that goes
            wrong is left to the run, whose record will tell.
    """
    import torch

    from formalbench.contracts.network import traits_of
    from formalbench.evaluation.cells import check_lengths
    from formalbench.training.programs import check_penalties, least_together
    from formalbench.training.recipe import make_recipe
    from formalbench.training.watch import check_watch

    with torch.random.fork_rng(devices=[]):
        try:
            task = run.protocol.apply(host.task(run.task.name, run.task.options))
            network = host.network(run.model.name, task, run.model.options)
            if run.learning_rate is not None:
                check_lengths(run.info.model, traits_of(network).lengths, task, run.protocol)
                recipe = make_recipe(host, run.protocol)
                check_watch(network, run.info.model, task, run.protocol, recipe.probes)
                check_penalties(network, run.info.model, recipe.penalties)
            return least_together(network, device.partition(":")[0], run.protocol.batch)
        except RequestError:
            raise
        except PLUGIN_FAILURES:
            return None
