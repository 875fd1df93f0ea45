"""Sizes and lengths that no language has, in one line that names what there is."""

import pytest
from formalbench import RequestError
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost
from formalbench_tasks.languages.shuffle_dyck import MOST_PAIRS

HOST = PluginHost.load()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("boolean-1", "boolean-1: operators of 2 to 8 operands: try boolean-2"),
        ("boolean-9", "try boolean-8"),
        ("shuffle-dyck-0", "shuffle-dyck-0: 1 to 32 types of brackets: try shuffle-dyck-1"),
        ("shuffle-dyck-40", "try shuffle-dyck-32"),
        ("dyck-0", "dyck-0: .*try dyck-1$"),
        ("dyck-0-3", "dyck-0-3: .*try dyck-1-3$"),
        ("dyck-2-0", "dyck-2-0: .*try dyck-2-1$"),
        ("dyck-501", "try dyck-500$"),
        ("dyck-10-1001", "try dyck-10-1000$"),
        *((f"group-z{n}", f"group-z{n}: n must be within 2 … 60") for n in (0, 1, 61)),
        *((f"group-{one}[symbols=swaps]", "symbols=swaps: this group has none")
          for one in ("a4xz5", "a5")),
        ("mqar[vocabulary=15]", "vocabulary"),
        ("mqar[vocabulary=16,pairs=8]", "pairs"),
    ],
)  # fmt: skip
def test_sizes(name, problem):
    with pytest.raises(RequestError, match=problem) as error:
        HOST.task(name)
    assert "\n" not in str(error.value)


FAR = (10_000_001, 10_000_000_000_001)
ASKED = ("sample", "sample_members", "near_misses", "class_distribution", "has_members")


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("shuffle-dyck-2", 2 * MOST_PAIRS + 2),
        ("boolean-2", 5001),
        ("parity[p=0.3]", 10**11),
        *((name, length) for length in FAR for name in ("parity", "tomita-3", "cycle-navigation")),
        *((name, length) for length in FAR for name in ("modular-arithmetic", "dyck-2-3")),
        *(("dyck-2", length) for length in FAR),
    ],
)
def test_lengths_nobody_can_wait_for(name, length):
    language = HOST.task(name).source
    for what in ASKED:
        if (ask := getattr(language, what, None)) is None:
            continue
        if name in ("shuffle-dyck-2", "boolean-2", "parity[p=0.3]") and what != "sample":
            continue  # these they tell without drawing
        drawing = what in ("sample", "sample_members", "near_misses")
        with pytest.raises(RequestError, match="too long"):
            ask(Stream("long"), length, 1) if drawing else ask(length)


def test_lengths_without_members():
    for name, length in (
        *(("anbn", 3), ("majority", 0), ("shuffle-dyck-2", 3), ("boolean-2", 0)),
        *(("d2", 7), ("dyck-2", 7), ("dyck-1-1", 7)),
    ):
        language = HOST.task(name).source
        assert not language.has_members(length)
        with pytest.raises(ValueError, match=r"member|class 1|bracket string"):
            language.sample_members(Stream("none"), length, 1)
