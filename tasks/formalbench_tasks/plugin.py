"""The entry module: what this package provides, as static data.

Nothing heavy is imported here; the factories are lazy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from formalbench import Splits, SuiteSpec, TaskSpec, Theory, hookimpl

from formalbench_tasks.automata import index
from formalbench_tasks.catalogue import BEYOND, FUNCTIONS, GROUPS, RECALL
from formalbench_tasks.suites import SUITES

_FUNCTION = ("classify", "tag")
_LANGUAGE = ("classify", "tag", "next-symbols")

_CHIANG = "Chiang and Cholak (2022), section 2"
_DELETANG = "Delétang et al. (2023), appendix A"
_CHI = "Chi et al. (2023), Table 1"
_BHATTAMISHRA = "Bhattamishra et al. (2020), section 5"
_YAO = "Hewitt et al. (2020); Yao et al. (2021), section 3.1"

_PARITY = TaskSpec(
    name="parity",
    version=1,
    summary="is the number of 1s odd?",
    factory="formalbench_tasks.languages.modular_arithmetic:Parity",
    objectives=_LANGUAGE,
    config="formalbench_tasks.configs:ParityConfig",
    reference=_CHIANG,
    keywords=("state tracking", "modular counting"),
)

_MODULAR = (
    TaskSpec(
        name="cycle-navigation",
        version=1,
        summary="where does a walk on a cycle of five end?",
        factory="formalbench_tasks.languages.modular_arithmetic:CycleNavigation",
        objectives=_FUNCTION,
        reference=_DELETANG,
        keywords=("state tracking",),
    ),
    TaskSpec(
        name="modular-arithmetic",
        version=1,
        summary="the value mod 5 of an expression such as 3+2*4-1",
        factory="formalbench_tasks.languages.modular_arithmetic:ModularArithmetic",
        reference=_DELETANG,
    ),
    TaskSpec(
        name="modular-arithmetic-brackets",
        version=1,
        summary="the value mod 5 of an expression such as ((3+2)*-1)",
        factory="formalbench_tasks.languages.brackets_mod_5:ModularArithmeticBrackets",
        reference=_DELETANG,
    ),
    TaskSpec(
        name="solve-equation",
        version=1,
        summary="the x in an equation mod 5 such as ((3+x)-1)=4",
        factory="formalbench_tasks.languages.brackets_mod_5:SolveEquation",
        reference=_DELETANG,
    ),
    TaskSpec(
        name="missing-duplicate",
        version=1,
        summary="which symbol is missing in a string said twice?",
        factory="formalbench_tasks.languages.copies:MissingDuplicate",
        reference=_DELETANG,
        keywords=("missing duplicate string",),
    ),
)

_DYCKS = tuple(
    TaskSpec(
        name=name,
        version=2,
        summary=summary,
        factory="formalbench_tasks.dyck.language:Dyck",
        objectives=(*_LANGUAGE, "generate"),
        config="formalbench_tasks.configs:DyckConfig",
        splits=Splits(train=(2, 50), test=(52, 100), step=2),  # at odd lengths nothing is in
        reference=reference,
    )
    for name, summary, reference in (
        ("dyck-{k}", "balanced brackets of k types", "Chomsky and Schützenberger (1963)"),
        ("dyck-{k}-{D}", "balanced brackets of k types, nested at most D deep", _YAO),
    )
)

_LEAST_CLASSES = {
    **dict.fromkeys(
        ("parity", "cycle-navigation", "modular-arithmetic", "missing-duplicate"), "solvable"
    ),
    "dyck-{k}-{D}": "c-rasp",
    **dict.fromkeys(("dyck-{k}", "modular-arithmetic-brackets", "solve-equation"), "context-free"),
}
"""The smallest class that each language is in, as worked out from its automaton (in tests)."""

_PROOFS = {
    "dyck-{k}": "Chomsky and Schützenberger (1963); with one type a counter language in C-RASP",
    **dict.fromkeys(
        ("modular-arithmetic-brackets", "solve-equation"), "Delétang et al. (2023), Table 1"
    ),
    "missing-duplicate": "as it is asked, of strings said twice alone: the symbol left out makes "
    "the number of ones even; context-sensitive in Delétang et al. (2023), Table 1",
    "dyck-{k}-{D}": "two rounds of the decision procedure of arXiv:2608.13433 tell all "
    "stacks apart (docs/theory.md has the proof)",
}

_MEASURED = json.loads((Path(__file__).parent / "shortcuts.json").read_text(encoding="utf-8"))
"""By full name, how far counting gets; speed/shortcuts.py writes it."""


def _with_theory(task: TaskSpec) -> TaskSpec:
    """Add the classes that theory puts a task in."""
    found = Theory.least(_LEAST_CLASSES[task.name], _PROOFS.get(task.name, ""))
    if task.name == "dyck-{k}":
        found = replace(found, c_rasp=False, c_rasp_last=False)
    if (
        task.name == "missing-duplicate"
    ):  # of these, what tells its strings apart need not be regular
        found = replace(found, c_rasp=None, c_rasp_last=None, star_free=None)
    return replace(task, theory=found)


def _with_shortcuts(task: TaskSpec) -> TaskSpec:
    """Add what was measured of a task, or of a family's members, in the version it has."""
    return replace(
        task,
        shortcuts={
            name: found["accuracy"]
            for name, found in _MEASURED.items()
            if found["version"] == task.version and (name == task.name or _belongs(name, task.name))
        },
    )


def _belongs(name: str, family: str) -> bool:
    """Say whether a name is a family's with numbers for its fields."""
    head, fields, _ = family.partition("{")
    numbers = name.removeprefix(head).split("-")
    return (
        bool(fields)
        and name.startswith(head)
        and len(numbers) == family.count("{")
        and all(number.isdigit() for number in numbers)
    )


_LANGUAGES = (
    *(_with_theory(_with_shortcuts(task)) for task in (_PARITY, *_MODULAR, *_DYCKS)),
    *map(_with_shortcuts, BEYOND),
    *map(_with_shortcuts, index.announce()),
)
_LENGTH_ALONE = ("even-a", "fours-a")
"""Languages whose answers follow from the length: chance is always right, so they score nothing."""

_TASKS = (*_LANGUAGES, *GROUPS, *FUNCTIONS, *RECALL)

_QUICK = ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")

_SUITES = (
    SuiteSpec(
        name="default",
        version=2,
        summary="six of the core board's languages that tell architectures apart within minutes",
        tasks=_QUICK,
    ),
    SuiteSpec(
        name="core",
        version=1,
        summary="fourteen languages, one or more of each class: the board that has no empty cell",
        tasks=(
            *_QUICK,
            *("group-s3:tag", "group-s5:tag"),
            *("flip-flop:tag", "majority", "anbn", "modular-arithmetic"),
            *("stack-manipulation", "mqar"),
        ),
        protocol="standard",
    ),
    SuiteSpec(
        name="size",
        version=1,
        summary="four of the core board's languages, with six families twice as wide as well",
        tasks=("parity", "first", "cycle-navigation", "dyck-2-3"),
        protocol="standard",
    ),
    SuiteSpec(
        name="chi-table1",
        version=1,
        summary="the regular languages of the RegularGPT paper",
        tasks=(
            *("even-pairs", "modular-arithmetic", "parity", "cycle-navigation"),
            *("d2", "d3", "d4", "d12"),
            *("tomita-3", "tomita-4", "tomita-5", "tomita-6"),
        ),
        reference=_CHI,
    ),
    SuiteSpec(
        name="chomsky",
        version=1,
        summary="regular, context-free and context-sensitive tasks of one paper",
        tasks=(
            *("even-pairs", "modular-arithmetic", "parity", "cycle-navigation"),
            *("stack-manipulation", "reverse-string"),
            *("modular-arithmetic-brackets", "solve-equation"),
            *("duplicate-string", "missing-duplicate", "odds-first", "binary-addition"),
            *("binary-multiplication", "square-root", "bucket-sort"),
        ),
        reference="Delétang et al. (2023), Table 1",
    ),
    SuiteSpec(
        name="state-tracking",
        version=1,
        summary="how things stand after every symbol: groups from Z2 to S5",
        tasks=(
            *("parity:tag", "cycle-navigation:tag", "group-z60:tag", "group-a4xz5:tag"),
            *("group-s3:tag", "group-s4:tag", "group-a5:tag", "group-s5:tag", "flip-flop"),
        ),
        reference="Merrill et al. (2024); Grazzi et al. (2024)",
    ),
    SuiteSpec(
        name="recall",
        version=1,
        summary="what was said before, to be said again",
        tasks=("mqar", "copy", "flip-flop"),
    ),
    SuiteSpec(
        name="all",
        version=4,
        summary="every language but groups and recall whose name holds no parameter",
        tasks=tuple(
            task.name
            for task in _LANGUAGES
            if "{" not in task.name and task.name not in _LENGTH_ALONE
        ),
    ),
    SuiteSpec(
        name="star-free",
        version=1,
        summary="star-free languages: what may follow each prefix?",
        tasks=tuple(
            f"{name}:next-symbols"
            for name in (
                *("tomita-1", "tomita-2", "tomita-4", "tomita-7"),
                *("d2", "d3", "d4", "d12"),
                *("ordered-abcde", "one-d-between", "zero-then-twos"),
            )
        ),
        reference=_BHATTAMISHRA,
    ),
    SuiteSpec(
        name="not-star-free",
        version=2,
        summary="regular languages that count modulo something: what may follow each prefix?",
        tasks=tuple(
            f"{name}:next-symbols"
            for name in (
                *("repeat-abab", "parity"),
                *("tomita-3", "tomita-5", "tomita-6"),
            )
        ),
        reference=_BHATTAMISHRA,
    ),
    SuiteSpec(
        name="crasp",
        version=1,
        summary="pairs of languages that are alike, the first in C-RASP and the second not",
        tasks=(
            *("ab-or-bbaa", "ab-or-aabb"),
            *("ab-or-ba", "ab-or-bba"),
            *("three-ab-then-b-blocks", "ab-then-b-blocks"),
            *("three-blocks-ab", "blocks-ab"),
            *("subsequence-ab", "contains-ab"),
            *("one-d-between", "zero-then-twos"),
            *("first", "ends-in-b"),
            *("repeat-bbac", "repeat-abab"),
        ),
        reference="Yang, Veseli et al. (2026), arXiv:2608.13433",
    ),
    *SUITES,
)


@hookimpl
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce the languages."""
    return _TASKS


@hookimpl
def formalbench_suites() -> Iterable[SuiteSpec]:
    """Announce the suites."""
    return _SUITES


@hookimpl
def formalbench_read_file(path: Path) -> TaskSpec | None:
    """Take YAML files with data or an alphabet, and automata.

    They are read by `datasets.description`, `yaml_task` and `att_task`.
    """
    if path.suffix == ".att":
        from formalbench_tasks.automata import att_file

        return att_file.read(path)
    if path.suffix not in (".yaml", ".yml"):
        return None
    from formalbench import read_yaml

    data = read_yaml(path)
    if "data" in data:
        from formalbench_tasks.datasets import description

        return description.read(path, data)
    if "alphabet" not in data:
        return None
    from formalbench_tasks.automata.language_file import read

    return read(path, data)
