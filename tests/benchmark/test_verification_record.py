"""The record of a verification: small, repeatable, and trusted in nothing when it is read."""

import shlex
from pathlib import Path

import pytest
from built_records import forged
from formalbench.contracts.verification import VerificationRecord, written_lengths
from formalbench.store import Store
from refusals import refusal

EXACT_MODELS = Path(__file__).parent / "plugins" / "exact_models.py"


@pytest.fixture
def verify(cli, results):
    """Verify a model with a record; return it."""

    def run(*arguments):
        before = {record.verification_id for record in Store(results).verifications()}
        done = cli(
            "verify", *arguments, "--plugin", EXACT_MODELS, "--device", "cpu", "--results", results
        )
        assert done.code in (0, 1), done.err
        records = Store(results).verifications()
        (new,) = [record for record in records if record.verification_id not in before]
        return new

    return run


def test_a_record_says_what_was_verified_and_how_it_went(verify, results):
    record = verify("counting", "--lengths", "10,2000", "--dtype", "all", "--set", "wrong_at=01")
    assert (record.model.name, record.task.name) == ("counting", "parity:classify")
    assert record.model.options == {"wrong_at": "01"}
    assert record.model.parameters == 1
    assert (record.depth, record.width) == (2, 3)
    assert record.constants == {"c": 1.0}
    assert record.asked.lengths == (10, 2000)
    assert record.exhaustive is not None
    assert (record.exhaustive.strings, record.exhaustive.errors) == (2047, 1)
    assert record.by_length.errors == (0, 0)
    assert record.by_length.max_bits == pytest.approx((0.451941, 0.451941))
    assert record.first_failure is not None
    assert record.first_failure.string == "01"
    assert record.break_length == dict.fromkeys(("fp16", "bf16", "fp32", "fp64"), 1)
    assert record.verification_id == record.identity
    (file,) = results.rglob("*.json")
    assert file == Store(results).path_of(record)
    assert file.parent == results / "counting-wrong-at=01" / "parity--classify"


def test_a_depth_that_grows_is_that_of_the_longest_string(verify):
    record = verify("legal", "--exhaustive", "5", "--lengths", "4,12")
    assert (record.depth, record.width) == (6, None)
    assert verify("legal", "--exhaustive", "16", "--lengths", "4").depth == 8


def test_its_command_repeats_it(verify, cli, results):
    record = verify("counting", "--lengths", "1:9:2", "--exhaustive", "0", "--dtype", "bf16")
    words = shlex.split(record.command)
    assert words[words.index("--lengths") + 1] == "1:9:2"
    plugin = words.index("--plugin") + 1
    assert words[plugin] == EXACT_MODELS.name
    words[plugin] = str(EXACT_MODELS)
    again = cli(*words[1:], "--results", results.with_name("again"), "--device", "cpu")
    assert again.code == 0
    (copy,) = Store(results.with_name("again")).verifications()
    same = {"date": record.date, "environment": record.environment}
    assert copy.model_copy(update=same) == record


def test_another_seed_is_another_verification(verify):
    first = verify("counting", "--lengths", "10")
    assert verify("counting", "--lengths", "10", "--seed", "1").identity != first.identity


def test_records_of_runs_stand_beside_it(verify, cli, results, tiny, odd_models):
    verify("counting", "--lengths", "10")
    words = ("run", "--model", "bag", "--task", "parity", "--protocol", "tiny", "--seeds", 1)
    for _ in range(2):
        done = cli(*words, "--plugin", tiny, "--plugin", odd_models, "--device", "cpu")
        assert done.code == 0, done.err
    store = Store(results)
    assert [record.model.name for record in store.records()] == ["bag"]
    assert [record.model.name for record in store.verifications()] == ["counting"]
    assert len(store.all()) == 2


def test_many_lengths_make_a_small_record(verify, results):
    record = verify("counting", "--lengths", "1:300", "--exhaustive", "2", "--count", "4")
    assert len(record.by_length.errors) == 300
    assert len(record.by_length.max_bits) <= 64
    (file,) = results.rglob("*.json")
    assert file.stat().st_size < 8_000


def test_a_long_failing_string_is_cut(verify):
    record = verify("counting", "--lengths", "3000", "--exhaustive", "0", "--dtype", "bf16")
    assert record.first_failure is not None
    assert len(record.first_failure.string) == 201


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("extra", 1, "extra"),
        ("model.kind", "learned", "only an exact model is verified"),
        ("exhaustive.errors", 9999, "more errors than strings"),
        ("by_length.errors", [1], "first failure must be given exactly if"),
        ("by_length.errors", [200], "more errors than strings"),
        ("by_length.errors", [], "do not fit"),
        ("by_length.max_bits", [-1.0], "at least 0"),
        ("exhaustive", None, "exhaustive results do not match"),
        ("asked.lengths", [10, 9], "in order"),
        ("dtype", "fp8", "dtype"),
        ("break_length", {"fp8": 3}, "break_length"),
        ("verification_id", "x", "verification_id"),
        ("date", "yesterday", "date"),
        ("kind", "run", "not a valid record"),
    ],
    ids=str,
)
def test_a_spoiled_record_is_refused_in_one_line(verify, path, value, words):
    record = verify("counting", "--lengths", "10")
    assert isinstance(forged(record, {}), VerificationRecord)
    told = refusal(lambda: forged(record, {path: value}))
    assert told.startswith("forged: ")
    assert words in told


@pytest.mark.parametrize(
    ("lengths", "text"),
    [((5,), "5"), ((1, 2), "1,2"), ((1, 2, 3, 4), "1:4"), ((1, 5, 9, 13), "1:13:4")],
)
def test_lengths_are_written_as_they_are_read(lengths, text):
    from formalbench.cli.verify import parse_lengths

    assert written_lengths(lengths) == text
    assert parse_lengths(text) == lengths
