"""Damaged cache files: their contents are computed again."""

import torch
from formalbench.cache import cache_folder, cached
from formalbench.contracts.protocol import Protocol
from formalbench.evaluation.cells import saved_test_set
from formalbench.host import PluginHost
from formalbench.training.run_state import Checkpointer, Member, RunState, saved_cohorts
from mutate import damaged

SMALL = Protocol.model_validate(
    {"name": "small", "version": 1, "test": {"lengths": 3, "strings": 8}}
)
TASKS = ("parity", "tomita-3:next-symbols", "dyck-2-3:generate", "cycle-navigation:tag")
HOST = PluginHost.load()


def damage_one(rng, folder):
    (path,) = (path for path in (cache_folder() / folder).rglob("*") if path.is_file())
    path.write_bytes(damaged(rng, path.read_bytes()))


def test_a_value(rng):
    value = [rng.random() for _ in range(rng.randint(1, 5))]
    assert cached("key", lambda: value) == value
    damage_one(rng, "values")
    assert cached("key", lambda: "anew") == "anew"
    assert cached("key", lambda: "again") == "anew"


def test_a_test_set(rng):
    task = HOST.task(rng.choice(TASKS))
    whole = saved_test_set(task, "", SMALL)
    damage_one(rng, "test-sets")
    again = saved_test_set(task, "", SMALL)
    for one, other in zip(whole.cells, again.cells, strict=True):
        assert (one.first, one.last) == (other.first, other.last)
        for before, after in zip(one.examples, other.examples, strict=True):
            assert before.known.keys() == after.known.keys()
            assert all((before.known[name] == after.known[name]).all() for name in before.known)
    assert whole.fingerprint == again.fingerprint


def test_a_saved_training(rng):
    members = [Member(0.1 / (seed + 1), seed) for seed in range(rng.randint(1, 3))]
    saved = Checkpointer("key", members)
    saved.save([RunState(steps=40, parameters=torch.rand(5)) for _ in members])
    fresh = [RunState(parameters=torch.zeros(5)) for _ in members]
    damage_one(rng, "training")
    assert saved.restore(fresh) == 0
    assert not any(run.steps or run.parameters.any() for run in fresh)
    assert list(saved_cohorts("key")) == []
