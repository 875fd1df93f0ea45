"""Check a repository: its records, their paths, plugins, weights and rendered files.

The models are checked, too: the results of a network that sees future symbols, or in which the
strings of a batch affect each other, mean nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from formalbench.checks import remote
from formalbench.checks.models import model_promises
from formalbench.checks.plugins import Check, keep
from formalbench.checks.tasks import task_promises
from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.specs import display
from formalbench.contracts.task import Task
from formalbench.contracts.verification import AnyRecord
from formalbench.documents.text import harmless
from formalbench.files import UNFINISHED, sweep
from formalbench.host import PluginHost
from formalbench.running.sandbox import Report, Sandbox
from formalbench.running.worker import load_host
from formalbench.statistics.records import title_of
from formalbench.store import PUBLISHED_RESULTS, Store, weights_path
from formalbench.store.archive import WeightLookup, read_weights

from formalbench_leaderboard.board.sources import is_built_in, parted
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.places import home_suite, naming, path_among
from formalbench_leaderboard.publishing.plugin_sources import kept_problems
from formalbench_leaderboard.publishing.record_check import Admission, copied, disagreeing
from formalbench_leaderboard.publishing.score_reports import reports_problems
from formalbench_leaderboard.publishing.untrusted_plugins import (
    PluginProcesses,
    Question,
    plugins_needed,
)
from formalbench_leaderboard.publishing.weights import contradictions, has_weights, keeps_weights

CAN_BE_TRIED = "can be tried"


def broken_promises(
    records: Iterable[AnyRecord], host: PluginHost, processes: PluginProcesses
) -> list[str]:
    """Return the contract violations of the records' models and tasks, a line for each.

    Models and tasks that come with formalbench are checked by its own tests. Any other model is
    checked on each task of its records, with the options of those records.
    """
    unique: dict[tuple[str, str, str], AnyRecord] = {}
    for record in records:
        if not (is_built_in(record.model.source) and is_built_in(record.task.source)):
            model = display(record.model.name, record.model.options)
            window = str(record.protocol.splits) if isinstance(record, Record) else ""
            unique.setdefault((model, title_of(record), window), record)
    checks: list[Check] = []
    with Sandbox(remote.LIMIT) as sandbox:
        for (model, title, _), record in unique.items():
            subject = f"{model} on {title}"
            if processes.foreign(record):
                question = Question(record, plugins_needed(record, host), subject)
                begin = Check(subject, CAN_BE_TRIED)
                checks += remote.ask_for_checks(sandbox, _try_remotely, question, begin)
            else:
                checks += _try(record, host, subject)
    lines = (f"{one.subject}: {one.promise}: {one.problem}" for one in checks if not one.passed)
    return list(dict.fromkeys(map(harmless, lines)))


def _try_remotely(question: Question[str], report: Report) -> remote.Rows:
    remote.report_promises(report, Check(question.asked, CAN_BE_TRIED))
    assert question.record is not None
    return remote.rows_of(_try(question.record, load_host(question.plugins), question.asked))


def untrue(
    records: Mapping[Path, AnyRecord],
    weights: WeightLookup,
    host: PluginHost,
    processes: PluginProcesses,
) -> Iterator[str]:
    """Return the records of plugins' networks that contradict their weights, a line for each.

    The author of such a network ran its code together with the test. Networks of formalbench's own
    code are tested by `audit`.
    """
    auditor = Auditor(host, secrets.randbits(32), "cpu", weights, processes)
    for file, record in sorted(records.items(), key=lambda pair: title_of(pair[1])):
        if processes.foreign(record) & {"model", "task"}:
            result = auditor.retest(file, record)
            if result.verdict in ("MISMATCH", "refused"):
                yield f"{file}: {'; '.join(result.reasons)}"


def _try(record: AnyRecord, host: PluginHost, subject: str) -> list[Check]:
    import torch

    threads = torch.get_num_threads()  # a model's checks run with one thread
    checks: list[Check] = []
    try:
        task: Task = host.task(record.task.name, record.task.options)
        if isinstance(record, Record):
            task = record.protocol.apply(task)
        if not is_built_in(record.task.source):
            checks += keep(f"task {title_of(record)}", task_promises(task))
        if not is_built_in(record.model.source):
            build = partial(host.network, record.model.name, task, record.model.options)
            promises = model_promises(build, task, learned=record.model.kind == "learned")
            checks += keep(f"model {subject}", promises)
        return checks
    except PLUGIN_FAILURES as error:
        return [Check(subject, CAN_BE_TRIED, " ".join(str(error).split()))]
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check; the fields are the keys of ``check --json``.

    Attributes:
        problems: errors in the records and the weights, one line each.
        stale_files: rendered files that do not match the records.
        stale_records: number of records of another version of a task, a model or a protocol. They
            stay and do not count.
        unchecked_records: records whose plugins are not installed; `problems` has a line for each.
        uncompared_figures: always empty; drawing them needs the drawing library.
        weightless_records: runs whose weights are required but were not found.
    """

    problems: list[str]
    stale_files: list[Path]
    stale_records: int = 0
    unchecked_records: int = 0
    uncompared_figures: list[Path] = field(default_factory=list)
    weightless_records: int = 0


def check_published(
    repository: Path,
    host: PluginHost,
    weights: WeightLookup | None = None,
    *,
    stale: Callable[[], list[Path]] = list,
) -> CheckResult:
    """Check the published files of a repository against the rules of publishing; change none.

    Partial files of a writer that was killed are deleted first.

    Args:
        repository: its root.
        host: the plugins. Records of other plugins cannot be checked, which is a problem. The
            pages are then not compared, because their correct content is unknown.
        weights: where to look for weights, apart from the records' own folders. If any place is
            given, required weights must be there.
        stale: returns the rendered files that do not match the records, which are up to date on the
            main branch only. By default they are not compared.
    """
    lookup = weights or WeightLookup()
    results = repository / PUBLISHED_RESULTS
    sweep(results.parent)
    records, unreadable = Store(results).read()
    if unreadable:
        return CheckResult([_relative(repository, str(error)) for error in unreadable], [])
    with PluginProcesses(host) as processes:
        standing = {file: processes.standing(record) for file, record in records.items()}
        relevant = {
            file: record
            for file, record in records.items()
            if standing[file] != "stale" or processes.newer(record)
        }
        runs = parted(relevant.values())[0]
        home = cache(lambda task: home_suite(task, host))
        problems = [
            f"{file}: belongs at {path}"
            for file, record in relevant.items()
            if file != repository / (path := path_among(record, home))
        ]
        admission = Admission(host, processes)
        refused = dict(_errors(relevant, admission))
        problems += refused.values()
        problems += admission.incomplete(runs, [])
        problems += disagreeing(relevant)
        problems += copied(runs)
        problems += _weights_problems(results, records, lookup)
        problems += _strays(repository)
        problems += kept_problems(repository, records)
        current = {file: record for file, record in relevant.items() if standing[file] == "current"}
        problems += broken_promises(current.values(), host, processes)
        accepted = {file: record for file, record in current.items() if file not in refused}
        problems += untrue(accepted, lookup, host, processes)
    problems += _problems_of_plugins(repository, host)
    problems += reports_problems(repository, host)
    unchecked = list(standing.values()).count("unknown")
    return CheckResult(
        [_relative(repository, line) for line in problems],
        [] if unchecked else stale(),
        list(standing.values()).count("stale"),
        unchecked,
        weightless_records=_count_weightless(records, lookup),
    )


def _problems_of_plugins(repository: Path, host: PluginHost) -> Iterator[str]:
    """Return the errors that plugins find in their files in the repository."""
    for plugin in host.plugins:
        try:
            with host.blaming(plugin):
                arguments = {"repository": repository, "host": host}
                for lines in host.call(plugin, "formalbench_check_repository", **arguments):
                    yield from lines
        except FormalbenchError as error:
            yield str(error)


def _errors(records: Mapping[Path, AnyRecord], admission: Admission) -> Iterator[tuple[Path, str]]:
    """Return the records that could not be published as they are, a line for each."""
    for file, record in records.items():
        try:
            admission.admit(record)
        except FormalbenchError as error:
            yield file, naming(file, error)


def _weights_problems(
    results: Path, records: Mapping[Path, AnyRecord], lookup: WeightLookup
) -> Iterator[str]:
    """Return the weights that do not match their record or belong to none, a line for each.

    If any archive or folder is given, also return the required weights (`keeps_weights`) that are
    missing.

    Args:
        results: the folder of the published records, which may contain weights, too.
        records: records of every kind, by their files.
        lookup: other places with weights.
    """
    runs = {file: one for file, one in records.items() if isinstance(one, Record)}
    owners = {weights_path(file): file for file, run in runs.items() if run.weights is not None}
    for path in sorted(results.rglob("*.safetensors")):
        if path not in owners:
            yield f"{path}: weights of no record that names them"
            continue
        try:
            read_weights(runs[owners[path]], path)
        except RequestError as error:
            yield naming(owners[path], error)
    yield from contradictions(lookup.archives, runs)
    for file, run in runs.items() if lookup.places else ():
        try:
            if run in lookup or (keeps_weights(run) and not weights_path(file).exists()):
                lookup.read(run)
        except RequestError as error:
            yield naming(file, error)


def _count_weightless(records: Mapping[Path, AnyRecord], lookup: WeightLookup) -> int:
    """Return the number of runs whose weights are required but were not found."""
    return sum(
        keeps_weights(record) and not has_weights(file, record, lookup)
        for file, record in records.items()
    )


def _strays(repository: Path) -> Iterator[str]:
    """Return the files that publishing does not write, a line for each."""
    for path in sorted((repository / PUBLISHED_RESULTS).rglob("*")):
        allowed = path.suffix in (".json", ".safetensors") or path.name.startswith(UNFINISHED)
        if not allowed and (path.is_symlink() or not path.is_dir()):
            yield f"{path}: neither a record nor the weights of one"
    for path in sorted((repository / PUBLISHED_RESULTS.parent).rglob(f"{UNFINISHED}*")):
        yield f"{path}: left by a writer that was interrupted: delete it"


def _relative(repository: Path, line: str) -> str:
    """Return a line with paths relative to the repository's root."""
    return harmless(line.replace(f"{repository}/", ""))
