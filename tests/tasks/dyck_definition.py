"""Dyck languages from the definition, one string and one symbol at a time."""

from collections import Counter
from fractions import Fraction
from itertools import product

from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck.language import Dyck
from scipy.stats import chisquare

SMALL = [(1, None), (2, None), (3, None), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2)]
"""(k, D) of languages that are looked at exhaustively."""

LONGEST = {1: 10, 2: 6, 3: 4}
"""By k: all strings up to this length."""


def stack_after(prefix, deepest=None):
    """Return positions and types of what is open; None if no member begins so."""
    held = []
    for position, symbol in enumerate(prefix):
        if symbol % 2 == 0:
            held.append((position, symbol // 2))
            if deepest is not None and len(held) > deepest:
                return None
        elif not held or held.pop()[1] != symbol // 2:
            return None
    return held


def next_shares(prefix, types, deepest, may_end=True):
    """Return {symbol: probability} after a legal prefix; END is 2k.

    Where the process must not end yet, it draws again, and so opens.
    """
    held, end = stack_after(prefix, deepest), 2 * types
    if not held:
        each = Fraction(1, 2 * types if may_end else types)
        return {2 * t: each for t in range(types)} | ({end: Fraction(1, 2)} if may_end else {})
    close = 2 * held[-1][1] + 1
    if deepest is not None and len(held) == deepest:
        return {close: Fraction(1)}
    return {2 * t: Fraction(1, 2 * types) for t in range(types)} | {close: Fraction(1, 2)}


def process(types, deepest, longest, shortest=0):
    """Return {string: probability} of what the process ends with, of shortest … longest symbols."""
    found, growing = {}, {(): Fraction(1)}
    for length in range(longest + 1):
        longer = {}
        for prefix, probability in growing.items():
            shares = next_shares(prefix, types, deepest, length >= shortest)
            for symbol, share in shares.items():
                if symbol == 2 * types:
                    found[prefix] = probability * share
                else:
                    longer[(*prefix, symbol)] = probability * share
        growing = longer
    return found


def members(types, deepest, length):
    """Return all members of a length."""
    strings = product(range(2 * types), repeat=length)
    return [string for string in strings if stack_after(string, deepest) == []]


def name(case):
    """Return the name of a language, for the tests' own names."""
    return "-".join(["dyck", *(str(field) for field in case if field is not None)])


def dyck_of(types, deepest=None, **options):
    """Return a language of brackets."""
    return Dyck(DyckConfig(**options), types, deepest)


def language(case):
    return dyck_of(*case)


def fits(drawn_BN, law):
    """Say whether strings look drawn from {string: weight}, and none is outside it."""
    found = Counter(map(tuple, drawn_BN.tolist()))
    if not set(found) <= set(law):
        return False
    total = sum(law.values())
    expected = [float(weight / total) * len(drawn_BN) for weight in law.values()]
    return bool(chisquare([found[string] for string in law], expected).pvalue > 1e-3)
