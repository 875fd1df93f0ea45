"""The contract of what is published and is not built in: `formalbench check`, before it counts.

A network that sees the future, or whose strings of one batch affect each other, gives numbers that
mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from formalbench.analysis.keys import title_of
from formalbench.analysis.text import harmless
from formalbench.checks import apart
from formalbench.checks.models import model_promises
from formalbench.checks.promises import Check, keep
from formalbench.checks.tasks import task_promises
from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.record import Record
from formalbench.contracts.specs import display
from formalbench.contracts.verification import AnyRecord
from formalbench.running.apart import Apart, Tell
from formalbench.running.worker import load_host

from formalbench_leaderboard.publishing.places import is_built_in
from formalbench_leaderboard.publishing.strangers import Question, are_strangers, plugins_needed

if TYPE_CHECKING:
    from formalbench.contracts.task import Task
    from formalbench.host.host import PluginHost

CAN_BE_TRIED = "can be tried"


def broken_promises(records: Iterable[AnyRecord], host: PluginHost) -> list[str]:
    """Say which models and tasks of records break the contract: a line for each promise broken.

    Models and tasks that come with formalbench are checked by its own tests. Any other model is
    tried on each of the tasks that it has records of, with the options that they have.

    Args:
        records: that `Admission` takes.
        host: the plugins.
    """
    tried: dict[tuple[str, str, str], AnyRecord] = {}
    for record in records:
        if not (is_built_in(record.model.source) and is_built_in(record.task.source)):
            model = display(record.model.name, record.model.options)
            window = str(record.protocol.splits) if isinstance(record, Record) else ""
            tried.setdefault((model, title_of(record), window), record)
    checks: list[Check] = []
    with Apart(apart.LIMIT) as process:
        for (model, title, _), record in tried.items():
            subject = f"{model} on {title}"
            if are_strangers(record, host):
                question = Question(record, plugins_needed(record, host), subject)
                begin = Check(subject, CAN_BE_TRIED)
                checks += apart.tried(process, _try_apart, question, begin)
            else:
                checks += _try(record, host, subject)
    lines = (f"{one.subject}: {one.promise}: {one.problem}" for one in checks if not one.passed)
    return list(dict.fromkeys(map(harmless, lines)))


def _try_apart(question: Question[str], tell: Tell) -> list[Check]:
    apart.follow(tell, Check(question.asked, CAN_BE_TRIED))
    return _try(question.record, load_host(question.plugins), question.asked)


def _try(record: AnyRecord, host: PluginHost, subject: str) -> list[Check]:
    import torch

    threads = torch.get_num_threads()  # the promises of a model are tried with one
    try:
        return _checks(record, host, subject)
    except PLUGIN_FAILURES as error:
        return [Check(subject, CAN_BE_TRIED, " ".join(str(error).split()))]
    finally:
        torch.set_num_threads(threads)


def _checks(record: AnyRecord, host: PluginHost, subject: str) -> list[Check]:
    task: Task = host.task(record.task.name, record.task.options)
    if isinstance(record, Record):
        task = record.protocol.apply(task)
    checks: list[Check] = []
    if not is_built_in(record.task.source):
        checks += keep(f"task {title_of(record)}", task_promises(task))
    if not is_built_in(record.model.source):
        build = partial(host.network, record.model.name, task, record.model.options)
        checks += keep(f"model {subject}", model_promises(build, task))
    return checks
