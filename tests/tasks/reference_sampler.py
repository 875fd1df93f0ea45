"""The slow and obvious counterpart of `formalbench_tasks.automata.paths`, in big integers.

Tests compare the two; nothing else uses this.
"""

from fractions import Fraction

from formalbench.contracts.source import Stream
from formalbench_tasks.automata.automaton import Automaton


def counts(automaton: Automaton, length: int, label: int) -> list[list[int]]:
    """Return, for every t up to `length` and every state, the number of strings.

    Entry [t][q] is the number of strings of length t that lead from state q to
    class `label`.
    """
    table = automaton.transitions.tolist()
    rows = [[int(end == label) for end in automaton.classes.tolist()]]
    for _ in range(length):
        rows.append([sum(rows[-1][target] for target in targets) for targets in table])
    return rows


def count(automaton: Automaton, length: int, label: int = 1) -> int:
    """Return how many strings of this length have this class, exactly."""
    return counts(automaton, length, label)[length][automaton.start]


def branch(row: list[int], targets: list[int]) -> list[Fraction]:
    """Return the exact probability of each symbol, given the counts one symbol later."""
    total = sum(row[target] for target in targets)
    return [Fraction(row[target], total) for target in targets]


def sample(automaton: Automaton, stream: Stream, length: int, labels: list[int]) -> list[list[int]]:
    """Draw one string per label, uniformly, using `stream` as the fast sampler does."""
    tables = {label: counts(automaton, length, label) for label in set(labels)}
    table = automaton.transitions.tolist()
    states = [automaton.start] * len(labels)
    strings: list[list[int]] = [[] for _ in labels]
    for remaining in range(length, 0, -1):
        numbers = stream.uniform(len(labels)).tolist()
        for index, (label, number) in enumerate(zip(labels, numbers, strict=True)):
            targets = table[states[index]]
            shares = branch(tables[label][remaining - 1], targets)
            symbol = 0
            while Fraction(number) >= sum(shares[: symbol + 1]):
                symbol += 1
            strings[index].append(symbol)
            states[index] = targets[symbol]
    return strings
