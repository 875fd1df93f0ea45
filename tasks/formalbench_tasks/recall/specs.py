"""What is announced of recall; static data."""

from __future__ import annotations

from formalbench import Splits, TaskSpec, Theory

RECALL = (
    TaskSpec(
        name="flip-flop",
        version=1,
        summary="the bit last written, whenever it is read",
        factory="formalbench_tasks.recall.flip_flop:FlipFlop",
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
        factory="formalbench_tasks.recall.mqar:Recall",
        objectives=("tag",),
        splits=Splits(train=(16, 64), test=(66, 256), step=2),
        config="formalbench_tasks.configs:RecallConfig",
        reference="Arora et al. (2024), MQAR",
        keywords=("associative recall", "multi query associative recall", "recall", "memory"),
    ),
)
