"""Members of the families beyond the regular languages that tests look at."""

from formalbench_tasks.languages.counters import BooleanExpressions
from formalbench_tasks.languages.shuffle_dyck import ShuffleDyck

MEMBERS_OF_FAMILIES = {
    **{f"shuffle-dyck-{k}": ShuffleDyck(k) for k in (1, 2, 4, 6)},
    **{f"boolean-{n}": BooleanExpressions(n) for n in (2, 3, 5)},
}
