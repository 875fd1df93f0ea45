"""`formalbench verify`: every error is found, and nothing is claimed that was not tested."""

import math
from pathlib import Path

import pytest
from formalbench.cli.verify import parse_lengths

EXACT_MODELS = Path(__file__).parent / "plugins" / "exact_models.py"
KEYS = [
    *("model", "task", "dtype", "parameters", "passed", "exhaustive", "lengths", "adversarial"),
    *("first_failure", "break_length"),
]
BITS_OF_ONE = math.log2(1 + math.exp(-1))


@pytest.fixture
def verify(cli):
    """Verify a model of the plugin; by default on short strings only."""

    def run(model, *arguments):
        given = [str(argument) for argument in arguments]
        short = [] if "--lengths" in given else ["--lengths", "12,20"]
        return cli("verify", model, *short, *given, "--plugin", EXACT_MODELS, "--device", "cpu")

    return run


def test_a_right_model_passes(verify):
    done = verify("counting", "--json")
    assert done.code == 0
    assert list(done.data) == KEYS
    assert done.data["model"] == "counting"
    assert done.data["task"] == "parity:classify"
    assert done.data["dtype"] == "fp64"
    assert done.data["parameters"] == {"c": 1.0}
    assert done.data["passed"] is True
    assert done.data["exhaustive"] == {"max_length": 10, "strings": 2047, "errors": 0}
    assert done.data["first_failure"] is None
    assert done.data["break_length"] is None
    for length, row in zip((12, 20), done.data["lengths"], strict=True):
        assert list(row) == [
            *("length", "strings", "errors", "accuracy", "min_margin", "mean_bits", "max_bits")
        ]
        assert (row["length"], row["strings"], row["errors"]) == (length, 100, 0)
        assert row["accuracy"] == row["min_margin"] == 1.0
        assert row["mean_bits"] == pytest.approx(BITS_OF_ONE, rel=1e-12)
        assert row["max_bits"] == pytest.approx(BITS_OF_ONE, rel=1e-12)


def test_adversarial_strings_are_counted(verify):
    """A member and its changes, and of each symbol the string and those with one other."""
    per_length = [1 + n + 2 * (1 + n) for n in (12, 20)]
    assert verify("counting", "--json").data["adversarial"] == {
        "strings": sum(per_length),
        "errors": 0,
    }


@pytest.mark.parametrize("string", ["", "0", "0110", "1111111111"])
def test_one_wrong_short_string_is_found(verify, string):
    done = verify("counting", "--set", f"wrong_at={string}", "--json")
    expected = string.count("1") % 2
    assert done.code == 1
    assert done.data["passed"] is False
    assert done.data["exhaustive"]["errors"] == 1
    assert done.data["first_failure"] == {
        "string": string,
        "expected": expected,
        "logit": 1.0 - 2.0 * expected,
    }
    assert done.data["parameters"] == {"wrong_at": string, "c": 1.0}


@pytest.mark.parametrize(
    "string", ["1" * 20, "0" * 20, "0" * 19 + "1", "1" * 7 + "0" + "1" * 12], ids=len
)
def test_a_wrong_long_string_is_found_if_it_is_adversarial(verify, string):
    done = verify("counting", "--set", f"wrong_at={string}", "--json")
    assert done.code == 1
    assert done.data["adversarial"]["errors"] >= 1
    assert done.data["first_failure"]["string"] == string


def test_a_logit_that_is_no_number_is_an_error_and_not_a_reject(verify):
    done = verify("counting", "--set", "silent_at=0000", "--json")
    assert done.code == 1
    assert done.data["exhaustive"] == {"max_length": 10, "strings": 2047, "errors": 1}
    assert done.data["first_failure"] == {"string": "0000", "expected": 0, "logit": None}
    assert [row["errors"] for row in done.data["lengths"]] == [0, 0]


def test_exhaustive_zero_skips_it(verify):
    done = verify("counting", "--exhaustive", 0, "--set", "wrong_at=0110", "--json")
    assert done.code == 0
    assert done.data["exhaustive"] is None


def test_five_classes(verify):
    done = verify("mod-5", "--exhaustive", 6, "--json")
    assert done.code == 0
    assert done.data["exhaustive"]["strings"] == sum(3**n for n in range(7))
    assert done.data["lengths"][0]["min_margin"] == 1.0


def test_legal_symbols_are_asked_after_viable_prefixes_only(verify):
    done = verify("legal", "--exhaustive", 6, "--json")
    assert done.code == 0
    assert done.data["exhaustive"]["strings"] == 7  # the prefixes of 101010
    assert done.data["adversarial"]["strings"] == 2  # at each length its one member
    assert done.data["lengths"][0]["min_margin"] == 2.0


def test_a_wrong_legal_symbol_is_told(verify):
    done = verify("endless", "--json")
    assert done.code == 1
    assert done.data["first_failure"] == {"string": "", "expected": "1,$", "logit": -3.0}


def test_lengths_without_strings_are_left_out(verify, refused):
    done = verify("legal", "--lengths", "11:14", "--json")
    assert [row["length"] for row in done.data["lengths"]] == [12, 14]
    assert "no strings of the others" in done.err
    refused("verify", "legal", "--lengths", "11", "--plugin", EXACT_MODELS)


def test_break_lengths(verify):
    """fp16 counts to 2048 and bf16 to 256, so their sums are wrong beyond."""
    done = verify("counting", "--dtype", "all", "--lengths", "100,10000", "--json")
    assert done.code == 0
    assert done.data["dtype"] == "fp64"
    assert done.data["break_length"] == {"fp16": 100, "bf16": 100, "fp32": 10000, "fp64": 10000}


@pytest.mark.parametrize(("string", "longest"), [("", None), ("0", 0), ("01", 1)])
def test_a_break_length_ends_before_the_first_error(verify, string, longest):
    done = verify("counting", "--dtype", "all", "--set", f"wrong_at={string}", "--json")
    assert done.code == 1
    assert set(done.data["break_length"].values()) == {longest}


def test_one_dtype_is_judged_alone(verify):
    done = verify("counting", "--dtype", "bf16", "--lengths", "2000", "--json")
    assert done.code == 1
    assert done.data["dtype"] == "bf16"
    assert done.data["break_length"] is None
    assert done.data["exhaustive"]["errors"] == 0


def test_the_same_seed_draws_the_same_strings(verify):
    words = ("counting", "--exhaustive", 0, "--dtype", "bf16", "--lengths", "600", "--json")
    first, again = verify(*words).data, verify(*words).data
    other = verify(*words, "--seed", 1).data
    assert first == again
    assert first["first_failure"]["string"] != other["first_failure"]["string"]


def test_a_model_for_some_lengths_is_asked_about_those(verify):
    done = verify("counting-to-7", "--json", "--lengths", "3,7")
    assert done.code == 0
    assert done.data["exhaustive"]["max_length"] == 7
    assert "exhaustive up to length 7" in done.err


def test_a_model_for_one_length(cli):
    done = cli("verify", "counting-12", "--plugin", EXACT_MODELS, "--json")
    assert done.code == 0
    assert done.data["exhaustive"] == {"max_length": 12, "strings": 4096, "errors": 0}
    assert [row["length"] for row in done.data["lengths"]] == [12]
    assert "lengths 12: the model is made for strings of length 12 only" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("counting-to-7", "--lengths", "7,8"), "--lengths 8: the model is made for strings of"),
        (("counting-to-7", "--exhaustive", "8"), "--exhaustive 8: the model is made for"),
        (("counting", "--task", "first"), "made for parity"),
        (("anything",), "name one with --task"),
        (("lstm",), "only exact models"),
        (("counting", "--lengths", "1:9:0"), "--lengths 1:9:0"),
        (("counting", "--lengths", ""), "A:B:STEP"),
        (("counting", "--lengths", "1:9999999"), "more than 10,000 lengths"),
        (("counting", "--exhaustive", "-1"), "--exhaustive -1"),
        (("counting", "--exhaustive", "60"), "more than"),
        (("counting", "--set", "d=1"), "unknown option 'd'"),
        (("counting", "--results", ""), "--results"),
        (("counting", "--set", "protocol.steps=3"), "--set protocol.steps=3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_requests_are_one_line(refused, arguments, words):
    assert words in refused("verify", *arguments, "--plugin", EXACT_MODELS)


def test_logits_of_a_wrong_shape_are_the_plugin_s_fault(cli):
    done = cli("verify", "bad-shape", "--plugin", EXACT_MODELS)
    assert done.code == 3
    assert "logits of shape (1, 1), not (1, 2)" in done.err


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interruption_prints_what_is_known(verify, tmp_path, as_json):
    flags = ["--json"] if as_json else []
    done = verify("interrupted", "--results", tmp_path / "kept", *flags)
    assert done.code == 130
    assert done.err.splitlines()[-1] == "formalbench: interrupted"
    assert not list((tmp_path / "kept").rglob("*.json"))
    if as_json:
        assert list(done.data) == KEYS
        assert done.data["exhaustive"] == {"max_length": 10, "strings": 31, "errors": 0}
        assert done.data["passed"] is False
    else:
        assert "31 strings" in done.out
        assert "not complete" in done.out


def test_people_read_the_same(verify):
    done = verify("counting", "--dtype", "all", "--set", "wrong_at=01101", "--set", "c=2")
    assert done.code == 1
    assert "counting on parity:classify, fp64 (c=2, wrong_at=01101)" in done.out
    assert "2,047 strings, all up to length 10: 1 error" in done.out
    assert "first failure: 01101: expected 1, logit -2" in done.out
    assert "fp16 (mixed) 4, bf16 (mixed) 4, fp32 4, fp64 4" in done.out
    assert done.lines[-1] == "FAILED: 1 error"


def test_options_behind_a_name(verify):
    set_apart = verify("counting", "--set", "c=2", "--set", "task.p=0.3", "--json").data
    assert set_apart["parameters"] == {"c": 2.0, "task.p": 0.3}
    assert verify("counting[c=2]", "--task", "parity[p=0.3]", "--json").data == set_apart
    # What stands behind a name wins.
    words = ("--task", "parity:classify[p=0.3]", "--set", "c=3", "--set", "p=0.9")
    assert verify("counting[c=2]", *words, "--json").data == set_apart


def test_a_function_is_verified_symbol_by_symbol(cli, backwards):
    words = ("--plugin", backwards, "--exhaustive", 5, "--lengths", "6,9", "--device", "cpu")
    done = cli("verify", "turn", *words, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.data["task"] == "backwards:transduce"
    assert done.data["exhaustive"] == {"max_length": 5, "strings": 62, "errors": 0}
    assert [row["min_margin"] for row in done.data["lengths"]] == [4.0, 4.0]
    done = cli("verify", "turn[wrong_at=abb]", *words, "--json")
    assert done.code == 1
    assert done.data["exhaustive"]["errors"] == 1
    failure = {"string": "abb", "expected": "B B A", "logit": -4.0}
    assert done.data["first_failure"] == failure


@pytest.mark.parametrize(
    ("text", "lengths"),
    [("5", (5,)), ("9,3,3", (3, 9)), ("2:4", (2, 3, 4)), ("1:9:4,20", (1, 5, 9, 20)), ("0", (0,))],
)
def test_lengths_as_written(text, lengths):
    assert parse_lengths(text) == lengths
