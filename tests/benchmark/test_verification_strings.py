"""The strings of a verification: all that were promised, none twice, none that is no string."""

import tracemalloc
from copy import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.source import HasNearMisses
from formalbench.host import PluginHost
from formalbench.verification import plan as planning
from formalbench.verification.judge import check_oracle
from formalbench.verification.plan import VerificationRequest, make_plan
from formalbench.verification.strings import (
    AdversarialLimits,
    ViableStrings,
    a_member,
    all_strings,
    amounts,
    make_adversarial,
    suitable,
)


@pytest.fixture(scope="module")
def task():
    """Build a task by its name."""
    host = PluginHost.load()
    return host.task


def strings_of(portion):
    return [tuple(row) for block in portion.strings() for row in block.tolist()]


@pytest.mark.parametrize(("symbols", "length"), [(2, 0), (2, 15), (3, 4), (1, 5), (7, 3)])
def test_every_string_once_and_in_order(symbols, length):
    made = [tuple(row) for block in all_strings(symbols, length) for row in block.tolist()]
    assert made == list(product(range(symbols), repeat=length))


@pytest.mark.parametrize("name", ["tomita-2:next-symbols", "d2:next-symbols", "dyck-2-2:generate"])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_viable_strings_are_those_that_some_member_begins_with(task, name, length):
    language = task(name).source
    found = {
        tuple(row)
        for block in ViableStrings(language, len(language.alphabet)).strings(length)
        for row in block
    }
    members = [
        string
        for more in range(length, length + 6)
        for string in product(range(len(language.alphabet)), repeat=more)
        if len(language.alphabet) ** more < 10**5 and language.oracle(string)
    ]
    assert found == {member[:length] for member in members}


def test_a_plan_has_exhaustive_then_random_then_adversarial_strings(task):
    plan = make_plan(task("parity"), VerificationRequest(3, (7, 5), 10, 1))
    assert [(portion.kind, portion.length) for portion in plan.portions] == [
        *(("exhaustive", length) for length in range(4)),
        *(("random", 5), ("random", 7), ("adversarial", 5), ("adversarial", 7)),
    ]
    assert [len(strings_of(portion)) for portion in plan.portions[:6]] == [1, 2, 4, 8, 10, 10]


def test_random_strings_are_members_and_others(task):
    parity = task("parity")
    portion = make_plan(parity, VerificationRequest(0, (30,), 100)).portions[0]
    strings = np.array(strings_of(portion))
    assert parity.source.classify(strings).sum() == 50


def test_long_strings_are_drawn_in_blocks(task, monkeypatch):
    monkeypatch.setattr(planning, "BLOCK_SYMBOLS", 64)
    portion = make_plan(task("parity"), VerificationRequest(0, (30,), 7)).portions[0]
    assert [len(block) for block in portion.strings()] == [2, 2, 2, 1]
    assert len(set(strings_of(portion))) == 7


def test_an_even_length_asked_for_is_shortened_where_only_odd_ones_have_a_value(task):
    plan = make_plan(task("modular-arithmetic"), VerificationRequest(4, (10, 11), 5))
    assert plan.asked.lengths == (9, 11)
    assert plan.asked.exhaustive == 3
    assert [(p.length, len(strings_of(p))) for p in plan.portions if p.kind == "exhaustive"] == [
        (1, 5),
        (3, 75),
    ]
    long = [portion for portion in plan.portions if portion.kind == "adversarial"]
    for portion in long:
        strings = np.array(strings_of(portion))
        assert len(strings)
        assert task("modular-arithmetic").source.in_domain(strings).all()


def test_a_large_alphabet_lowers_the_default_and_nothing_else(task):
    dyck = task("dyck-8-2")  # 16 symbols: 16^5 strings are a million, 16^6 too many
    plan = make_plan(dyck, VerificationRequest(lengths=(10,)))
    assert plan.asked.exhaustive == 5
    assert "exhaustive up to length 5, not 10" in plan.notes[0]
    assert make_plan(dyck, VerificationRequest(6, (10,))).asked.exhaustive == 6


def test_viable_strings_are_counted_without_being_made(task):
    dyck = task("dyck-128-15:next-symbols")  # of length 4 there are 2.7e8, 4 GB
    tracemalloc.start()
    plan = make_plan(dyck, VerificationRequest(lengths=(10,)))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert plan.asked.exhaustive == 3
    assert [(portion.length, portion.size) for portion in plan.portions[:4]] == [
        *((0, 1), (1, 128), (2, 128 * 129)),
        (3, 128 * 128 * 129 + 128 * 128),
    ]
    assert most < 1 << 30
    with pytest.raises(RequestError, match="--exhaustive 4: more than 67,108,864"):
        make_plan(dyck, VerificationRequest(4, (10,)))


def test_a_member_and_all_that_is_one_symbol_away(task):
    language = task("tomita-6")
    made = make_adversarial(language, language.stream("x"), 6, AdversarialLimits(12, 4000, 10))
    strings = [tuple(row) for block in made.strings() for row in block.tolist()]
    member = tuple(made.base[0].tolist())
    assert language.source.oracle(member) == 1
    neighbours = {(*member[:place], 1 - member[place], *member[place + 1 :]) for place in range(6)}
    lonely = {tuple(row) for row in np.eye(6, dtype=int)}
    lonely |= {tuple(1 - np.array(row)) for row in lonely}
    alone = {(0,) * 6, (1,) * 6}
    assert set(strings) == {member} | neighbours | lonely | alone
    assert len(strings) == 1 + 6 + 2 + 12


def test_three_symbols_change_into_both_others(task):
    navigation = task("cycle-navigation")
    made = make_adversarial(navigation, navigation.stream("x"), 4, AdversarialLimits(8, 4000, 0))
    strings = {tuple(row) for block in made.strings() for row in block.tolist()}
    for symbol, other, place in product(range(3), range(3), range(4)):
        string = [symbol] * 4
        string[place] = other
        assert tuple(string) in strings


def test_beyond_a_thousand_changes_are_drawn(task):
    parity = task("parity")
    amount = amounts(2, (1001,), 7)[1001]
    made = make_adversarial(parity, parity.stream("x"), 1001, amount)
    strings = np.concatenate(list(made.strings()))
    assert len(strings) == 1 + 2 + 7 + 7
    assert ((strings[3:10] != strings[0]).sum(1) == 1).all()


def test_up_to_a_thousand_all_changes_are_made_unless_lengths_are_many():
    few = amounts(2, (50, 100, 500, 1000), 100)
    assert [few[length].changed for length in (50, 100, 500, 1000)] == [50, 100, 500, 1000]
    many = amounts(2, range(1, 1001), 100)
    assert 16 <= many[1000].changed < 1000


def test_no_member_no_change(task):
    dyck = task("dyck-1")
    made = make_adversarial(dyck, dyck.stream("x"), 5, AdversarialLimits(5, 10, 0))
    assert len(made.base) == 2  # of each symbol the string of it alone


def test_what_no_member_begins_with_is_not_asked_for_legal_symbols(task):
    legal = task("dyck-1-2:next-symbols")
    strings = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 1]])
    assert suitable(legal, strings).tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("name", ["parity", "parity:tag", "tomita-3:next-symbols"])
def test_a_task_that_contradicts_its_oracle_verifies_nothing(task, name):
    right = task(name)
    strings = np.array(list(product(range(2), repeat=4)))
    example = right.examples(strings)
    check_oracle(right, strings, example)
    targets = example.targets.copy()
    targets[5] = ~targets[5] if targets.dtype == np.bool_ else 1 - targets[5]
    with pytest.raises(FormalbenchError, match="contradicts its oracle at '0 1 0 1'"):
        check_oracle(right, strings, example._replace(targets=targets))


def test_near_misses_of_a_wrong_shape_are_refused(task):
    parity = task("parity")

    class Bad(type(parity.source), HasNearMisses):
        def near_misses(self, stream, length, count):
            return np.zeros((count, length + 1), dtype=np.int64)

    source = copy(parity.source)
    source.__class__ = Bad
    bad = replace(parity, source=source)
    portion = make_plan(bad, VerificationRequest(0, (5,), 3)).portions[1]
    with pytest.raises(TypeError, match="near misses of shape"):
        strings_of(portion)


def test_near_misses_are_among_the_adversarial_strings(task):
    dyck = task("dyck-2-3:classify")
    made = make_adversarial(dyck, dyck.stream("x"), 8, AdversarialLimits(4, 4, 6))
    assert len(made.near) == 6
    assert not dyck.source.classify(made.near).any()
    assert made.near.tolist() == list(made.strings())[-1].tolist()


def test_of_a_source_without_members_strings_of_a_class_are_changed(task):
    navigation = task("cycle-navigation")
    member = a_member(navigation, navigation.stream("x"), 6)
    assert member.shape == (1, 6)
    assert navigation.source.classify(member)[0] >= 1
