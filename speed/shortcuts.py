"""Measure how far counting gets on every task, and write docs/shortcuts.md.

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
from formalbench.ui.output import console
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
"""Of the runs of `tomita-3` whose parity a rule knows."""

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
"""Stands where the language itself is what a column may see."""

REMAINDERS, AUTOMATON = "remainders", "automaton"

Best = dict[str, dict[str, float]]
"""By full name, the version of a task and its best accuracy."""

INTRODUCTION = """# Shortcuts

How far does one get without the language? Here are logistic regressions and decision trees (1 to 6
questions deep) that see little of the order, and automata that are small and cannot count modulo
anything. Accuracies in percent, over {cells} test lengths with {strings} strings each; fitted on
{train:,} strings of the training lengths. Columns are what they see, always with the length and
whether it is odd:

- *ends*: the first and the last symbol, and both together;
- *symbols*: how many there are of each, and as a share of the length;
- *neighbours*: how many there are of each pair of neighbours, as a share, and whether there are
  none;
- *balance*: for each pair of symbols, how many more there are of one, with and without a sign, as a
  share, and whether they are as many; how far brackets are from adding up, type by type;
- *places*: how many there are of each symbol in each half, and at every other place, and as a
  share;
- *apart*: how many there are of each pair of symbols two apart, as *neighbours*;
- *runs*: how many runs of each symbol are of length 1 to 7, or longer; and how many of two runs
  that follow each other, by the lengths of both (to less than 7, if there are many symbols);
- *remainders*: what dividing by 2, 3, 4 and 5 leaves of how many there are of each symbol, of each
  at every other place, of how many more there than at the rest, and of these differences. This is
  no part of *all* and *best*: an automaton has it, and it tells how much of an answer that gives.

*Automaton* is the best automaton of at most four states whose monoid has no groups (every cycle of
every word is a single state, so it has a star-free language), and sees nothing else. Of two symbols
all such automata are tried; of more, those of as few states as there are at most 65,536 tables of,
and others are searched for by changing one transition at a time. So it is a lower bound. Where the
language itself is of such an automaton, which is no shortcut, there is a =.

Every other column has the best of the five classifiers, chosen at the test lengths, so it says what
counting *can* do; *best* is the best of all columns but *remainders*. A network's accuracy shows
that it has learned a language only as far as it is above that. Where *best* is 100, the language
itself is a matter of counting, of neighbours or of its ends, or has so few members that counting
tells them. *Chance* sees the length only. A dash says that a column is not measured yet, so *best*
is the best of the others (`--missing` measures what is).

Written by `python speed/shortcuts.py`; `formalbench show task` has *best* beside chance.

| task | version | chance | remainders | {columns} | best |
|---|{rules}|
"""

NOTES = """
## Weak evidence

Where a rule that is wrong still answers more than 95 %, a network's accuracy is weak evidence of
the language. Of these, some are a matter of what the rule sees, and no strings can hide it: the
ends tell `first`, `even-pairs`, `ends-in-b` and `blocks-ab`; neighbours or runs tell `contains-ab`,
`no-bb`, `one-aa-at-most`, `subsequence-ab`, `ordered-abc`, `ordered-abcde`, `three-blocks-ab`,
`repeat-01`, `repeat-abab`, `tomita-1`, `tomita-2`, `tomita-7`, `d1` and `dyck-1-1`; numbers tell
`majority`, `anbn`, `anbncn` and `anbncndn`; of `even-a` chance is right every time. The others:

- `d2`, `d3`, `d4`, `d12`: half of their non-members are uniform strings, as published, which
  numbers of symbols and runs give away (99.5 % of `d2`). `dyck-1-3` and its kin, whose non-members
  are near misses, take their place where this matters;
- `ab-then-b-blocks`, `even-a-no-bb`, `cycle-navigation-check`: a member lacks some pairs of
  symbols, neighbours or two apart, and most near misses have one.

`tomita-3` was one of them: its strings were uniform ones and edited members, in which runs are
short, and counting runs up to 7 answered 99.0 %. Since its version 2 a string has runs of 2 symbols
on average, or of about a sixteenth, an eighth, a quarter or a half of its length, and a non-member
is a member with the border between two runs moved. A rule that knows the parity of runs up to 3, 7,
15, 31 and 63 symbols, and takes every longer run to be even, answers {bounded} %
of the strings at the test lengths.

## How strings are drawn

D_n and Tomita's languages but `tomita-3` are as published: half of their non-members are uniform
strings, which hardly ever have as many `a` as `b`. Non-members of `dyck-*` are balanced type by
type in three quarters of all cases since version 2, and half of them have every pair of neighbours
of a member (of many types, few such strings exist). The same holds for languages from YAML files,
where there are such strings. In `dyck-k-1` neighbours decide everything, and no sampler can hide
it.

`majority`, `anbn` and its kin are counting and nothing else, but for which letter follows which. Of
`shuffle-dyck-*`, `boolean-*`, reversals, copies and the other languages beyond the regular ones,
half of the non-members have a member's symbols, ends and, where such strings exist, neighbours.

## What remainders tell

`missing-duplicate` shows a string of bits said twice, one of them left out, and asks which.
Delétang et al. (2023) call it context-sensitive, since an automaton cannot find the place's
partner. It need not be found: a string said twice has an even number of ones, so the answer is the
parity of the ones in sight, which two states tell. Networks find it: under `standard` all seeds of
`rnn`, with tanh and with ReLU, of `gru` and of `lstm` learn it, and have more than 99 % on strings
of 42 to 500 symbols; `regulargpt` learns it and keeps it with one seed of three, `stack-rnn` with
two. The paper's plain RNN, which learns parity where it is asked for, generalises on none of the
tasks beyond the regular ones, of which the paper counts this one: that says nothing of its memory.

So here the class of the task is that of parity. No star-free language tells its strings apart: an
aperiodic monoid that the bits generate has x and y for which x0y and x1y are one element, and then
`x_y x0y` and `x_y x1y` are one, too. But a network may count besides, so theorems on regular
languages alone are not applied to it; of C-RASP it is open.

Copies, reversals and the like say something twice, so that members have an even number of each bit
(of `missing-duplicate-check` an odd number of ones), and partners are at places of known parity. A
part of the non-members differ there. So *remainders* is a lower bound of what an automaton has, and
up to there an accuracy is no sign of a memory: 81 % of the copies, 85 of `bucket-sort-check`, 87 of
`unmarked-reversal`, 91 of `missing-duplicate-check`.
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
        if host.task_entry(name)[0].spec.version == found["version"]
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
    """Say whether no odd run of 1s up to a bound stands before such a run of 0s."""
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
