"""Named lists of tasks; static data."""

from __future__ import annotations

from formalbench import SuiteSpec

from formalbench_tasks.index import announce

_LENGTH_ALONE = ("even-a", "fours-a")
"""Languages whose answers follow from the length, so that chance is 100 %."""


def _plain() -> tuple[str, ...]:
    """Return every language whose name has no parameter, except groups and recall."""
    return tuple(
        task.name
        for task in announce()
        if "classify" in task.objectives
        and "{" not in task.name
        and not task.name.startswith("group-")
        and task.name not in _LENGTH_ALONE
    )


_QUICK = ("parity", "first", "even-pairs", "cycle-navigation", "dyck-2-3", "tomita-3")

SUITES = (
    SuiteSpec(
        name="default",
        version=2,
        summary="six languages of the suite core that distinguish architectures within minutes",
        tasks=_QUICK,
    ),
    SuiteSpec(
        name="core",
        version=1,
        summary="fourteen languages of most classes",
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
        summary="four languages of the suite core, to compare two widths of six model families",
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
        reference="Chi et al. (2023), Table 1",
    ),
    SuiteSpec(
        name="chomsky",
        version=1,
        summary="regular, context-free and context-sensitive tasks of Delétang et al. (2023)",
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
        summary="the state after every symbol: groups from Z2 to S5, and flip-flop",
        tasks=(
            *("parity:tag", "cycle-navigation:tag", "group-z60:tag", "group-a4xz5:tag"),
            *("group-s3:tag", "group-s4:tag", "group-a5:tag", "group-s5:tag", "flip-flop"),
        ),
        reference="Merrill et al. (2024); Grazzi et al. (2024)",
    ),
    SuiteSpec(
        name="recall",
        version=1,
        summary="recall of earlier symbols",
        tasks=("mqar", "copy", "flip-flop"),
    ),
    SuiteSpec(
        name="all",
        version=4,
        summary="every language without a parameter, except groups, recall, even-a and fours-a",
        tasks=_plain(),
    ),
    SuiteSpec(
        name="star-free",
        version=1,
        summary="star-free languages: which symbols may come next?",
        tasks=tuple(
            f"{name}:next-symbols"
            for name in (
                *("tomita-1", "tomita-2", "tomita-4", "tomita-7"),
                *("d2", "d3", "d4", "d12"),
                *("ordered-abcde", "one-d-between", "zero-then-twos"),
            )
        ),
        reference="Bhattamishra et al. (2020), section 5",
    ),
    SuiteSpec(
        name="not-star-free",
        version=2,
        summary="regular languages that count modulo a number: which symbols may come next?",
        tasks=tuple(
            f"{name}:next-symbols"
            for name in (
                *("repeat-abab", "parity"),
                *("tomita-3", "tomita-5", "tomita-6"),
            )
        ),
        reference="Bhattamishra et al. (2020), section 5",
    ),
    SuiteSpec(
        name="crasp",
        version=1,
        summary="pairs of similar languages, the first in C-RASP and the second not",
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
    SuiteSpec(
        name="flare",
        version=1,
        summary="the eighteen languages of FLaRe; its even-pairs is the complement of ours",
        tasks=(
            *("even-pairs", "repeat-01", "parity", "cycle-navigation-check"),
            *("modular-arithmetic-simple", "dyck-2-3", "first"),
            *("majority", "stack-manipulation-check", "marked-reversal", "unmarked-reversal"),
            *("marked-copy", "missing-duplicate-check", "odds-first-check"),
            *("binary-addition-check", "binary-multiplication-check", "square-root-check"),
            "bucket-sort-check",
        ),
        reference="Butoi et al. (2025), Training neural networks as recognizers",
    ),
    SuiteSpec(
        name="counting",
        version=2,
        summary="counter languages (next symbols) and aⁿbⁿ, aⁿbⁿcⁿ, aⁿbⁿcⁿdⁿ (membership)",
        tasks=(
            *("dyck-1:next-symbols", "shuffle-dyck-2:next-symbols"),
            *("shuffle-dyck-4:next-symbols", "shuffle-dyck-6:next-symbols"),
            *("boolean-3:next-symbols", "boolean-5:next-symbols", "reset-dyck-1:next-symbols"),
            # A length has one member, so the length determines the next symbols.
            *("anbn", "anbncn", "anbncndn"),
        ),
        reference="Bhattamishra et al. (2020), section 5",
    ),
    SuiteSpec(
        name="dyck",
        version=1,
        summary="Dyck languages: of one and more types, of bounded depth, and shuffled",
        tasks=(
            *("dyck-1", "dyck-2", "dyck-2-3", "dyck-8-10"),
            *("shuffle-dyck-2", "shuffle-dyck-6"),
        ),
        reference="Hewitt et al. (2020); Suzgun et al. (2019); Butoi et al. (2025)",
    ),
)
