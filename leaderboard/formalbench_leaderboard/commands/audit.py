"""The command ``formalbench leaderboard audit``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.contracts.errors import RequestError
from formalbench.documents.text import harmless, percent, plural, rate
from formalbench.ui.terminal import JsonFlag, console, host_of, plugins_print_to_stderr, print_json

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord

    from formalbench_leaderboard.publishing.audit import Auditor
    from formalbench_leaderboard.publishing.judge import Audit
    from formalbench_leaderboard.publishing.rerun import RepeatedTraining


def audit(
    ctx: typer.Context,
    records: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RECORD",
            help="Files of records, or folders of them. Default: all published records of this "
            "repository.",
        ),
    ] = None,
    weights: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE|DIR",
            help="An archive of weights, or a folder of records with weights beside them; "
            "repeatable. Weights beside the audited records are always found.",
        ),
    ] = None,
    retrain: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="Train N randomly chosen runs again (slow).",
        ),
    ] = "0",
    verify: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="Repeat N randomly chosen verifications from folders. A verification that is "
            "named as RECORD is always repeated.",
        ),
    ] = "1",
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="S", help="Seed of fresh strings and of the sample. Default: random."
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="auto|cpu|cuda[:i]", help="Where to compute.")
    ] = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Re-test published models and compare with their records.

    A record must be one that `publish` accepts. Its weights (from the archive named with
    --weights) are tested on the record's own test and validation strings, where almost
    nothing may change, and on fresh strings of the same lengths. If the two test accuracies
    differ significantly (Fisher's exact test over all lengths and at each length, p < 1e-6),
    the result is MISMATCH: the number was invented, or the weights belong to another network
    or were fitted to the test strings. Exact models are built again.

    --retrain N trains N randomly chosen runs again, each with its whole cohort. Runs that
    have no weights or failed can be chosen, too. On the same kind of CPU with the same
    versions, the weights and metrics must be the same. Elsewhere the beginning of the learning
    curve must agree, and other results are not judged. The estimated time is printed first.
    Runs without weights that are not retrained are not audited, and are listed at the end.
    With --weights, missing weights are refused.

    --verify N repeats N verifications of exact models on all of their strings. The samples
    are random; the printed seed repeats them.

    Records whose plugin is not installed are rejected: read its source, then name it with
    --plugin. Exit code 1 if a record does not match or is refused.

    \b
    formalbench leaderboard audit --weights weights.tar
    formalbench leaderboard audit my-results/lstm --seed 7
    formalbench leaderboard audit --retrain 5 --verify 3
    """
    import secrets

    from formalbench.device import choose_device
    from formalbench.store import PUBLISHED_RESULTS
    from formalbench.store.archive import WeightLookup

    from formalbench_leaderboard.publishing import audit as auditing
    from formalbench_leaderboard.publishing.publish import find_repository

    runs = auditing.parse_count(retrain, "--retrain")
    verifications = auditing.parse_count(verify, "--verify")
    at_hand = WeightLookup(weights or ())
    chosen = choose_device(device)
    used = secrets.randbits(32) if seed is None else seed
    files = _files(records or [find_repository() / PUBLISHED_RESULTS])
    stored = auditing.read_records(files)
    sample = auditing.draw_sample(stored, used, runs, verifications)
    typer.echo(f"fresh strings of seed {used} (--seed {used} repeats the audit)", err=True)
    audits = []
    with auditing.Auditor(host_of(ctx), used, chosen, at_hand) as auditor:
        if estimate := auditing.retraining_estimate(stored, sample):
            typer.echo(estimate, err=True)
        by_task = {path: files[path] for path in sorted(files, key=partial(_order, stored))}
        for audited in _audits(auditor, by_task, sample):
            audits.append(audited)
            if audited.verdict != "skipped":
                typer.echo(_line(audited), err=as_json)
    for line in _skipped(audits):
        typer.echo(line, err=as_json)
    if as_json:
        print_json({"seed": used, "records": [_data(one) for one in audits]})
    if any(one.verdict in ("MISMATCH", "refused") for one in audits):
        raise typer.Exit(1)


def _files(paths: Sequence[Path]) -> dict[Path, bool]:
    """Return the files to audit, and whether the user named each file itself.

    Raises:
        RequestError: for a path that does not exist, or a folder without records.
    """
    files: dict[Path, bool] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            if not below:
                raise RequestError(f"{path}: no record in this folder")
            files = dict.fromkeys(below, False) | files
        elif path.is_file():
            files[path] = True
        else:
            raise RequestError(f"{path}: no such record")
    return files


def _order(records: Mapping[Path, AnyRecord], path: Path) -> tuple[str, ...]:
    """Return a sort key that puts records of one task together."""
    record = records.get(path)
    if record is None:
        return "", "", str(path)
    protocol = getattr(record, "protocol", None)
    task = f"{record.task.name} {sorted(record.task.options.items())}"
    return protocol.name if protocol else "", task, str(path)


def _audits(
    auditor: Auditor, files: Mapping[Path, bool], sample: Collection[Path]
) -> Iterator[Audit]:
    """Audit records one by one, with the progress on a terminal."""
    with console(stderr=True).status("") as status:
        for number, (path, named) in enumerate(files.items(), start=1):
            status.update(f"{number} of {len(files)}")
            with plugins_print_to_stderr():
                one = auditor.audit(path, named, path in sample)
            yield one


def _line(one: Audit) -> str:
    """Return the line that reports an audit."""
    record, info = one.record, []
    if one.verdict == "refused" or record is None:
        line = "; ".join(one.reasons)
        return f"refused   {harmless(line if str(one.path) in line else f'{one.path}: {line}')}"
    if one.p is not None:
        shares = f"recorded {percent(one.recorded)} %, fresh {percent(one.fresh)} %"
        info.append(f"{shares}, p {one.p:.2g}")
    elif one.recorded is not None:
        info.append(f"recorded {percent(one.recorded)} %; no fresh strings, its test is fixed data")
    if one.changed and one.verdict == "ok":
        info.append(f"{one.changed:,} answers to its own test strings changed")
    if one.retrained is not None:
        info.append(_training_text(one.retrained))
    if one.reverified is not None:
        info.append(f"verified again: {plural(one.reverified.errors, 'error')}")
    info += [*one.reasons, *([str(one.path)] if one.verdict == "MISMATCH" else [])]
    return f"{one.verdict:<8}  {harmless(_title(record))}: {harmless('; '.join(info))}"


def _title(record: AnyRecord) -> str:
    """Return the title of a record: its model, task, protocol and seed."""
    from formalbench.contracts.verification import VerificationRecord
    from formalbench.statistics.records import model_key, title_of

    title = f"{model_key(record)[0]} on {title_of(record)}"
    if isinstance(record, VerificationRecord):
        return f"{title}, {record.dtype if record.break_length is None else 'all precisions'}"
    at = "" if record.learning_rate is None else f", rate {rate(record.learning_rate)}"
    return f"{title}, {record.protocol.title}{at}, seed {record.seed}"


def _training_text(run: RepeatedTraining) -> str:
    conditions = "" if run.alike else " under other conditions"
    if run.accuracy is None:
        return f"trained again{conditions}: {run.status}"
    counts = "all counts equal" if not run.changed else f"{run.changed:,} answers changed"
    return f"trained again{conditions}: {percent(run.accuracy)} %, {counts}"


def _skipped(audits: Sequence[Audit]) -> list[str]:
    """Return a line for each reason for skipping records, and one with their total number."""
    reasons = Counter(one.reasons[0] for one in audits if one.verdict == "skipped")
    lines = [f"skipped   {plural(times, 'record')}: {reason}" for reason, times in reasons.items()]
    if not lines:
        return []
    total = reasons.total()
    note = f"{total:,} of {plural(len(audits), 'record')} not audited: their numbers are unchecked"
    return [*sorted(lines), note]


def _data(one: Audit) -> dict[str, Any]:
    """Return an audit as data, for ``--json``."""
    data = asdict(replace(one, record=None))
    del data["record"]
    ids = {name: getattr(one.record, name, None) for name in ("test_id", "verification_id")}
    return {"path": str(data.pop("path")), **ids, **data}
