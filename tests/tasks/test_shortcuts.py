"""How far one gets without the language: what measures it, and what was measured."""

import json
import sys
from collections import Counter
from itertools import groupby, pairwise, product
from pathlib import Path

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "speed"))

import shallow  # noqa: E402 (it lies in speed/)
import shortcuts  # noqa: E402
import small_automata  # noqa: E402

DATA = json.loads((ROOT / "tasks/formalbench_tasks/shortcuts.json").read_text())
PAGE = (ROOT / "docs" / "shortcuts.md").read_text()


def longest_run(strings, symbol):
    rows = ([len(list(run)) for at, run in groupby(row) if at == symbol] for row in strings)
    return np.array([max(row, default=0) for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "group"),
    [
        (lambda s: s[:, 0] == s[:, -1], "ends"),
        (lambda s: (s == 1).sum(axis=1) > 3, "symbols"),
        (lambda s: ((s[:, :-1] == 0) & (s[:, 1:] == 1)).any(axis=1), "neighbours"),
        (lambda s: (s == 0).sum(axis=1) == (s == 1).sum(axis=1), "balance"),
        (lambda s: (s == 1).sum(axis=1) % 2, "remainders"),
        (lambda s: ((s == 1).sum(axis=1) - (s == 2).sum(axis=1)) % 5 == 3, "remainders"),
        (lambda s: (s[:, :6] == 1).sum(axis=1) > 2, "places"),
        (lambda s: (s[:, ::2] == 1).sum(axis=1) > 2, "places"),
        (lambda s: ((s[:, :-2] == 0) & (s[:, 2:] == 1)).any(axis=1), "apart"),
        (lambda s: longest_run(s, 1) == 2, "runs"),
    ],
)
def test_each_group_sees_what_it_should(label, group):
    drawn = [Stream("shallow", part).integers(3, (3000, 12)) for part in range(2)]
    train, test = ((shallow.features(s, 3)[group], label(s).astype(np.int64)) for s in drawn)
    tree = shallow.grow(*train, classes=2, depth=6)
    found = [shallow.answers(tree, test[0], depth) for depth in (0, 6)]
    found.append(shallow.logistic(*train, test[0], classes=2))
    shares = [(answers == test[1]).mean() for answers in found]
    assert max(shares[1:]) > 0.99
    assert shares[0] < 0.95


@pytest.mark.parametrize(("symbols", "bound"), [(2, 7), (3, 7), (5, 3), (30, 0)])
def test_runs_are_counted_as_by_hand(symbols, bound):
    strings = Stream("runs", symbols).integers(symbols, (50, 30))
    strings[:10] = np.sort(strings[:10], axis=1)  # long runs
    seen = shallow.features(strings, symbols)["runs"]
    kinds, size = symbols * 8, symbols * (bound + 1)
    pairs = [
        (a, m, b, n)
        for a, m, b, n in product(range(symbols), range(bound + 1), repeat=2)
        if a != b and bound
    ]
    assert seen.shape[1] == 2 * kinds + len(pairs) + 2  # the length, and whether it is odd
    assert len(pairs) == (size * (size - bound - 1) if bound else 0)
    for row, found in zip(strings.tolist(), seen, strict=True):
        runs = [(symbol, len(list(run))) for symbol, run in groupby(row)]
        each = Counter((symbol, min(length, 8) - 1) for symbol, length in runs)
        single = [each[symbol, length] for symbol in range(symbols) for length in range(8)]
        assert found[:kinds].tolist() == single
        assert found[kinds : 2 * kinds].tolist() == [float(not one) for one in single]
        capped = [(symbol, min(length - 1, bound)) for symbol, length in runs]
        both = Counter((*one, *other) for one, other in pairwise(capped))
        assert found[2 * kinds : -2].tolist() == [both[pair] for pair in pairs]


def groups_of(table):
    """Say whether some word permutes two states or more: every map of the monoid, the slow way."""
    maps = {symbol: tuple(row[symbol] for row in table) for symbol in range(len(table[0]))}
    monoid, more = set(maps.values()), True
    while more:
        longer = {tuple(m[s] for s in w) for w in monoid for m in maps.values()} - monoid
        monoid, more = monoid | longer, bool(longer)
    for word in monoid:
        power, seen = word, []
        while power not in seen:
            seen.append(power)
            power = tuple(word[state] for state in power)
        if power != seen[-1]:  # the powers end in a cycle, and not in one map
            return True
    return False


def test_automata_without_groups_are_those_whose_powers_settle():
    stream = Stream("tables")
    found = Counter()
    for size, symbols in [(2, 2), (3, 2), (4, 2), (4, 3)]:
        for _ in range(150):
            table = tuple(map(tuple, stream.integers(size, (size, symbols)).tolist()))
            assert small_automata.is_aperiodic(table) == (not groups_of(table))
            found[groups_of(table)] += 1
    assert min(found.values()) > 50


@pytest.mark.slow
def test_all_small_automata_are_tried_once():
    """Of two symbols 1, 12, 216 and 5,248 are reached from their start, with 1 to 4 states."""
    tables = small_automata.every_table(2)
    assert len(set(tables)) == len(tables)
    sizes = Counter(map(len, tables))
    assert (sizes[1], sizes[2]) == (1, 5)
    every = [
        table
        for table in product(product(range(3), repeat=2), repeat=3)
        if small_automata.numbered(table)
    ]
    assert len(every) == 216
    assert sizes[3] == sum(not groups_of(table) for table in every)
    assert max(map(len, small_automata.every_table(8))) == 2


def labelled(language, part, lengths, count):
    drawn = [language.sample(Stream("small", part, length), length, count) for length in lengths]
    return [(strings_BN, language.classify(strings_BN)) for strings_BN in drawn]


@pytest.mark.slow
def test_the_best_small_automaton_is_found_and_is_not_the_language():
    host = PluginHost.load()

    def best(name, automaton=None):
        language = host.task(name).source
        parts = {"train": (range(3, 30), 60), "test": ((41, 90), 200)}
        train, test = (labelled(language, part, *parts[part]) for part in parts)
        symbols = len(language.alphabet)
        return small_automata.best_automaton(
            train, test, symbols, language.num_classes, automaton and language.automaton
        )

    assert best("first") == best("contains-ab") == 1.0
    assert best("first", automaton=True) is best("contains-ab", automaton=True) is None
    assert best("parity", automaton=True) < 0.6  # its automaton has a group
    assert best("tomita-3", automaton=True) < 0.6
    assert best("ordered-abc") > 0.95  # three symbols, four states: found by searching


def test_every_language_has_its_number_in_the_version_it_has():
    host = PluginHost.load()
    everything = set(host.suite("all").tasks) | {"dyck-1", "dyck-2", "dyck-2-3"}
    everything |= {"shuffle-dyck-2", "shuffle-dyck-6", "boolean-3", "boolean-5"}
    assert everything <= set(DATA)
    for name, found in DATA.items():
        spec = host.select_task(name).spec
        assert found["version"] == spec.version
        assert spec.shortcuts[name] == found["accuracy"]
        best = f"{100 * found['accuracy']:.1f} |"
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        assert row.endswith(best)


def test_no_shortcut_is_known_to_tell_tomita_3():
    """Its first version had strings of which runs up to 7 told 99 %."""
    assert DATA["tomita-3"]["version"] == 2
    assert DATA["tomita-3"]["accuracy"] < 0.85


@pytest.mark.slow
def test_what_a_rule_of_bounded_runs_answers_of_tomita_3_is_on_the_page():
    *shares, last = (f"{100 * share:.1f}" for share in shortcuts.bounded())
    assert f"answers {', '.join(shares)} and {last} %\n" in PAGE


@pytest.mark.parametrize("bound", [3, 100])
def test_a_rule_of_bounded_runs_is_as_by_hand(bound):
    strings = Stream("bounded runs", bound).integers(2, (200, 12))
    for string in strings:
        runs = [(symbol, len(list(run))) for symbol, run in groupby(string.tolist())]
        odd = [(symbol, size % 2 == 1 and size <= bound) for symbol, size in runs]
        pairs = [*pairwise(odd)]
        assert shortcuts._only_even(string, bound) == (((1, True), (0, True)) not in pairs)
