"""Rewrite records made before the default of a model's option, or a value's meaning, changed.

A record contains the options that differ from their defaults, so a changed default would change the
meaning of old records. This script adds the old value to them, and removes values that are the
default now. With the options, `train_id`, `test_id`, the file's name and the command change.
Hashes of weights, fingerprints of test strings and all numbers stay.

In protocols, ``decay.mastered: 0`` meant "no error at all" and now disables the rule. The protocols
of `ONCE_ZERO` get `NO_ERROR` instead, which means what 0 meant.

    python leaderboard/rewrite_defaults.py                    # all that this repository publishes
    python leaderboard/rewrite_defaults.py FOLDER|FILE ...    # records elsewhere, with weights

Records are stored in folders, one in each file, with their weights beside them; or in a file
``*.records.jsonl``, and then the page and the table beside it contain their ids. The script can be
run again: a record that names its old value is not changed, and `DONE` has a line for each record
that lost an option. A record that names the commit of its code is not affected by changes that this
commit has in its history. Do not rewrite a folder that runs are being written to.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from formalbench.contracts.config import Value
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.files import write_atomically
from formalbench.host import PluginHost
from formalbench.statistics.records import reproduce_command
from formalbench.store import Store, read_record, weights_path
from formalbench.store.record_file import read_packed, written

HERE = Path(__file__).parent
DONE = HERE / "rewrite_defaults.txt"
"""A line for each record that lost an option: the change and `trace_of` the record."""

PACKED = ".records.jsonl"

_ID = re.compile(r"\b[0-9a-f]{16}\b")


@dataclass(frozen=True)
class Change:
    """A changed default.

    Attributes:
        name: the change's name in `DONE`.
        commit: the commit that made it.
        models: the models with the option.
        option: the option's name.
        old, new: its default before and after.
        decides: whether the option has an effect in a record; if not, it is always left out.
    """

    name: str
    commit: str
    models: frozenset[str]
    option: str
    old: Value
    new: Value
    decides: Callable[[PluginHost, Record], bool] = lambda host, record: True


def _may_see_all(host: PluginHost, record: Record) -> bool:
    """Return whether an answer may depend on the whole string; otherwise there is always a mask."""
    return host.objective(record.task.name.partition(":")[2]).sees_all


def _has_a_threshold(host: PluginHost, record: Record) -> bool:
    """Return whether the position encoding has a threshold."""
    return record.model.options.get("positions") == "fire"


def _has_tables(host: PluginHost, record: Record) -> bool:
    """Return whether the position encoding has parameters that layers can share."""
    return record.model.options.get("positions") in ("t5", "kerple-log", "kerple-power")


TRANSFORMERS = frozenset({"transformer", "transformer-logn"})
RWKV = frozenset({"rwkv-7"})
RWKV_COMMIT = "3bcebbe979549305ab0e0a9f1a39ba7ddf3331f7"

CHANGES: tuple[Change, ...] = (
    Change(
        "causal",
        "dfef642bdb503d85e5557e2046ca71c2be2d66ca",
        TRANSFORMERS,
        "causal",
        old=False,
        new=True,
        decides=_may_see_all,
    ),
    Change(
        "shared-positions",
        "6173e8aa4c4fc88ade5d2badd7f561cc8689dcad",
        TRANSFORMERS,
        "shared_positions",
        old=False,
        new=True,
        decides=_has_tables,
    ),
    Change(
        "fire-threshold",
        "6173e8aa4c4fc88ade5d2badd7f561cc8689dcad",
        TRANSFORMERS,
        "threshold",
        old=512,
        new=0,
        decides=_has_a_threshold,
    ),
    Change(
        "minlstm-gates",
        "76e83c50177750dbd3ae06e1ddfab7ef52ad7752",
        frozenset({"minlstm"}),
        "normalised",
        old=True,
        new=False,
    ),
    Change(
        "stack-push",
        "3a62bdc38da1c634d3cc5b4a579f72335c803e35",
        frozenset({"stack-attention"}),
        "push",
        old="sigmoid",
        new="linear",
    ),
    Change(
        "gated-heads",
        "dd8df735cf9066638c3132ab628625044cc0f117",
        frozenset({"gated-deltanet"}),
        "heads",
        old=1,
        new=4,
    ),
    Change("rwkv-blocks", RWKV_COMMIT, RWKV, "shell", old="shared", new="rwkv"),
    Change("rwkv-start", RWKV_COMMIT, RWKV, "initial", old="torch", new="rwkv"),
    Change("rwkv-rank", RWKV_COMMIT, RWKV, "rank", old=16, new=32),
)


ONCE_ZERO = ("steffen-dyck-", "path-flipflop")
"""Name prefixes of the protocols whose runs ended early under ``mastered: 0``."""

NO_ERROR = 1e-9


def _protocol_of(record: Record) -> Protocol:
    """Return the protocol of a record in its current form."""
    protocol = record.protocol
    if not protocol.name.startswith(ONCE_ZERO) or protocol.decay.mastered != 0:
        return protocol
    decay = protocol.decay.model_copy(update={"mastered": NO_ERROR})
    return protocol.model_copy(update={"decay": decay})


@cache
def is_in(change: str, commit: str) -> bool:
    """Return whether a commit has another one in its history.

    Raises:
        RequestError: if this clone lacks either.
    """
    asked = ["git", "merge-base", "--is-ancestor", change, commit.removesuffix("-dirty")]
    found = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode > 1:
        raise RequestError(f"this clone lacks commit {commit} or {change}: git fetch it")
    return found.returncode == 0


def trace_of(record: Record) -> str:
    """Return an identifier of a record under its current name: 16 hexadecimal digits."""
    told = (record.test_id, record.weights, record.date)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def rewritten(
    record: AnyRecord, host: PluginHost, done: set[str], changes: Sequence[Change] = CHANGES
) -> AnyRecord:
    """Return a record with its options in their current form.

    Args:
        record: a run, or a verification, which stays as it is.
        host: the plugins.
        done: the lines of `DONE`; those of the returned record are added.
        changes: in the order in which they were made.
    """
    if not isinstance(record, Record):
        return record
    commit = record.environment.commit
    options = dict(record.model.options)
    left_out = {one.name for one in changes if f"{one.name} {trace_of(record)}" in done}
    for change in changes:
        if record.model.name not in change.models or change.name in left_out:
            continue
        if commit is not None and is_in(change.commit, commit):
            continue
        if not change.decides(host, record):
            options.pop(change.option, None)
        elif options.get(change.option) == change.new:
            del options[change.option]
            left_out.add(change.name)
        else:
            options.setdefault(change.option, change.old)
    protocol = _protocol_of(record)
    if options == record.model.options and protocol is record.protocol:
        return record
    model = record.model.model_copy(update={"options": options})
    record = record.model_copy(update={"model": model, "protocol": protocol})
    trained, tested = ids_of(record)
    record = record.model_copy(update={"train_id": trained, "test_id": tested})
    done |= {f"{name} {trace_of(record)}" for name in left_out}
    return record.model_copy(update={"command": reproduce_command(record)})


def _keep(done: set[str]) -> None:
    """Write `DONE`, before the records: they would lose another option if it were written later."""
    write_atomically(DONE, "".join(f"{line}\n" for line in sorted(done)))


def rewrite_packed(file: Path, host: PluginHost, done: set[str]) -> int:
    """Rewrite a file of records, and the ids in the page and the tables beside it.

    Returns:
        Number of records that changed.
    """
    before = read_packed(file)
    after = [rewritten(record, host, done) for record in before]
    new_ids = {
        old.test_id: new.test_id
        for old, new in zip(before, after, strict=True)
        if isinstance(old, Record) and isinstance(new, Record) and old is not new
    }
    if not new_ids:
        return 0
    _keep(done)
    write_atomically(file, written(after))
    stem = file.name.removesuffix(PACKED)
    for beside in (file.with_name(f"{stem}{kind}") for kind in (".json", ".csv", ".md")):
        if beside.exists():
            text = beside.read_text()
            new = _ID.sub(lambda found: new_ids.get(found[0], found[0]), text)
            if new != text:
                write_atomically(beside, new)
    return len(new_ids)


def rewrite_folder(folder: Path, host: PluginHost, done: set[str]) -> int:
    """Rewrite the records below a folder, and rename their weights; return how many changed.

    Raises:
        RequestError: if there is another record at a new path; then nothing has changed.
    """
    moves: dict[Path, tuple[Path, Record]] = {}
    for file in sorted(folder.rglob("*.json")):
        before = read_record(file)
        after = rewritten(before, host, done)
        if after is before or not isinstance(after, Record):
            continue
        target = Store(file.parents[2]).path_of(after)  # <results>/<model>/<task>/<run>.json
        moves[file] = target, after
    count, targets = len(moves), [target for target, _ in moves.values()]
    for file, (target, _) in moves.items():
        if targets.count(target) > 1 or (target.exists() and target not in moves):
            raise RequestError(f"{file}: belongs at {target} now, where another record is")
    if moves:
        _keep(done)
    while moves:
        # A record may take the path of one that is moved, after the move.
        file = next(file for file, (target, _) in moves.items() if target not in moves)
        target, after = moves.pop(file)
        if weights_path(file).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            weights_path(file).rename(weights_path(target))
        write_atomically(target, after.to_json())
        file.unlink()
        for empty in (file.parent, file.parents[1]):
            if not any(empty.iterdir()):
                empty.rmdir()
    return count


def main(places: Iterable[str]) -> int:
    """Rewrite the records that the arguments name, or all published ones; return the exit code."""
    paths = [Path(place) for place in places] or [
        HERE / "results",
        *sorted((HERE / "reproductions").glob(f"*{PACKED}")),
    ]
    done = set(DONE.read_text().splitlines()) if DONE.exists() else set()
    host = PluginHost.load()
    try:
        for path in paths:
            if not path.exists():
                raise RequestError(f"{path}: no such file or folder")
            rewrite = rewrite_folder if path.is_dir() else rewrite_packed
            print(f"{path}: {rewrite(path, host, done)} records rewritten")
    except FormalbenchError as error:
        print(f"rewrite_defaults: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
