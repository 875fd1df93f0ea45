"""The wing of exact models: verifications become rows, and are published as runs are."""

import io
import json
import shlex

import pytest
from built_records import write_all
from formalbench.contracts.verification import VerificationRecord, parse_any
from formalbench.statistics.board import Page, exact_models
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import words_of
from formalbench.statistics.selection import CurrentContents
from formalbench.store import PUBLISHED_RESULTS, Store
from formalbench_leaderboard.board.sources import FRONT
from formalbench_leaderboard.publishing.publish import RefusedError, publish
from formalbench_leaderboard.renderers import FORMATS, renderer
from formalbench_leaderboard.renderers.render import render, stale_files
from formalbench_leaderboard.renderers.terminal import TableDetail, print_page
from rich.console import Console

ALL = {"fp16": 10, "bf16": None, "fp32": 1000, "fp64": 1000}


def build_verification(
    model="by-hand",
    *,
    exhaustive=10,
    lengths=(10, 1000),
    errors=0,
    bits=0.25,
    margin=0.5,
    breaks=None,
    version=1,
    date="2026-11-20T12:00:00Z",
    seed=0,
    dtype="fp64",
    command="",
    strings_version=1,
    options=None,
    identity=None,
) -> VerificationRecord:
    """Make a record that can be published."""
    source = {"distribution": "formalbench", "version": "0.1.0"}
    data = {
        "schema_version": 2,
        "kind": "verification",
        "verification_id": "0" * 16,
        "model": {
            "name": model,
            "version": version,
            "kind": "exact",
            "options": options or {},
            "parameters": 90,
            "source": source,
        },
        "task": {"name": "parity:classify", "version": 1, "source": source},
        "constants": {"c": 1.0},
        "depth": 2,
        "width": 9,
        "asked": {
            "version": strings_version,
            "exhaustive": exhaustive,
            "lengths": lengths,
            "count": 100,
            "seed": seed,
        },
        "dtype": dtype,
        "exhaustive": None if exhaustive is None else {"strings": 2047, "errors": 0},
        "adversarial": {"strings": 50, "errors": 0},
        "by_length": {
            "errors": [0] * (len(lengths) - 1) + [errors],
            "min_margin": [margin] * len(lengths),
            "mean_bits": [bits / 2] * len(lengths),
            "max_bits": [bits] * len(lengths),
        },
        "first_failure": {"string": "01", "expected": 1, "logit": None} if errors else None,
        "break_length": breaks,
        "environment": {
            "device": "cpu",
            "hardware": "a machine",
            "threads": 1,
            "peak_memory_mib": 100,
            "versions": dict.fromkeys(("python", "formalbench", "torch", "numpy"), "1.2.3"),
        },
        "command": command,
        "date": date,
    }
    record = parse_any(json.dumps(data), "test")
    assert isinstance(record, VerificationRecord)
    update = {"verification_id": identity or record.identity}
    if not command:
        update["command"] = shlex.join(words_of(record))
    return record.model_copy(update=update)


def rows_of(*records):
    return exact_models(records, CurrentContents()).rows


def page_of(*records) -> Page:
    return build_page([], View("a board", ("parity",)), records)


def test_a_page_of_exact_models_alone_is_printed():
    target = io.StringIO()
    print_page(page_of(build_verification()), Console(file=target), TableDetail(everything=False))
    assert "by-hand" in target.getvalue()


def test_several_verifications_make_one_row_in_any_order():
    short = build_verification(exhaustive=16, lengths=(10,), margin=0.1, breaks=ALL)
    long = build_verification(exhaustive=None, lengths=(1000, 10_000), seed=1, bits=0.5)
    for records in ((short, long), (long, short)):
        (row,) = rows_of(*records)
        assert (row.exhaustive, row.tested_to, row.margin) == (16, 10_000, 0.1)
        assert row.bits == (0.25, None, 0.5, 0.5)
        assert row.break_length == ALL


def test_an_error_is_not_hidden_by_a_verification_that_found_none():
    (row,) = rows_of(build_verification(errors=3), build_verification(seed=1, lengths=(10,)))
    assert row.errors == 3
    assert row.tested_to == 10


def test_other_precisions_make_no_row():
    assert rows_of(build_verification(dtype="fp32")) == ()


def test_an_older_version_does_not_count_and_that_is_said():
    found = exact_models(
        [build_verification(), build_verification(version=2, seed=1)], CurrentContents()
    )
    assert len(found.rows) == 1
    assert found.notes == (
        "1 verification not counted, because the model, the task or the strings have a new "
        "version.",
    )
    assert rows_of(build_verification(strings_version=0)) == ()


def test_a_hostile_name_does_no_harm():
    record = build_verification(options={"c": "=1|<b>\x1b[31m"}, command="formalbench|x`<i>")
    for name in FORMATS:
        text = renderer(name)(page_of(record))
        assert "<b>" not in text or name in ("table", "latex", "csv")
        assert "\x1b" not in text
    assert "|<b>" not in renderer("markdown")(page_of(record))


def test_publishing_adds_the_record_and_the_row(repository, tmp_path, host, make_runs):
    mine = Store(tmp_path / "mine")
    write_all(mine, [*make_runs(), build_verification()])
    done = publish(mine.path, repository, host)
    assert done.added["by-hand", "parity"] == 1
    store = Store(repository / PUBLISHED_RESULTS)
    assert len(store.verifications()) == 1
    assert len(store.records()) == 6
    render(repository, host)
    assert "| [by-hand](models/by-hand.md) | parity |" in " ".join(
        (repository / FRONT).read_text().split()
    )
    assert not stale_files(repository, host)
    again = publish(mine.path, repository, host)
    assert again.added == {}
    assert again.already == 7


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (build_verification(version=2), "its model.version is 2, not 1"),
        (build_verification("regulargpt"), "its model.kind is exact, not learned"),
        (build_verification("by-foot"), "by-foot is not known here"),
        (build_verification(options={"c": 2.0}), "unknown option of by-hand 'c'"),
        (build_verification(strings_version=0), "its asked.version is 0, not 1"),
        (
            build_verification(exhaustive=9),
            "it judged 2,047 exhaustive strings, and there are 1,023",
        ),
        (build_verification(identity="1" * 16), "its verification_id is 1111111111111111, not "),
    ],
)
def test_what_the_plugins_at_hand_would_not_make_is_refused(
    repository, tmp_path, host, record, words
):
    mine = Store(tmp_path / "mine")
    mine.write(record)
    with pytest.raises(RefusedError) as error:
        publish(mine.path, repository, host)
    assert words in error.value.lines[0]
    assert not list((repository / PUBLISHED_RESULTS).rglob("*.json"))
