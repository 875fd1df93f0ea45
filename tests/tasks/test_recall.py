"""Recall: the flip-flop language and associative recall, and that only questions are scored."""

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench.contracts.task import Task
from formalbench.objectives.tag import Tag
from formalbench_tasks.configs import FlipFlopConfig, RecallConfig
from formalbench_tasks.languages.recall import FlipFlop, Recall
from hypothesis import given, settings
from hypothesis import strategies as st

FLIP_FLOP, MQAR = FlipFlop(FlipFlopConfig()), Recall(RecallConfig(vocabulary=16))


def flip_flop(text):
    return np.array([[FLIP_FLOP.alphabet.index(symbol) for symbol in text]], dtype=np.int64)


@settings(max_examples=100, deadline=None)
@given(text=st.text("wri01", max_size=80))
def test_bits_are_the_oracles_on_any_string(text):
    string = flip_flop(text).reshape(1, -1)
    expected = [FLIP_FLOP.oracle(string[0, : end + 1].tolist()) for end in range(len(text))]
    assert FLIP_FLOP.classify_prefixes(string)[0].tolist() == expected
    assert FLIP_FLOP.classify(string).tolist() == [expected[-1] if expected else 0]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_values_are_the_oracles_on_any_string(data):
    keys_or_values = st.integers(1, 15)
    pairs = st.tuples(keys_or_values, st.integers(8, 15))
    string = [symbol for pair in data.draw(st.lists(pairs, max_size=30)) for symbol in pair]
    strings_BN = np.array([string], dtype=np.int64).reshape(1, -1)
    assert MQAR.in_domain(strings_BN).tolist() == [bool(string)]
    expected = [MQAR.oracle(string[: end + 1]) for end in range(len(string))]
    assert MQAR.classify_prefixes(strings_BN)[0].tolist() == expected
    assert MQAR.classify(strings_BN).tolist() == [expected[-1] if expected else 0]


@pytest.mark.parametrize("length", [4, 6, 40, 512])
def test_strings_of_the_flip_flop_language(length):
    strings_BN = FLIP_FLOP.sample(Stream("flip-flop"), length, 50)
    assert strings_BN.shape == (50, length)
    assert FLIP_FLOP.in_domain(strings_BN).all()
    for string in strings_BN.tolist():
        memory = None
        for instruction, bit in zip(string[0::2], string[1::2], strict=True):
            if instruction == 0:
                memory = bit
            assert instruction != 1 or bit == memory
    assert (strings_BN[:, 0] == 0).all()
    assert (strings_BN[:, -2] == 1).all()


@pytest.mark.parametrize("ignored", [0.1, 0.8, 0.98])
def test_instructions_are_as_probable_as_said(ignored):
    language = FlipFlop(FlipFlopConfig(ignored=ignored))
    strings_BN = language.sample(Stream("shares"), 512, 200)
    shares = np.bincount(strings_BN[:, 2:-2:2].reshape(-1), minlength=3) / (200 * 254)
    expected = [(1 - ignored) / 2, (1 - ignored) / 2, ignored]
    assert shares == pytest.approx(expected, abs=0.01)


def test_only_what_is_read_is_scored():
    task = Task("flip-flop", 1, FLIP_FLOP, Tag())
    example = task.examples(flip_flop("w1r1i0w0r0"))
    assert example.scored[0].astype(int).tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert example.targets.tolist() == [[0, 0, 1, 0, 0, 0, 0, 0, 0, 0]]
    (shown,) = task.to_json(example)
    assert shown == [None, None, 1, None, None, None, None, None, 0, None]
    assert task.objective.show(FLIP_FLOP, flip_flop("w1r1")[0]) == "- - 1 -"


def test_a_wrong_answer_to_a_question_contradicts_the_oracle():
    task = Task("flip-flop", 1, FLIP_FLOP, Tag())
    example = task.sample(Stream("contradicted"), 20, 8)
    assert task.objective.contradicts(FLIP_FLOP, example) is None
    example.targets[3, -1] = 1 - example.targets[3, -1]  # nothing is asked there
    assert task.objective.contradicts(FLIP_FLOP, example) is None
    example.targets[5, -2] = 1 - example.targets[5, -2]
    assert task.objective.contradicts(FLIP_FLOP, example) == 5


@pytest.mark.parametrize(("length", "options"), [(64, {}), (128, {}), (64, {"pairs": 16})])
def test_every_key_comes_twice(length, options):
    language = Recall(RecallConfig(**options))
    pairs = options.get("pairs", length // 16)
    strings_BN = language.sample(Stream("mqar"), length, 50)
    assert language.in_domain(strings_BN).all()
    asked_BN = language.asked(strings_BN)
    assert (asked_BN.sum(axis=1) == pairs).all()
    assert not asked_BN[:, : 2 * pairs].any()
    assert not asked_BN[:, 1::2].any()
    for string, asked in zip(strings_BN.tolist(), asked_BN, strict=True):
        known = dict(zip(string[0 : 2 * pairs : 2], string[1 : 2 * pairs : 2], strict=True))
        assert len(known) == len(set(known.values())) == pairs
        queries = [string[place] for place in np.flatnonzero(asked)]
        assert sorted(queries) == sorted(known)
        for place in np.flatnonzero(asked):
            assert language.oracle(string[: place + 1]) == known[string[place]]


def test_near_places_are_likelier():
    strings_BN = Recall(RecallConfig(pairs=1)).sample(Stream("gaps"), 12, 20_000)
    places = np.bincount(strings_BN[:, 2::2].argmin(axis=1), minlength=5) / 20_000
    weights = 1 / np.arange(1, 6)
    assert places == pytest.approx(weights / weights.sum(), abs=0.012)
