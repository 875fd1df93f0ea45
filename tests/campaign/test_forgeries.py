"""Every field of a published record that says what was run, or on what it was tested, forged.

A few forgeries are in every test run, drawn from a seed; `make campaign` has all of them, and those
that only an audit can find.
"""

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_records import forged, renamed
from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import VerificationRecord
from formalbench.device import describe_environment
from formalbench.host import PluginHost
from formalbench.statistics.selection import current_of
from formalbench.store import Store, weights_path
from formalbench.store.archive import WeightLookup
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.check import check_published
from formalbench_leaderboard.publishing.record_check import Admission
from formalbench_leaderboard.publishing.weights import write_weights
from trained_records import TINY, train, write_protocols

REPOSITORY = Path(__file__).parents[2]
RESULTS = Path("leaderboard", "results")

WORD = {
    *((part,) for part in ("message", "place", "training", "environment", "date", "status")),
    *(("test", "seconds"), ("test", "signatures"), ("selected", "step")),
    *(("model", "source", "version"), ("task", "source", "version")),
    *(("by_length", "window"), ("first_failure", "logit"), ("first_failure", "expected")),
}
"""What is its author's word."""

MEASURED = {
    *("correct", "total", "not_finite", "weights", "errors", "break_length", "string"),
    *("min_margin", "mean_bits", "max_bits"),
}
"""What only weights, training or verifying again can tell: no more than nonsense is refused."""

ENTROPY = ("test", "cells", "metrics", "cross-entropy", "total")

TINY_MODELS = ("rnn", "gru", "lstm")

A_FEW = 120
"""Forgeries of a record in every test run; a campaign has all."""


@pytest.fixture
def auditor(host) -> Iterator[Auditor]:
    """One for all forgeries of a test: what is drawn or trained for one record serves the next."""
    with Auditor(host, 1, "cpu") as auditor:
        yield auditor


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> tuple[PluginHost, Path]:
    """Train tiny networks; return the host that knows their protocol, and their records."""
    host = PluginHost.load(write_protocols(tmp_path_factory.mktemp("protocols"), tiny=TINY))
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_CACHE", str(folder / "cache"))
        settings = ("model.width=8",)
        train(host, folder / "results", [("tiny", m, "parity", settings, 1) for m in TINY_MODELS])
    return host, folder / "results"


@pytest.fixture(scope="module")
def published() -> dict[Path, Record | VerificationRecord]:
    current = current_of(PluginHost.load())  # records of older versions stay published
    held = Store(REPOSITORY / RESULTS).files()
    return {file: record for file, record in held.items() if current.standing(record) == "current"}


@pytest.fixture
def draw(request) -> random.Random:
    """The random numbers of a test, which the campaign's seed decides."""
    seed = request.config.getoption("--campaign-seed", default="0")
    return random.Random(f"{seed} {request.node.name}")


def leaves(value, path=()) -> Iterator[tuple[tuple, object]]:
    """Yield the path of every field that is not an author's word, and its value in JSON."""
    for name, one in value.items():
        if (*path, name) in WORD:
            continue
        if isinstance(one, dict) and name not in ("options", "protocol", "code"):
            yield from leaves(one, (*path, name))
        else:
            yield (*path, name), one


def others(value, measured) -> list[object]:
    """Return other values for a field: any, or, of what was measured, such as cannot be."""
    if value is None:
        return [] if measured else [7]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [-1] if measured else [value + 1, value - 1, value * 2 + 3]
    if isinstance(value, str):
        return ["\u202e" + value, "\x1b[2J"] if measured else [value + "x", "evil"]
    if isinstance(value, list):
        return [value + value[-1:], value[:-1]] + (
            [[one, *value[1:]] for one in others(value[0], measured)] if value else []
        )
    return [{**value, "evil": 1}] + [
        {**value, key: one} for key in value for one in others(value[key], measured)
    ]


def is_refused(admission, record, path, value):
    try:
        changed = forged(record, {path: value})
        named = {"train_id", "test_id", "verification_id"} & set(path)
        admission.admit(changed if named else renamed(changed))
    except FormalbenchError:
        return True
    return False


def forgeries(record):
    """Return every forgery of a record that `check` must find, as paths and values."""
    run = isinstance(record, Record)
    return [
        (path, other)
        for path, value in leaves(record.model_dump(mode="json"))
        for other in others(
            copy.deepcopy(value), path[-1] in MEASURED or (path[-1] == "strings" and not run)
        )
        if other != value and not (path[0] == "protocol" and _free(value, other))
    ]


def _free(value, other):
    """Say whether only what of a protocol decides no number of a run differs."""
    differing = {key for key in other if value.get(key, ...) != other[key]}
    return differing <= {"summary", "seeds"}


def one_of(published, kind, **wanted):
    """Return the first published record of a kind."""
    return next(
        (file, record)
        for file, record in published.items()
        if isinstance(record, kind) and all(getattr(record, k) == v for k, v in wanted.items())
    )


@pytest.mark.parametrize("kind", [Record, VerificationRecord], ids=["run", "exact"])
def test_a_record_that_says_something_else_is_refused(host, published, draw, kind):
    _, record = one_of(published, kind)
    admission = Admission(host)
    admission.admit(record)
    every = forgeries(record)
    for path, other in draw.sample(every, min(A_FEW, len(every))):
        assert is_refused(admission, record, path, other), (path, other)


@pytest.mark.campaign
def test_every_field_of_many_records_is_checked(host, published, draw):
    admission = Admission(host)
    for record in draw.sample(list(published.values()), 25):
        for path, other in forgeries(record):
            assert is_refused(admission, record, path, other), (path, other)


def audited(auditor, folder, file, record, again=False, paths=None, **keys):
    """Write a forged record, and audit it."""
    target = folder / file.name
    target.write_text(renamed(forged(record, {**(paths or {}), **keys})).to_json())
    return auditor.audit(target, again=again)


@pytest.mark.campaign
@pytest.mark.parametrize("packed", [False, True], ids=["beside", "packed"])
def test_numbers_that_weights_do_not_give_are_found(trained, draw, tmp_path, packed):
    host, results = trained
    held = Store(results).files()
    place = tmp_path / "weights.tar" if packed else results
    if packed:
        write_weights(place, held.values(), WeightLookup([results]))
    auditor = Auditor(host, 1, "cpu", WeightLookup([place]))
    for file in draw.sample(sorted(held), 3):
        record = held[file]
        cells, selected = record.test.cells, record.selected
        assert audited(auditor, tmp_path, file, record).verdict == "ok"
        unknown = audited(auditor, tmp_path, file, record, weights="0" * 64)
        assert (unknown.verdict, "not audited" in unknown.reasons[0]) == ("refused", True)
        right = [
            min(n, s)
            for n, s in zip((n // 2 + 64 for n in cells.correct), cells.strings, strict=True)
        ]
        costs = [10**6 * n for n in cells.strings]
        for paths in (
            {("test", "cells", "correct"): right, ENTROPY: costs},
            {ENTROPY: [2 * n + 2000 for n in cells.metrics["cross-entropy"].total]},
            {("selected", "metrics", "cross-entropy", "total"): selected.bits * 4096 + 4096},
        ):
            assert audited(auditor, tmp_path, file, record, paths=paths).verdict == "MISMATCH"


@pytest.mark.campaign
def test_a_seed_that_was_made_up_is_found_by_training_it(auditor, published, tmp_path):
    """Perfect, or said to have failed; without weights, nothing but training can tell."""
    runs = {
        file: record
        for file, record in published.items()
        if isinstance(record, Record) and record.status == "finished"
    }
    file, record = min(runs.items(), key=lambda pair: pair[1].training.seconds)
    here = describe_environment("cpu").model_dump(mode="json") | {"threads": 1}
    cells = record.test.cells
    made_up = [0 if 2 * n > s else s for n, s in zip(cells.correct, cells.strings, strict=True)]
    paths = {("test", "cells", "correct"): made_up, ENTROPY: [10**6 * n for n in cells.strings]}
    keys = {"environment": here}
    assert audited(auditor, tmp_path, file, record, **keys).verdict == "refused"
    done = audited(auditor, tmp_path, file, record, again=True, paths=paths, **keys)
    assert done.verdict == "MISMATCH"
    failed = {"status": "error", "test": None, "selected": None, "weights": None}
    done = audited(auditor, tmp_path, file, record, again=True, **failed, **keys)
    assert done.verdict == "MISMATCH"
    elsewhere = {"environment": here | {"hardware": "another"}}
    done = audited(auditor, tmp_path, file, record, again=True, paths=paths, **elsewhere)
    assert done.verdict == "not judged"


@pytest.mark.campaign
def test_a_verification_that_was_made_up_is_found(auditor, published, tmp_path):
    file = next(file for file, one in published.items() if one.model.name == "ffnn-parity")
    record = published[file]
    assert audited(auditor, tmp_path, file, record).verdict == "ok"
    for part, name in (("exhaustive", "strings"), ("adversarial", "strings")):
        paths = {(part, name): getattr(getattr(record, part), name) - 1}
        assert audited(auditor, tmp_path, file, record, paths=paths).verdict == "MISMATCH"
    for name in ("min_margin", "mean_bits", "max_bits"):
        told = [2 * one + 1 for one in getattr(record.by_length, name)]
        found = audited(auditor, tmp_path, file, record, paths={("by_length", name): told})
        assert found.verdict in ("MISMATCH", "refused")


@pytest.mark.campaign
def test_what_is_wrong_with_a_repository_is_named(host, published, tmp_path):
    """Each forgery is of another record, and all are found at once."""
    for part in ("results", "reproductions", "figures", "suites", "models"):
        shutil.copytree(REPOSITORY / "leaderboard" / part, tmp_path / "leaderboard" / part)
    shutil.copy(REPOSITORY / "leaderboard" / "README.md", tmp_path / "leaderboard")
    files = {file.relative_to(REPOSITORY): record for file, record in published.items()}
    runs = [file for file, one in files.items() if isinstance(one, Record) and one.seed == 0]
    others = [file for file, one in files.items() if isinstance(one, Record) and one.seed == 1]
    expected = []

    bare = tmp_path / runs[0]
    data = json.loads(bare.read_text()) | {"weights": None}
    bare.write_text(json.dumps(data))
    expected.append(f"{runs[0]}: it names no weights")

    weights_path(tmp_path / runs[1]).write_bytes(b"others")
    expected.append(f"{weights_path(runs[1])}: not the weights of run")

    weights_path(tmp_path / runs[3]).unlink(missing_ok=True)
    expected.append(f"{runs[3]}: the weights of run {files[runs[3]].test_id} were not found")

    weights_path(tmp_path / runs[4]).with_stem("stray").write_bytes(b"anything")
    expected.append("stray.safetensors: weights of no record")

    (tmp_path / others[0]).unlink()
    expected.append("seed 1 at learning rate 0.001 missing")

    source = files[runs[2]]
    command = source.command.replace("--seeds 1", "--seeds 2")
    copied = renamed(forged(source, {"seed": 1, "weights": None, "command": command}))
    target = tmp_path / RESULTS / "default" / "copy.json"
    target.write_text(copied.to_json())
    expected.append("one is a copy")

    (tmp_path / "leaderboard" / ".writing-x").write_text("")
    expected.append("leaderboard/.writing-x: left by a writer")

    (tmp_path / "nothing").mkdir()
    problems = check_published(tmp_path, host, WeightLookup([tmp_path / "nothing"])).problems
    for line in expected:
        assert any(line in problem for problem in problems), (line, problems)
