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
        version=1,
        summary="counter languages: what may follow each prefix?",
        tasks=tuple(
            f"{name}:next-symbols"
            for name in (
                *("dyck-1", "shuffle-dyck-2", "shuffle-dyck-4", "shuffle-dyck-6"),
                *("boolean-3", "boolean-5", "anbn", "anbncn", "anbncndn"),
            )
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
