"""What is announced of the functions from strings to strings; static data."""

from __future__ import annotations

from formalbench import Splits, TaskSpec, Theory

_DELETANG = "Delétang et al. (2023), appendix A"
_LEVEL = "Delétang et al. (2023), Table 1"
_OBJECTIVES = ("transduce",)
_HERE = "formalbench_tasks.functions."

_FREE, _SENSITIVE = "context-free", "context-sensitive"

REARRANGEMENTS = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"{_HERE}rearrangements:{factory}",
        objectives=_OBJECTIVES,
        reference=_DELETANG,
        theory=Theory.least(level, _LEVEL),
        keywords=keywords,
    )
    for name, level, factory, summary, keywords in (
        ("reverse-string", _FREE, "ReverseString", "the string from its end", ("reversal",)),
        (
            "duplicate-string",
            _SENSITIVE,
            "DuplicateString",
            "the string twice",
            ("copy", "copying"),
        ),
        ("odds-first", _SENSITIVE, "OddsFirst", "the 2nd, 4th, … symbol, then the 1st, 3rd, …", ()),
        ("bucket-sort", _SENSITIVE, "BucketSort", "the symbols in order", ("sort", "sorting")),
    )
)

ARITHMETIC = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"{_HERE}binary:{factory}",
        objectives=_OBJECTIVES,
        reference=_DELETANG,
        theory=Theory.least(_SENSITIVE, _LEVEL),
        keywords=keywords,
    )
    for name, factory, summary, keywords in (
        (
            "binary-addition",
            "BinaryAddition",
            "the sum of two binary numbers, least significant bit first",
            ("addition", "arithmetic"),
        ),
        (
            "binary-multiplication",
            "BinaryMultiplication",
            "the product of two binary numbers, least significant bit first",
            ("multiplication", "arithmetic"),
        ),
        (
            "square-root",
            "SquareRoot",
            "the square root, rounded down, of a binary number, most significant bit first",
            ("compute sqrt", "sqrt", "arithmetic"),
        ),
    )
)

STACK = TaskSpec(
    name="stack-manipulation",
    version=1,
    summary="what a stack holds after it was pushed to and popped from",
    factory=f"{_HERE}stack_manipulation:StackManipulation",
    objectives=_OBJECTIVES,
    reference=_DELETANG,
    theory=Theory.least(_FREE, _LEVEL),
    keywords=("stack", "state tracking"),
)

_HUANG = Splits(train=(1, 50), test=(51, 150))

COPIES = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"{_HERE}copying:{factory}",
        objectives=_OBJECTIVES,
        splits=splits,
        reference=reference,
        keywords=keywords,
    )
    for name, factory, summary, splits, reference, keywords in (
        (
            "copy",
            "Copy",
            "the string again, of different symbols",
            _HUANG,
            "Huang et al. (2025), unique copy",
            ("copying", "unique copy", "recall"),
        ),
        (
            "repeat-copy",
            "RepeatCopy",
            "the string again, of two symbols",
            _HUANG,
            "Huang et al. (2025), repeat copy",
            ("copy", "copying", "recall"),
        ),
        (
            "sort",
            "Sort",
            "the symbols in order, all different",
            _HUANG,
            "Huang et al. (2025), sort",
            ("sorting",),
        ),
        (
            "first-occurrences",
            "FirstOccurrences",
            "every symbol once, in the order in which they first occur",
            Splits(train=(3, 40), test=(41, 256)),
            "Walker et al. (2025), set",
            ("set", "distinct symbols"),
        ),
    )
)

FUNCTIONS = (*REARRANGEMENTS, *ARITHMETIC, STACK, *COPIES)
