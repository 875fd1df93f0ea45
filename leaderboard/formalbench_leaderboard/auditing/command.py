"""The command ``formalbench leaderboard audit``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from formalbench.ui.flags import JsonFlag

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord

    from formalbench_leaderboard.auditing.audit import Auditor
    from formalbench_leaderboard.auditing.found import Audit
    from formalbench_leaderboard.auditing.retrain import Retrained


def add_command(app: typer.Typer) -> None:
    """Add the command of this file."""

    @app.command()
    def audit(
        ctx: typer.Context,
        records: Annotated[
            list[Path] | None,
            typer.Argument(
                metavar="RECORD",
                help="Files of records, or folders of them. Default: all that this repository "
                "publishes with their weights.",
            ),
        ] = None,
        retrain: Annotated[
            str,
            typer.Option(
                metavar="N|all", help="How many runs to train again (slow), drawn at random."
            ),
        ] = "0",
        verify: Annotated[
            str,
            typer.Option(
                metavar="N|all",
                help="How many verifications to carry out again, drawn at random from folders; "
                "one that is named is.",
            ),
        ] = "1",
        seed: Annotated[
            int | None,
            typer.Option(metavar="S", help="Of fresh strings and draws. Default: a new one."),
        ] = None,
        device: Annotated[
            str, typer.Option(metavar="auto|cpu|cuda[:i]", help="Where to compute.")
        ] = "auto",
        as_json: JsonFlag = False,
    ) -> None:
        """Ask what records say again: are their numbers true?

        A record must be one that `publish` would take. Its weights then answer its own test
        strings, where next to nothing may change, its validation strings, and fresh strings of
        the same lengths that nobody has seen: a number that was made up, weights of another
        network or one that was fitted to the test strings show as a MISMATCH (Fisher's exact
        test, over all lengths and length by length, p < 1e-6). Exact models are built again.

        --retrain N draws N runs, those without weights and those that failed among them, and
        trains each again, with all that trained as one program with it. On the kind of machine
        that the record names it must end alike, with the same counts or such as one network
        could give; on another one training can end elsewhere, which is not judged. Likewise
        --verify N has N verifications of exact models judge all of their strings again. Who is
        drawn, nobody knows before; the seed that is printed repeats it.

        Records of a plugin that is not at hand are refused: read its source, then name it with
        --plugin. Exit code 1 if a record does not match or is refused.

        \b
        formalbench leaderboard audit
        formalbench leaderboard audit my-results/lstm --seed 7
        formalbench leaderboard audit --retrain 5 --verify 3
        """
        import secrets

        from formalbench.device import choose_device
        from formalbench.ui.output import print_json
        from formalbench.ui.state import host_of

        from formalbench_leaderboard.auditing.drawn import drawn, how_many

        runs, verifications = how_many(retrain, "--retrain"), how_many(verify, "--verify")
        chosen = choose_device(device)
        used = secrets.randbits(32) if seed is None else seed
        files = _files(records or [_published()])
        again = drawn(files, used, runs, verifications)
        typer.echo(f"fresh strings of seed {used} (--seed {used} repeats the audit)", err=True)

        from formalbench_leaderboard.auditing.audit import Auditor

        found = []
        with Auditor(host_of(ctx), used, chosen) as auditor:
            for one in _audits(auditor, files, again):
                found.append(one)
                if one.verdict != "skipped":
                    typer.echo(_line(one), err=as_json)
        for line in _skipped(found):
            typer.echo(line, err=as_json)
        if as_json:
            print_json({"seed": used, "records": [_data(one) for one in found]})
        if any(one.verdict in ("MISMATCH", "refused") for one in found):
            raise typer.Exit(1)


def _published() -> Path:
    from formalbench.store.repository import PUBLISHED_RESULTS

    from formalbench_leaderboard.publishing.publish import find_repository

    return find_repository() / PUBLISHED_RESULTS


def _files(asked: Sequence[Path]) -> dict[Path, bool]:
    """Return the records to audit, those of one task in a row, and which were named themselves.

    Raises:
        RequestError: for a path that is not there, or a folder without records.
    """
    from formalbench.contracts.errors import RequestError

    files: dict[Path, bool] = {}
    for path in asked:
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            if not below:
                raise RequestError(f"{path}: no record in this folder")
            files = dict.fromkeys(below, False) | files
        elif path.is_file():
            files[path] = True
        else:
            raise RequestError(f"{path}: no such record")
    return {path: files[path] for path in sorted(files, key=_order)}


def _order(path: Path) -> tuple[str, ...]:
    from formalbench.contracts.errors import RequestError
    from formalbench.contracts.record import Record
    from formalbench.store import read_record

    try:
        record = read_record(path)
    except RequestError:
        return "", "", str(path)
    protocol = record.protocol.name if isinstance(record, Record) else ""
    return protocol, f"{record.task.name} {sorted(record.task.options.items())}", str(path)


def _audits(
    auditor: Auditor, files: Mapping[Path, bool], again: Collection[Path]
) -> Iterator[Audit]:
    """Audit records one by one, and show on a terminal which one it is at."""
    from formalbench.ui.output import console, plugins_print_to_stderr

    with console(stderr=True).status("") as status:
        for number, (path, asked) in enumerate(files.items(), start=1):
            status.update(f"{number} of {len(files)}")
            with plugins_print_to_stderr():
                one = auditor.audit(path, asked, path in again)
            yield one


def _line(one: Audit) -> str:
    """Return the line that tells of an audit."""
    from formalbench.analysis.text import harmless, percent, plural

    record, told = one.record, []
    if one.verdict == "refused" or record is None:
        line = "; ".join(one.reasons)
        return f"refused   {harmless(line if str(one.path) in line else f'{one.path}: {line}')}"
    if one.p is not None:
        shares = f"recorded {percent(one.recorded)} %, fresh {percent(one.fresh)} %"
        told.append(f"{shares}, p {one.p:.2g}")
    if one.changed and one.verdict == "ok":
        told.append(f"{one.changed:,} of its own test strings are answered otherwise")
    if one.retrained is not None:
        told.append(_retrained(one.retrained))
    if one.reverified is not None:
        told.append(f"verified again: {plural(one.reverified.errors, 'error')}")
    told += [*one.reasons, *([str(one.path)] if one.verdict == "MISMATCH" else [])]
    return f"{one.verdict:<8}  {harmless(_title(record))}: {harmless('; '.join(told))}"


def _title(record: AnyRecord) -> str:
    """Return what a record is of, in a line."""
    from formalbench.analysis.keys import model_key, title_of
    from formalbench.analysis.text import rate
    from formalbench.contracts.verification import VerificationRecord

    title = f"{model_key(record)[0]} on {title_of(record)}"
    if isinstance(record, VerificationRecord):
        return f"{title}, {record.dtype if record.break_length is None else 'all precisions'}"
    at = "" if record.learning_rate is None else f", rate {rate(record.learning_rate)}"
    return f"{title}, {record.protocol.title}{at}, seed {record.seed}"


def _retrained(again: Retrained) -> str:
    from formalbench.analysis.text import percent

    where = "" if again.alike else " under other conditions"
    if again.accuracy is None:
        return f"trained again{where}: {again.status}"
    counts = "every count equal" if not again.changed else f"{again.changed:,} strings otherwise"
    return f"trained again{where}: {percent(again.accuracy)} %, {counts}"


def _skipped(found: Sequence[Audit]) -> list[str]:
    """Return a line for each reason to pass over records, with how many there are."""
    from formalbench.analysis.text import plural

    reasons = Counter(one.reasons[0] for one in found if one.verdict == "skipped")
    return [f"skipped   {plural(times, 'record')}: {why}" for why, times in sorted(reasons.items())]


def _data(one: Audit) -> dict[str, Any]:
    """Return an audit for programs."""
    from dataclasses import asdict

    data: dict[str, Any] = {
        "path": str(one.path),
        "test_id": getattr(one.record, "test_id", None),
        "verification_id": getattr(one.record, "verification_id", None),
        "verdict": one.verdict,
        "reasons": one.reasons,
        "recorded": one.recorded,
        "fresh": one.fresh,
        "p": one.p,
        "changed": one.changed,
        "retrained": asdict(one.retrained) if one.retrained else None,
        "reverified": asdict(one.reverified) if one.reverified else None,
    }
    return data
