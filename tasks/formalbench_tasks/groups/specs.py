"""What is announced of the groups; static data."""

from __future__ import annotations

from formalbench import Splits, TaskSpec, Theory

_KEYWORDS = ("state tracking", "word problem", "group")

_NOT_SOLVABLE = ("a5", "s5")

GROUPS = tuple(
    TaskSpec(
        name=f"group-{name}",
        version=1,
        summary=f"the product of elements of {shown}, by their numbers",
        factory=f"formalbench_tasks.groups.word_problem:{factory}",
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
