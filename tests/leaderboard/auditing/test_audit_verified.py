"""Verifications carried out again: every result of one that is forged is found."""

import pytest
from built_records import forged, renamed
from formalbench.cli.main import run_command_line
from formalbench.statistics.records import reproduce_command
from formalbench.store import Store
from formalbench_leaderboard.publishing.audit import Auditor
from formalbench_leaderboard.publishing.rerun import compare_verifications

ASKED = ["--exhaustive", "4", "--lengths", "6,10", "--count", "20"]

FORGED = {
    "fewer errors": {
        "exhaustive": {"strings": 31, "errors": 0},
        "first_failure": None,
        "adversarial.errors": 0,
        "by_length.errors": [0, 0],
        "break_length.fp64": 10,
    },
    "errors that were not": {
        "by_length.errors": [0, 1],
        "first_failure": {"string": "0", "expected": 1, "logit": 0.0},
        "break_length.fp64": 6,
        "break_length.fp32": 6,
    },
    "fewer exhaustive strings": {"exhaustive.strings": 30},
    "fewer adversarial strings": {"adversarial.strings": 3},
    "a larger margin": {"by_length.min_margin": [100.0, 100.0]},
    "fewer bits": {"by_length.mean_bits": [0.0, 0.0]},
    "other worst bits": {"by_length.max_bits": [9.0, 9.0]},
    "a precision that goes further": {"break_length.fp16": 4},
    "a larger network": {"model.parameters": 3},
    "another depth": {"depth": 99},
    "another width": {"width": 99},
    "another constant": {"constants.c": 1e9},
    "another length": {"break_length.fp64": 7},
    "more strings than anybody has time for": {"asked.count": 2**50},
    "a length of nothing": {"break_length.fp16": 1000},
}


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """Verify a construction that is right and one that is wrong; return their records by name."""
    folder = tmp_path_factory.mktemp("verified")
    for model in ("exact-parity", "flawed-first"):
        words = ["verify", model, *ASKED, "--dtype", "all", "--results", str(folder)]
        run_command_line(words)
    return {record.model.name: (file, record) for file, record in Store(folder).files().items()}


@pytest.mark.parametrize("model", ["exact-parity", "flawed-first"])
def test_an_honest_verification_is_repeated(host, verified, model):
    auditor, (file, record) = Auditor(host, 1, "cpu"), verified[model]
    found = auditor.audit(file)
    assert (found.verdict, found.reasons) == ("ok", [])
    assert found.reverified.errors == record.errors
    assert bool(record.errors) == (model == "flawed-first")
    assert auditor.audit(file, asked=False).verdict == "skipped"
    assert auditor.audit(file, asked=False, again=True).verdict == "ok"


@pytest.mark.parametrize("change", FORGED)
def test_a_forged_verification_is_found(host, verified, tmp_path, change):
    model = "flawed-first" if change == "fewer errors" else "exact-parity"
    file = tmp_path / "forged.json"
    changed = renamed(forged(verified[model][1], FORGED[change]))
    file.write_text(changed.model_copy(update={"command": reproduce_command(changed)}).to_json())
    assert Auditor(host, 1, "cpu").audit(file).verdict in ("MISMATCH", "refused")


def test_how_far_low_precision_goes_elsewhere_is_not_judged(verified):
    record = verified["exact-parity"][1]
    elsewhere = record.environment.model_copy(update={"hardware": "another"})
    lower = record.model_copy(update={"break_length": record.break_length | {"fp16": 4}})
    assert compare_verifications(lower, record).judged
    there = compare_verifications(lower.model_copy(update={"environment": elsewhere}), record)
    assert (there.judged, there.otherwise) == (False, ["fp16 goes up to length 10, not 4"])
