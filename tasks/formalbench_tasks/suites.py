"""Suites of languages beyond the regular ones; static data."""

from __future__ import annotations

from formalbench import SuiteSpec

SUITES = (
    SuiteSpec(
        name="flare",
        version=1,
        summary="FLaRe's eighteen languages; its even pairs are those not in ours",
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
        summary="counter languages: what may follow each prefix? of blocks, are they in?",
        tasks=(
            *("dyck-1:next-symbols", "shuffle-dyck-2:next-symbols"),
            *("shuffle-dyck-4:next-symbols", "shuffle-dyck-6:next-symbols"),
            *("boolean-3:next-symbols", "boolean-5:next-symbols", "reset-dyck-1:next-symbols"),
            # A length has one member: by next symbols, whoever knows the length would be right.
            *("anbn", "anbncn", "anbncndn"),
        ),
        reference="Bhattamishra et al. (2020), section 5",
    ),
    SuiteSpec(
        name="dyck",
        version=1,
        summary="brackets: of one type, nested, nested at most so deep, and crossing",
        tasks=(
            *("dyck-1", "dyck-2", "dyck-2-3", "dyck-8-10"),
            *("shuffle-dyck-2", "shuffle-dyck-6"),
        ),
        reference="Hewitt et al. (2020); Suzgun et al. (2019); Butoi et al. (2025)",
    ),
)
