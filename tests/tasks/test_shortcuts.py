"""How far counting gets: the classifiers that measure it, and what was measured."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from formalbench.contracts.stream import Stream
from formalbench.host import PluginHost
from formalbench_tasks import plugin
from formalbench_tasks.beyond.specs import BEYOND

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "speed"))

import shallow  # noqa: E402 (it lies in speed/)

DATA = json.loads((ROOT / "tasks/formalbench_tasks/shortcuts.json").read_text())
PAGE = (ROOT / "docs" / "shortcuts.md").read_text()


@pytest.mark.parametrize(
    ("label", "group"),
    [
        (lambda s: s[:, 0] == s[:, -1], "ends"),
        (lambda s: (s == 1).sum(axis=1) > 3, "symbols"),
        (lambda s: ((s[:, :-1] == 0) & (s[:, 1:] == 1)).any(axis=1), "neighbours"),
        (lambda s: (s == 0).sum(axis=1) == (s == 1).sum(axis=1), "balance"),
        (lambda s: (s == 1).sum(axis=1) % 2, "remainders"),
        (lambda s: ((s == 1).sum(axis=1) - (s == 2).sum(axis=1)) % 5 == 3, "remainders"),
    ],
)
def test_each_group_sees_what_it_should(label, group):
    drawn = [Stream("shallow", part).integers(3, (3000, 12)) for part in range(2)]
    train, test = ((shallow.features(s, 3)[group], label(s).astype(np.int64)) for s in drawn)
    tree = shallow.grow(*train, classes=2, depth=6)
    found = [shallow.answers(tree, test[0], depth) for depth in (0, 6)]
    found.append(shallow.logistic(*train, test[0], classes=2))
    shares = [(answers == test[1]).mean() for answers in found]
    assert max(shares[1:]) > 0.99
    assert shares[0] < 0.95


def test_order_is_not_seen():
    strings = Stream("order").integers(2, (4000, 14))
    ones = np.cumsum(strings, axis=1)
    label = (ones[:, 6] % 2).astype(np.int64)
    seen = np.concatenate(list(shallow.features(strings, 2).values()), axis=1)
    tree = shallow.grow(seen[:2000], label[:2000], 2, 4)
    assert (shallow.answers(tree, seen[2000:], 4) == label[2000:]).mean() < 0.6


def test_every_language_has_its_number_in_the_version_it_has():
    host = PluginHost.load()
    everything = set(host.suite("all").tasks) | {"dyck-1", "dyck-2", "dyck-2-3"}
    everything |= {"shuffle-dyck-2", "shuffle-dyck-6", "boolean-3", "boolean-5"}
    assert everything <= set(DATA)
    for name, found in DATA.items():
        entry, _, _ = host.task_entry(name)
        assert found["version"] == entry.spec.version
        assert entry.spec.shortcuts[name] == found["accuracy"]
        best = f"{100 * found['accuracy']:.1f} |"
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        assert row.endswith(best)


def test_remainders_answer_what_is_asked_of_strings_said_twice():
    (head,) = [line for line in PAGE.splitlines() if line.startswith("| task |")]
    at = [cell.strip() for cell in head.split("|")].index("remainders")
    rows = {
        line.split("`")[1]: line.split("|") for line in PAGE.splitlines() if line.startswith("| `")
    }
    assert float(rows["missing-duplicate"][at]) == float(rows["parity"][at]) == 100
    assert DATA["missing-duplicate"]["accuracy"] < 0.6


def test_families_have_those_of_their_members():
    specs = {spec.name: spec for spec in plugin.formalbench_tasks()}
    assert "dyck-2" in specs["dyck-{k}"].shortcuts
    assert not any(name.count("-") != 1 for name in specs["dyck-{k}"].shortcuts)
    assert not any(name.count("-") != 2 for name in specs["dyck-{k}-{D}"].shortcuts)
    assert set(specs["d2"].shortcuts) == {"d2"}
    assert {"shuffle-dyck-2", "shuffle-dyck-6"} <= set(specs["shuffle-dyck-{k}"].shortcuts)
    assert not any(name.startswith("shuffle") for name in specs["dyck-{k}"].shortcuts)


def test_counting_solves_d_n_and_does_not_solve_dyck():
    assert all(DATA[f"d{depth}"]["accuracy"] > 0.93 for depth in (1, 2, 3, 4, 12))
    for name in ("dyck-1", "dyck-2", "dyck-4", "dyck-1-3", "dyck-2-3", "dyck-2-6"):
        assert DATA[name]["accuracy"] < 0.8


def test_beyond_the_regular_ones_counting_solves_what_is_counting_only():
    solved = {"majority", "anbn", "anbncn", "anbncndn"}
    for name in {spec.name for spec in BEYOND} & set(DATA):
        assert (DATA[name]["accuracy"] == 1) == (name in solved)
        assert DATA[name]["accuracy"] < 0.7 or name in solved
