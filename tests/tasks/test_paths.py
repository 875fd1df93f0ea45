"""Counting and uniform sampling, against exact big integers and known numbers."""

from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest
import reference_sampler
from formalbench.contracts.source import Stream
from formalbench_tasks.automata import automaton as automata_automaton
from formalbench_tasks.automata import paths as automata_paths
from formalbench_tasks.automata.automaton import from_table
from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.automata.regex import compile_regex
from formalbench_tasks.dyck import language as dyck_language
from scipy.stats import chisquare


def test_the_reference_counts_every_class(automaton_taggable, every_string, longest):
    symbols = len(automaton_taggable.alphabet)
    for length in range(7 if symbols <= 5 else longest(symbols, 20_000) + 1):
        found = Counter(
            automaton_taggable.oracle(string) for string in every_string(symbols, length).tolist()
        )
        for label in range(automaton_taggable.num_classes):
            assert (
                reference_sampler.count(automaton_taggable.automaton, length, label) == found[label]
            )
            assert automaton_taggable.automaton.paths.has_class(length, label) == (found[label] > 0)


def test_there_are_no_strings_of_other_lengths_or_classes(make):
    paths = make("cycle-navigation").automaton.paths
    assert [paths.has_class(9, label) for label in range(-1, 6)] == [False, *[True] * 5, False]
    assert not paths.has_class(-1, 0)


def test_the_reference_gives_known_numbers(make):
    tribonacci = [1, 2, 4]
    while len(tribonacci) <= 300:
        tribonacci.append(sum(tribonacci[-3:]))
    assert reference_sampler.count(make("tomita-4").automaton, 300) == tribonacci[300]
    for half in range(13):
        catalan = comb(2 * half, half) // (half + 1)
        assert reference_sampler.count(make("d12").automaton, 2 * half) == catalan
    assert reference_sampler.count(make("d12").automaton, 26) == comb(26, 13) // 14 - 1
    assert reference_sampler.count(make("d2").automaton, 200) == 2**99
    assert reference_sampler.count(make("tomita-5").automaton, 200) == 2**199
    assert reference_sampler.count(make("tomita-5").automaton, 201) == 0


@pytest.mark.parametrize("label", [0, 1])
def test_branch_probabilities_are_exact_to_1e_12(automaton_membership, label):
    assert compare_branches(automaton_membership.automaton, label) > 20


@pytest.mark.parametrize("regex", ["1*|0(0|1)*", "(1*|0(0|1)*)2(0|1|2)*", "(01|2)*(0|1)*"])
def test_lopsided_branch_probabilities_are_exact_to_1e_12(regex):
    """Here one branch may have 2^200 strings and the other a single one."""
    assert compare_branches(compile_regex(regex, "012"), 1) > 20


def compare_branches(automaton, label):
    """Compare all branch probabilities at some lengths up to 200; return how many."""
    states, symbols = automaton.transitions.shape
    thresholds_TSR = automaton.paths.thresholds(1, 200)
    counts = reference_sampler.counts(automaton, 200, label)
    compared = 0
    for remaining in (*range(1, 20), 30, 100, 199, 200):
        for state, targets in enumerate(automaton.transitions.tolist()):
            row = counts[remaining - 1]
            if not any(row[target] for target in targets):
                continue
            found = thresholds_TSR[remaining - 1, :, label * states + state].tolist()
            shares = reference_sampler.branch(row, targets)
            # an impossible symbol leaves no room at all between two thresholds
            bounds = [0.0, *found, 1.0]
            for symbol in range(symbols):
                assert abs(Fraction(bounds[symbol + 1]) - sum(shares[: symbol + 1])) < 1e-12
                assert (shares[symbol] > 0) or bounds[symbol] == bounds[symbol + 1]
                compared += 1
    return compared


def test_the_fast_sampler_draws_what_the_reference_draws(automaton_taggable):
    automaton = automaton_taggable.automaton
    large = automaton.transitions.size > 500
    for length in (0, 1, 2, 9) if large else (0, 1, 2, 24, 51):
        labels = [
            label
            for label in range(0, automaton_taggable.num_classes, 7 if large else 1)
            if automaton.paths.has_class(length, label)
        ]
        labels_B = np.array(labels * 4, dtype=np.int64)
        fast = automaton.paths.sample(Stream("pair", length), length, labels_B)
        slow = reference_sampler.sample(
            automaton, Stream("pair", length), length, labels_B.tolist()
        )
        assert fast.tolist() == slow
        assert automaton.classify(fast).tolist() == labels_B.tolist()


def test_large_automata_draw_what_the_reference_and_the_table_draw(monkeypatch):
    """Of a large automaton only the rows that strings are in are looked at."""
    rng = np.random.default_rng(0)
    table = rng.integers(300, size=(300, 20))
    table[:150, :10] = 299  # in the last state all strings end in class 0, and stay
    table[299] = 299
    large = from_table(table, [*(rng.random(299) < 0.5).astype(int), 0])
    labels_B = np.array([0, 1] * 20, dtype=np.int64)
    assert large.transitions.size > automata_paths._LARGE
    slow = reference_sampler.sample(large, Stream("large"), 7, labels_B.tolist())
    assert large.paths.sample(Stream("large"), 7, labels_B).tolist() == slow
    found_BN = large.paths.sample(Stream("larger"), 90, labels_B)
    monkeypatch.setattr(automata_paths, "_LARGE", 1 << 30)
    assert np.array_equal(found_BN, large.paths.sample(Stream("larger"), 90, labels_B))
    assert large.classify(found_BN).tolist() == labels_B.tolist()


@pytest.mark.parametrize(
    ("name", "length", "label"),
    [
        ("tomita-4", 7, 1),
        ("d3", 10, 1),
        ("d3", 6, 0),
        ("tomita-3", 6, 0),
        ("cycle-navigation", 4, 2),
    ],
)
def test_sampling_is_uniform_over_all_strings_of_a_class(make, every_string, name, length, label):
    language = make(name)
    strings_BN = every_string(len(language.alphabet), length)
    wanted = [tuple(row) for row in strings_BN.tolist() if language.oracle(row) == label]
    labels_B = np.full(200 * len(wanted), label, dtype=np.int64)
    drawn = language.automaton.paths.sample(Stream("uniform", name), length, labels_B)
    found = Counter(map(tuple, drawn.tolist()))
    assert set(found) == set(wanted)
    assert chisquare([found[string] for string in wanted]).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tomita-2", "tomita-7", "d12", "parity"])
def test_very_long_strings(make, name):
    language = make(name)
    strings_BN = language.sample(Stream("very long"), 10_000, 4)
    labels_B = language.classify(strings_BN)
    assert labels_B.sum() == 2
    assert labels_B.tolist() == [language.oracle(string) for string in strings_BN.tolist()]


def test_a_part_that_grows_faster_does_not_drown_a_slower_one():
    """Even lengths have one member, 0…0; odd ones 2^(N-1) more, which start with 1."""
    table = [[1, 3], [2, 5], [1, 5], [4, 4], [3, 3], [5, 5]]
    automaton = from_table(table, [0, 0, 1, 1, 0, 0])
    ones_B = np.ones(3, dtype=np.int64)
    assert reference_sampler.count(automaton, 20) == 1
    assert not automaton.paths.sample(Stream("slow"), 4000, ones_B).any()
    odd_BN = automaton.paths.sample(Stream("slow"), 4001, ones_B)
    assert automaton.classify(odd_BN).tolist() == [1, 1, 1]
    assert odd_BN[:, 0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["parity", "tomita-3", "cycle-navigation"])
def test_forgotten_counts_are_counted_again(make, name, monkeypatch):
    """Equal symbols, independent of the cache and the order of lengths."""
    kept = make(name).automaton.paths
    automaton = make(name).automaton
    forgetful = Paths(automaton.transitions, automaton.classes, automaton.start, stretch=7)
    monkeypatch.setattr(automata_paths, "BLOCK", 200)
    monkeypatch.setattr(automata_paths, "_KEPT", 0)
    for length in (50, 3, 6, 7, 8, 49, 0, 300, 14):
        labels_B = np.array([c for c in range(2) if kept.has_class(length, c)] * 3)
        one, other = (p.sample(Stream("counts"), length, labels_B) for p in (kept, forgetful))
        assert np.array_equal(one, other)
        assert kept.distribution(length, [0, 1]) == forgetful.distribution(length, [0, 1])
        assert len(forgetful._counts._rows) <= 7
    assert len(forgetful._counts._firsts) == 300 // 7 + 1


def test_counts_of_long_strings_are_not_kept(make):
    paths = make("d12").automaton.paths
    assert paths.has_class(20_000, 1)
    assert len(paths._counts._rows) + len(paths._counts._firsts) < 5000


def test_distribution_may_be_asked_for_some_classes_only(make):
    paths = make("cycle-navigation").automaton.paths
    assert paths.distribution(1, range(5)) == pytest.approx([1 / 3, 1 / 3, 0, 0, 1 / 3])
    assert paths.distribution(1, [0, 3]) == (1, 0)
    assert paths.distribution(2000, range(5)) == pytest.approx([0.2] * 5)


@pytest.mark.parametrize(
    "name", ["first", "tomita-3", "tomita-5", "cycle-navigation", "blocks-ab", "d12", "dyck-2-3"]
)
def test_a_few_strings_are_drawn_and_classified_as_many_are(make, monkeypatch, name):
    def draw():
        drawn = []
        for length in (0, 1, 17, 300):
            language, stream = make(name), Stream("few", length)
            strings = language.sample(stream, length, 20)
            assert strings.shape == (20, length)
            # What comes after in the stream is the same, too.
            drawn.append((strings.tolist(), language.classify(strings).tolist(), *stream.raw(1)))
        return drawn

    few = draw()
    monkeypatch.setattr(automata_paths, "FEW", 0)
    monkeypatch.setattr(automata_automaton, "FEW", 0)
    monkeypatch.setattr(dyck_language, "FEW", 0)
    assert few == draw()
