"""Measure shortcuts on every task, and write docs/shortcuts.md.

Logistic regressions and shallow trees see the ends of a string, how many of each symbol, of each
pair of neighbours, of each pair two apart and of each run it has, how many in each half, how far
pairs of symbols are from being as many, and its length. They are fitted on strings of the training
lengths and tested at the test lengths, and so are automata of at most four states without groups.
`formalbench show task` shows the best one beside chance (tasks/formalbench_tasks/shortcuts.json).
Remainders of these numbers have a column of their own.

    python speed/shortcuts.py
    python speed/shortcuts.py --missing   # those without a figure in the version they have
    python speed/shortcuts.py d2 dyck-1   # the table of these, nothing is written
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import split_lengths, spread
from formalbench.host import PluginHost
from formalbench.ui.terminal import console
from shallow import GROUPS, Floats, Ints, answers, features, grow, logistic
from small_automata import best_automaton

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "shortcuts.md"
DATA = ROOT / "tasks" / "formalbench_tasks" / "shortcuts.json"

TRAIN = 12_000
"""Strings that are fitted on, over all training lengths."""

CELLS, STRINGS = 16, 256
"""Test lengths, and strings at each, as in the protocol `quick`."""

BOUNDS = (3, 7, 15, 31, 63)
"""Maximum lengths of the runs of `tomita-3` whose parity a rule knows."""

DEPTHS = (1, 2, 4, 6)
"""Questions that trees ask at most."""

OF_FAMILIES = (
    *("dyck-1", "dyck-2", "dyck-4"),
    *("dyck-1-1", "dyck-1-3", "dyck-1-5", "dyck-2-2", "dyck-2-3", "dyck-2-6", "dyck-4-5"),
    *("shuffle-dyck-2", "shuffle-dyck-4", "shuffle-dyck-6", "boolean-3", "boolean-5"),
)

UNKNOWN = "–"
"""Stands in a column that was not measured since it was there."""

ITSELF = "="
"""Marks columns in which the language itself is such an automaton."""

REMAINDERS, AUTOMATON = "remainders", "automaton"

Best = dict[str, dict[str, float]]
"""By full name, the version of a task and its best accuracy."""

INTRODUCTION = """# Shortcuts

This page shows how well simple baselines answer each task without knowing the language. A
network's accuracy is evidence that it has learned a language only as far as it is above the best
baseline. `formalbench show task` prints that baseline beside chance.

The baselines are logistic regressions and decision trees (1 to 6 questions deep), fitted on
{train:,} strings of the training lengths, and small automata. Accuracies are in percent, over
{cells} test lengths with {strings} strings each. Every column also sees the length and its
parity:

- *ends*: the first and the last symbol, and both together;
- *symbols*: the count of each symbol, also as a share of the length;
- *neighbours*: the count of each pair of neighbours, as a share, and whether there are none;
- *balance*: for each pair of symbols the difference of their counts, with and without sign, as a
  share, and whether it is 0; for brackets how far each type is from balanced;
- *places*: the count of each symbol in each half and at every second position, also as a share;
- *apart*: as *neighbours*, for pairs of symbols two positions apart;
- *runs*: the number of runs of each symbol of length 1 to 7, or longer, and of pairs of
  successive runs by their lengths (less than 7 for large alphabets);
- *remainders*: the counts of *symbols* and *places* and their differences modulo 2, 3, 4 and 5.
  This column is not part of *all* and *best*, because an automaton can compute it.

*Automaton* is the best automaton of at most four states whose monoid has no groups, and so a
star-free language. For two symbols all such automata are tried; for more, all with at most 65,536
transition tables, and a local search beyond, which gives a lower bound. `=` means that the
language itself has such an automaton, which is no shortcut.

The other columns have the best of five classifiers, chosen on the test lengths: they show what
counting *can* do. *Best* is the best of all columns except *remainders*. Where it is 100,
counting, neighbours or the ends determine the language, or it has very few members. *Chance* sees
only the length.

| task | version | chance | remainders | {columns} | best |
|---|{rules}|
"""

NOTES = """
## Weak evidence

Where a wrong rule answers more than 95 %, high accuracy is weak evidence. For some languages no
choice of strings can change that: the ends determine `first`, `even-pairs`, `ends-in-b` and
`blocks-ab`; neighbours or runs determine `contains-ab`, `no-bb`, `one-aa-at-most`,
`subsequence-ab`, `ordered-abc`, `ordered-abcde`, `three-blocks-ab`, `repeat-01`, `repeat-abab`,
`repeat-bbac`, `tomita-1`, `tomita-2`, `tomita-4`, `tomita-7`, `d1` and `dyck-1-1`; pairs two apart
determine `three-ab-then-b-blocks`; counts determine `majority`, `anbn`,
`anbncn` and `anbncndn`; on `even-a` chance is always right. The others are:

- `d2`, `d3`, `d4`, `d12`: half of their non-members are uniform strings, as published, and are
  recognised by counts and runs (99.5 % of `d2`). Use `dyck-1-3` and similar languages instead,
  whose non-members are near misses.
- `ab-then-b-blocks`, `even-a-no-bb`, `cycle-navigation-check`: members lack some pairs of
  symbols, and most near misses have one.
- `ab-or-aabb`, `ab-or-bbaa`, `ab-then-a-then-b`, `two-counters-in-turn`: members lack some runs or
  some pairs two apart, and most near misses have one.

The strings of `tomita-3` have runs of 2 symbols on average, or of about a sixteenth, an eighth, a
quarter or a half of their length, and a non-member is a member with the border between two runs
moved. A rule that knows the parity of runs of up to 3, 7, 15, 31 and 63 symbols, and takes every
longer run as even,
answers {bounded} %
of the strings at the test lengths.

## How strings are sampled

[What the numbers mean](method.md#strings) describes how strings are sampled. In `dyck-k-1`
neighbours decide everything. `majority`, `anbn`, `anbncn` and `anbncndn` depend only on counts
and the order of letters. For `shuffle-dyck-*`, `boolean-*`, reversals, copies and the other
languages beyond the regular ones, half of the non-members have a member's symbols, ends and,
where possible, neighbours.

## What remainders tell

`missing-duplicate` shows a string of bits twice with one bit left out, and asks which. Delétang
et al. (2023) call it context-sensitive. But a string written twice has an even number of ones, so
the answer is the parity of the visible ones, which two states compute. Networks find this: under
`standard`, version 3, all seeds of `rnn` (tanh and ReLU), `gru` and `lstm` learn it and have more
than 99 % on strings of 42 to 500 symbols; `stack-rnn` keeps it with two seeds of three. In the
paper a plain RNN fails on it, as on all tasks beyond the regular ones. That says nothing about
its memory.

The class of the task here is therefore that of parity. No star-free language separates its
strings: an aperiodic monoid has x and y such that x0y and x1y are equal, and then `x_y x0y` and
`x_y x1y` are equal as well. Theorems about regular languages are not applied to it, because a
network may also count; whether it is in C-RASP is open.

In copies, reversals and similar languages, members have an even number of each bit (an odd number
of ones in `missing-duplicate-check`), and some non-members do not. *Remainders* is thus a lower
bound of what an automaton can answer. Accuracy up to it shows no memory: 81 % for copies, 85 %
for `bucket-sort-check`, 87 % for `unmarked-reversal`, 91 % for `missing-duplicate-check`.
"""


def main() -> None:
    """Measure the named tasks, or all, or those without a figure; of these write page and data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help="names; all of them if none is given")
    parser.add_argument("--missing", action="store_true", help="measure what has no figure yet")
    asked = parser.parse_args()
    host = PluginHost.load()
    rows, best = _known(host) if asked.missing else ({}, {})
    names = [*host.suite("all").tasks, *OF_FAMILIES]
    for name in asked.tasks or names:
        if name in rows and UNKNOWN not in rows[name]:
            continue
        task = host.task(f"{name}:classify")
        found = measure(task)
        remainders = found.pop(REMAINDERS)
        top = max(share for share in found.values() if share is not None)
        best[name] = {"version": task.version, "accuracy": top}
        chance = task.chance(split_lengths(task, "test")).length_only
        shares = (chance, remainders, *found.values(), top)
        cells = [ITSELF if share is None else f"{100 * share:.1f}" for share in shares]
        rows[name] = " | ".join([f"| `{name}`", str(task.version), *cells]) + " |"
        console().print(rows[name], markup=False)
        sys.stdout.flush()
        if not asked.tasks:
            _write([each for each in names if each in rows], rows, best)  # found so far


def _known(host: PluginHost) -> tuple[dict[str, str], Best]:
    """Return the rows and the figures of tasks that still have the version they were found in."""
    best = {
        name: found
        for name, found in json.loads(DATA.read_text(encoding="utf-8")).items()
        if host.select_task(name).spec.version == found["version"]
    }
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    return {name: rows[name] for name in best if name in rows}, best


def _write(names: list[str], rows: dict[str, str], best: Best) -> None:
    head = INTRODUCTION.format(
        cells=CELLS,
        strings=STRINGS,
        train=TRAIN,
        columns=" | ".join((*GROUPS, "all", AUTOMATON)),
        rules="|".join(["--:"] * (len(GROUPS) + 6)),
    )
    *shares, last = (f"{100 * share:.1f}" for share in bounded())
    notes = NOTES.format(bounded=f"{', '.join(shares)} and {last}")
    PAGE.write_text(head + "\n".join(rows[name] for name in names) + "\n" + notes, "utf-8")
    kept = {name: best[name] for name in names}
    DATA.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def measure(task: Task, groups: Sequence[str] = ()) -> dict[str, float | None]:
    """Return the best accuracy by what is seen, averaged over the test lengths.

    None where what is seen is the language itself, by `best_automaton`.

    Args:
        task: any language's.
        groups: the columns; all of them if none is named.
    """
    train_lengths = split_lengths(task, "train")
    train = drawn(task, "train", train_lengths, max(TRAIN // len(train_lengths), 1))
    test = drawn(task, "test", spread(split_lengths(task, "test"), CELLS), STRINGS)
    symbols = len(task.alphabet)
    parts = [[features(strings_BN, symbols) for strings_BN, _ in part] for part in (train, test)]
    labels_B, right_B = (np.concatenate([classes for _, classes in part]) for part in (train, test))
    found: dict[str, float | None] = {}
    for group in groups or (*GROUPS, "all", AUTOMATON, REMAINDERS):
        if group == AUTOMATON:
            language = getattr(task.source, "automaton", None)
            share = best_automaton(train, test, symbols, task.outputs, language)
        else:
            seen_BF, asked_BF = (seen(part, group) for part in parts)
            share = max(accuracies(seen_BF, labels_B, asked_BF, right_B, task.outputs))
        found[group] = None if share is None else round(share, 4)
    return found


@cache
def bounded() -> tuple[float, ...]:
    """Return how much of `tomita-3` a rule answers, for each of `BOUNDS`, at the test lengths.

    The rule is the language itself, no odd run of 1s before an odd run of 0s, but that it takes
    every run longer than the bound to be even.
    """
    task = PluginHost.load().task("tomita-3:classify")
    test = drawn(task, "test", spread(split_lengths(task, "test"), CELLS), STRINGS)
    every = [(string_N, label) for part in test for string_N, label in zip(*part, strict=True)]
    return tuple(
        float(np.mean([_only_even(string_N, bound) == label for string_N, label in every]))
        for bound in BOUNDS
    )


def _only_even(string_N: Ints, bound: int) -> bool:
    """Return whether no odd run of 1s up to a bound stands before such a run of 0s."""
    first_R = np.flatnonzero(np.diff(string_N, prepend=-1))
    long_R = np.diff(first_R, append=len(string_N))
    odd_R = (long_R % 2 == 1) & (long_R <= bound)
    return not (odd_R[:-1] & odd_R[1:] & (string_N[first_R[:-1]] == 1)).any()


def drawn(task: Task, split: str, lengths: list[int], count: int) -> list[tuple[Ints, Ints]]:
    """Draw as many strings at each length; return them and their classes, length by length."""
    examples = (
        task.sample(task.stream("shortcuts", split, length, count), length, count)
        for length in lengths
    )
    return [(np.asarray(one.inputs), np.asarray(one.targets).reshape(-1)) for one in examples]


def seen(parts: list[dict[str, Floats]], group: str) -> Floats:
    """Return what a group of features sees of strings, or all groups do but `REMAINDERS`.

    Args:
        parts: the `features` of all strings, length by length.
        group: its name, or `all`.
    """
    named = GROUPS if group == "all" else (group,)
    return np.concatenate([np.concatenate([part[n] for n in named], axis=1) for part in parts])


def accuracies(
    train_BF: Floats, labels_B: Ints, test_BF: Floats, right_B: Ints, classes: int
) -> list[float]:
    """Fit and test the regression and the trees; return the accuracy of each."""
    tree = grow(train_BF, labels_B, classes, max(DEPTHS))
    given = [logistic(train_BF, labels_B, test_BF, classes)]
    given += [answers(tree, test_BF, depth) for depth in DEPTHS]
    return [float((answers_B == right_B).mean()) for answers_B in given]


if __name__ == "__main__":
    main()
