"""The classes of a regular language by their definitions, slowly, for tests to compare with.

Nothing is shared with `formalbench.theory`: the whole transition monoid is listed, and potentials
are asked for through flows, their dual.
"""

from itertools import product

from sympy import Matrix

Map = tuple[int, ...]


def then(first: Map, second: Map) -> Map:
    return tuple(second[state] for state in first)


def monoid(table) -> list[Map]:
    symbols = [tuple(row[symbol] for row in table) for symbol in range(len(table[0]))]
    found = [tuple(range(len(table)))]
    for one in found:
        found += {then(one, symbol) for symbol in symbols} - set(found)
    return found


def finite(table, classes, start) -> bool:
    """Say whether no string of Q to 2Q-1 symbols is in: one that is can be pumped."""
    states, count = {start}, len(table)
    for length in range(2 * count):
        if length >= count and any(classes[state] for state in states):
            return False
        states = {target for state in states for target in table[state]}
    return True


def r_trivial(elements: list[Map]) -> bool:
    """Say whether no two elements generate the same right ideal."""
    ideals = [frozenset(then(one, other) for other in elements) for one in elements]
    return len(set(ideals)) == len(ideals)


def star_free(elements: list[Map]) -> bool:
    """Say whether x^n = x^(n+1) for every x, for n the number of elements."""
    for one in elements:
        power = one
        for _ in range(len(elements)):
            power = then(power, one)
        if power != then(power, one):
            return False
    return True


def ac0(table) -> bool:
    """Say whether, for no length, the maps of the words of this length contain a cyclic group."""
    symbols = {tuple(row[symbol] for row in table) for symbol in range(len(table[0]))}
    words, seen = frozenset(symbols), set()
    while words not in seen:
        seen.add(words)
        for one in words:
            powers = [one]
            while then(powers[-1], one) not in powers:
                powers.append(then(powers[-1], one))
            if then(powers[-1], one) == one != powers[-1] and words.issuperset(powers):
                return False
        words = frozenset(then(word, symbol) for word in words for symbol in symbols)
    return True


def omega(one: Map) -> Map:
    power = one
    while then(power, power) != power:
        power = then(power, one)
    return power


def r_omega(elements: list[Map]) -> bool:
    """Say whether (xy^ω)^ω x = (xy^ω)^ω: so it is of every language in C-RASP."""
    for x, y in product(elements, repeat=2):
        power = omega(then(x, omega(y)))
        if then(power, x) != power:
            return False
    return True


def solvable(elements: list[Map]) -> bool:
    """Say whether the derived series of every maximal group ends in the identity."""
    for one in elements:
        if then(one, one) == one:
            local = {then(then(one, x), one) for x in elements}
            group = {x for x in local if any(then(x, y) == one == then(y, x) for y in local)}
            if not _solvable(group, one):
                return False
    return True


def _solvable(group: set[Map], one: Map) -> bool:
    while len(group) > 1:
        inverse = {x: next(y for y in group if then(x, y) == one) for x in group}
        derived = {
            then(then(inverse[x], inverse[y]), then(x, y)) for x, y in product(group, repeat=2)
        }
        while more := {then(x, y) for x, y in product(derived, repeat=2)} - derived:
            derived |= more
        if derived == group:
            return False
        group = derived
    return True


def c_rasp(table) -> bool:
    """Return whether counting separates all states of each component, layer by layer.

    Two states are not separated iff some flow along the edges leads from one to the other while the
    edges of every label cancel out: then paths to both have the same counts.
    """
    states = range(len(table))
    reach = {(one, one) for one in states}
    reach |= {(source, target) for source in states for target in table[source]}
    for middle, source, target in product(states, repeat=3):
        if (source, middle) in reach and (middle, target) in reach:
            reach.add((source, target))
    both = {(p, q) for p, q in reach if (q, p) in reach}
    known = [min(q for q in states if (p, q) in both) for p in states]
    while True:
        finer = [
            min(
                q
                for q in states
                if (p, q) in both and known[p] == known[q] and _flows(table, both, known, p, q)
            )
            for p in states
        ]
        if finer == known:
            return known == list(states)
        known = finer


def _flows(table, both, known, p: int, q: int) -> bool:
    inner = [
        (source, (symbol, known[target]), target)
        for source, row in enumerate(table)
        for symbol, target in enumerate(row)
        if {(source, p), (target, p)} <= both
    ]
    labels = sorted({label for _, label, _ in inner})
    columns = []
    for source, label, target in inner:
        column = [0] * (len(table) + len(labels))
        column[source] -= 1
        column[target] += 1
        column[len(table) + labels.index(label)] = 1
        columns.append(column)
    wanted = [0] * (len(table) + len(labels))
    wanted[p] -= 1
    wanted[q] += 1
    return p == q or Matrix(columns).rank() == Matrix([*columns, wanted]).rank()


def c_rasp_last(table, classes) -> bool:
    """Say whether, for every symbol a, C-RASP defines {u : ua in the language}.

    The states of its minimal automaton are what the strings behind them tell apart: all strings v
    of fewer than Q symbols, read before the a, are tried.
    """
    for symbol in range(len(table[0])):
        told: dict[tuple[int, ...], int] = {}
        behind = [_classes_behind(table, classes, symbol, state) for state in range(len(table))]
        block = [told.setdefault(each, len(told)) for each in behind]
        first = [block.index(number) for number in range(len(told))]
        if not c_rasp([[block[target] for target in table[state]] for state in first]):
            return False
    return True


def _classes_behind(table, classes, symbol: int, state: int) -> tuple[int, ...]:
    found, layer = [], [state]
    for _ in table:
        found += [classes[table[one][symbol]] for one in layer]
        layer = [target for one in layer for target in table[one]]
    return tuple(found)
