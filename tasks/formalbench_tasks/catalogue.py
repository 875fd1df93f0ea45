"""What is announced of the tasks written in Python, by family; static data."""

from __future__ import annotations

from formalbench import Splits, TaskSpec, Theory

_ALL = ("classify", "tag", "next-symbols")


_EVEN = Splits(train=(2, 40), test=(42, 500), step=2)


_ODD = Splits(train=(1, 39), test=(41, 499), step=2)


_BHATTAMISHRA = "Bhattamishra et al. (2020), section 5"


_BUTOI = "Butoi et al. (2025), appendix A (FLaRe)"


_DUSELL = "DuSell and Chiang (2020), section 5"


_COUNTS = "Fischer et al. (1968); in C-RASP by Yang and Chiang (2024)"


_LONG = "no grammar generates it: Bar-Hillel et al. (1961)"


_PIECES = "what comes first is known by counts only: Huang et al. (2025), logarithmic communication"


_FREE = Theory("context-free", c_rasp=False, c_rasp_last=False, note=f"deterministic; {_PIECES}")


_SENSITIVE = Theory("context-sensitive", c_rasp=False, c_rasp_last=False, note=_PIECES)


_BLOCKS = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=f"{shown}: as many of each letter, block by block",
        factory=f"formalbench_tasks.languages.counters:equal_blocks_{letters}",
        objectives=_ALL,
        splits=Splits(
            train=(letters, 50 // letters * letters),
            test=(letters * (50 // letters + 1), 150 // letters * letters),
            step=letters,
        ),
        reference=_BHATTAMISHRA,
        theory=Theory("counter", c_rasp=True, context_free=free, note=note),
        keywords=(shown, name.replace("n", "^n"), "counting", "counter language"),
    )
    for name, shown, letters, free, note in (
        ("anbn", "aⁿbⁿ", 2, True, f"{_COUNTS}; deterministic"),
        ("anbncn", "aⁿbⁿcⁿ", 3, False, f"{_COUNTS}; {_LONG}"),
        ("anbncndn", "aⁿbⁿcⁿdⁿ", 4, False, f"{_COUNTS}; {_LONG}"),
    )
)


_COUNTERS = (
    TaskSpec(
        name="majority",
        version=1,
        summary="are there more 1s than 0s?",
        factory="formalbench_tasks.languages.counters:Majority",
        objectives=_ALL,
        reference=_BUTOI,
        theory=Theory(
            "counter",
            c_rasp=True,
            context_free=True,
            note=f"{_COUNTS}; deterministic; in TC⁰ and not in AC⁰",
        ),
        keywords=("counting", "counter language"),
    ),
    TaskSpec(
        name="shuffle-dyck-{k}",
        version=1,
        summary="brackets of k types, each balanced by itself; pairs may cross",
        factory="formalbench_tasks.languages.shuffle_dyck:ShuffleDyck",
        objectives=_ALL,
        splits=Splits(train=(2, 50), test=(52, 150), step=2),
        reference=f"Suzgun et al. (2019); {_BHATTAMISHRA}",
        theory=Theory("counter", c_rasp=True, note=f"{_COUNTS}; not context-free but for k = 1"),
        keywords=("shuffle", "shuffled dyck", "brackets", "counting", "counter language"),
    ),
    TaskSpec(
        name="boolean-{n}",
        version=1,
        summary="expressions in prefix notation, operators of 1 to n operands",
        factory="formalbench_tasks.languages.counters:BooleanExpressions",
        objectives=_ALL,
        splits=Splits(train=(2, 50), test=(51, 150)),
        reference=_BHATTAMISHRA,
        theory=Theory("counter", c_rasp=True, context_free=True, note=f"{_COUNTS}; deterministic"),
        keywords=("boolean expressions", "n-ary boolean expressions", "counting"),
    ),
    TaskSpec(
        name="reset-dyck-1",
        version=1,
        summary="Σ*#v: balanced brackets behind the last reset",
        factory="formalbench_tasks.languages.counters:ResetDyck",
        objectives=_ALL,
        splits=Splits(train=(2, 50), test=(51, 150)),
        reference=_BHATTAMISHRA,
        theory=Theory(
            "counter",
            c_rasp=False,
            c_rasp_last=False,
            context_free=True,
            note="counters that may be set to 0, Merrill (2020); deterministic; "
            "without closing brackets it is Σ*#, as ends-in-b not in C-RASP, and before a closing "
            "bracket it is Σ*#(, which is not either",
        ),
        keywords=("reset dyck", "brackets", "counting", "counter language"),
    ),
)


_HALVES = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_tasks.languages.copies:{factory}",
        objectives=_ALL,
        splits=splits,
        reference=reference,
        theory=theory,
        keywords=keywords,
    )
    for name, factory, summary, splits, reference, theory, keywords in (
        (
            "marked-reversal",
            "marked_reversal",
            "w#wᴿ: a string and its reversal, # between",
            _ODD,
            f"{_DUSELL}; {_BUTOI}",
            _FREE,
            ("reversal", "palindrome", "marked palindrome", "mirror"),
        ),
        (
            "unmarked-reversal",
            "unmarked_reversal",
            "wwᴿ: palindromes of even length",
            _EVEN,
            f"{_DUSELL}; {_BUTOI}",
            Theory(
                "context-free",
                c_rasp=False,
                c_rasp_last=False,
                note=f"not deterministic; {_PIECES}",
            ),
            ("reversal", "palindrome", "palindromes", "mirror"),
        ),
        (
            "marked-copy",
            "marked_copy",
            "w#w: a string twice, # between",
            _ODD,
            f"DuSell and Chiang (2023); {_BUTOI}",
            _SENSITIVE,
            ("copy", "copying", "copy language"),
        ),
        (
            "unmarked-copy",
            "unmarked_copy",
            "ww: a string twice",
            _EVEN,
            "DuSell and Chiang (2023)",
            _SENSITIVE,
            ("copy", "copying", "copy language", "squares"),
        ),
        (
            "odds-first-check",
            "odds_first",
            "w#v: does v have the odd places of w first, the other way round than odds-first?",
            _ODD,
            _BUTOI,
            _SENSITIVE,
            ("odds first",),
        ),
        (
            "bucket-sort-check",
            "bucket_sort",
            "w#v: are the symbols of w in order in v?",
            _ODD,
            _BUTOI,
            Theory(
                "counter",
                c_rasp=True,
                context_free=False,
                note="counts of five symbols and their order; no grammar, as for aⁿbⁿcⁿ",
            ),
            ("bucket sort", "sort", "sorting", "counting"),
        ),
    )
)


_CHECKS = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=factory,
        splits=splits,
        reference=_BUTOI,
        theory=theory,
        keywords=keywords,
    )
    for name, factory, summary, splits, theory, keywords in (
        (
            "stack-manipulation-check",
            "formalbench_tasks.languages.stack_manipulation:StackCheck",
            "is this what a stack holds after it was pushed to and popped from?",
            Splits(train=(3, 40)),
            _FREE,
            ("stack manipulation", "stack"),
        ),
        (
            "missing-duplicate-check",
            "formalbench_tasks.languages.copies:MissingDuplicateCheck",
            "is a 1 missing in a string said twice?",
            _EVEN,
            _SENSITIVE,
            ("missing duplicate string",),
        ),
        (
            "binary-addition-check",
            "formalbench_tasks.languages.binary_numbers:AdditionCheck",
            "x+y=z: is the sum right? least significant bit first",
            Splits(train=(5, 40)),
            _SENSITIVE,
            ("addition", "arithmetic", "sum"),
        ),
        (
            "binary-multiplication-check",
            "formalbench_tasks.languages.binary_numbers:MultiplicationCheck",
            "x*y=z: is the product right? least significant bit first",
            Splits(train=(5, 40)),
            _SENSITIVE,
            ("multiplication", "arithmetic", "product"),
        ),
        (
            "square-root-check",
            "formalbench_tasks.languages.binary_numbers:SquareRootCheck",
            "x=z: is the square root, rounded down, right? least significant bit first",
            Splits(train=(3, 40)),
            _SENSITIVE,
            ("compute sqrt", "sqrt", "arithmetic"),
        ),
    )
)


_HARDEST = TaskSpec(
    name="hardest-cfl",
    version=1,
    summary="brackets in pieces, each hidden among decoys: as hard as any context-free language",
    factory="formalbench_tasks.languages.hardest_cfl:HardestContextFree",
    splits=Splits(train=(4, 40)),
    reference=f"Greibach (1973); {_DUSELL}",
    theory=Theory(
        "context-free",
        c_rasp=False,
        c_rasp_last=False,
        note="Greibach (1973): every other one is an inverse image of it; complete for LOGCFL",
    ),
    keywords=("hardest context-free language", "nondeterministic", "brackets"),
)


BEYOND = (*_BLOCKS, *_COUNTERS, *_HALVES, *_CHECKS, _HARDEST)


_DELETANG = "Delétang et al. (2023), appendix A"


_LEVEL = "Delétang et al. (2023), Table 1"


_OBJECTIVES = ("transduce",)


_CONTEXT_FREE, _CONTEXT_SENSITIVE = "context-free", "context-sensitive"


REARRANGEMENTS = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_tasks.languages.rearrangements:{factory}",
        objectives=_OBJECTIVES,
        reference=_DELETANG,
        theory=Theory.least(level, _LEVEL),
        keywords=keywords,
    )
    for name, level, factory, summary, keywords in (
        (
            "reverse-string",
            _CONTEXT_FREE,
            "ReverseString",
            "the string from its end",
            ("reversal",),
        ),
        (
            "duplicate-string",
            _CONTEXT_SENSITIVE,
            "DuplicateString",
            "the string twice",
            ("copy", "copying"),
        ),
        (
            "odds-first",
            _CONTEXT_SENSITIVE,
            "OddsFirst",
            "the 2nd, 4th, … symbol, then the 1st, 3rd, …",
            (),
        ),
        (
            "bucket-sort",
            _CONTEXT_SENSITIVE,
            "BucketSort",
            "the symbols in order",
            ("sort", "sorting"),
        ),
    )
)


ARITHMETIC = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_tasks.languages.binary_numbers:{factory}",
        objectives=_OBJECTIVES,
        reference=_DELETANG,
        theory=Theory.least(_CONTEXT_SENSITIVE, _LEVEL),
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
    factory="formalbench_tasks.languages.stack_manipulation:StackManipulation",
    objectives=_OBJECTIVES,
    reference=_DELETANG,
    theory=Theory.least(_CONTEXT_FREE, _LEVEL),
    keywords=("stack", "state tracking"),
)


_HUANG = Splits(train=(1, 50), test=(51, 150))


COPIES = tuple(
    TaskSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_tasks.languages.rearrangements:{factory}",
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


_KEYWORDS = ("state tracking", "word problem", "group")


_NOT_SOLVABLE = ("a5", "s5")


GROUPS = tuple(
    TaskSpec(
        name=f"group-{name}",
        version=1,
        summary=f"the product of elements of {shown}, by their numbers",
        factory=f"formalbench_tasks.languages.groups:{factory}",
        objectives=("classify", "tag"),
        splits=Splits(train=(1, 32), test=(33, 500)),  # Grazzi et al. (2024), §5.2
        config="formalbench_tasks.configs:GroupConfig",
        reference="Merrill et al. (2024); Grazzi et al. (2024), section 5.2",
        theory=Theory.least("regular" if name in _NOT_SOLVABLE else "solvable"),
        keywords=(*_KEYWORDS, *also),
    )
    for name, shown, factory, also in (
        ("z{n}", "Z_n, n = 2 … 60", "cyclic_group", ("cyclic group", "modular counter")),
        ("s3", "S3", "s3", ("permutations",)),
        ("s4", "S4", "s4", ("permutations",)),
        ("s5", "S5", "s5", ("permutations",)),
        ("a4", "A4", "a4", ("permutations",)),
        ("a5", "A5", "a5", ("permutations",)),
        ("a4xz5", "A4 × Z5", "a4xz5", ()),
    )
)


RECALL = (
    TaskSpec(
        name="flip-flop",
        version=1,
        summary="the bit last written, whenever it is read",
        factory="formalbench_tasks.languages.recall:FlipFlop",
        objectives=("tag",),
        splits=Splits(train=(4, 128), test=(130, 512), step=2),
        config="formalbench_tasks.configs:FlipFlopConfig",
        reference="Liu et al. (2023), FFL(p)",
        theory=Theory.least("star-free", "the flip-flop monoid has no groups"),
        keywords=("state tracking", "recall", "memory"),
    ),
    TaskSpec(
        name="mqar",
        version=1,
        summary="the value that was paired with a key, whenever the key comes again",
        factory="formalbench_tasks.languages.recall:Recall",
        objectives=("tag",),
        splits=Splits(train=(16, 64), test=(66, 256), step=2),
        config="formalbench_tasks.configs:RecallConfig",
        reference="Arora et al. (2024), MQAR",
        keywords=("associative recall", "multi query associative recall", "recall", "memory"),
    ),
)
