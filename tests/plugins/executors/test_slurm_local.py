"""The executor ``slurm`` with submitit's own processes: what needs no cluster."""

import gc

import pytest
from formalbench.host import PluginHost
from formalbench.running.plan import RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store

ONCE = """
    import os, signal
    from pathlib import Path
    from formalbench import ModelSpec, hookimpl
    from torch import nn

    class Once(nn.Module):
        def __init__(self, task):
            super().__init__()
            self.embed = nn.Embedding(len(task.alphabet), task.outputs)

        def forward(self, batch):
            for name in ("SIGKILL", "SIGUSR2"):
                flag = Path(os.environ["FORMALBENCH_LOST"]) / name
                if not flag.exists():
                    flag.touch()
                    os.kill(os.getpid(), getattr(signal, name))
            return self.embed(batch.symbols).mean(1)

    @hookimpl
    def formalbench_models():
        yield ModelSpec("once", 1, "for tests", Once)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")  # it may be
@pytest.mark.usefixtures("own_place", "all_here")
def test_a_worker_that_is_killed_costs_a_try_and_changes_no_number(
    tmp_path, tiny, write, monkeypatch
):
    """It is killed at its first try; at the second it hears that its time is nearly up."""
    host = PluginHost.load([tiny, write("once.py", ONCE)])
    plan = make_plan(host, RunRequest(("once",), ("first",), protocol="tiny", seeds=1))
    flags, rough = tmp_path / "lost", Store(tmp_path / "rough")
    flags.mkdir()
    monkeypatch.setenv("FORMALBENCH_LOST", str(flags))
    monkeypatch.setattr("formalbench_executors.slurm.QUIET", 0.05)
    asked = {"cluster": "local", "poll": 0.2, "grace": 1.0}
    lost = execute(host, plan, rough, "cpu", executor="slurm", options=asked)
    gc.collect()  # while the warning of a process that has not ended yet is ignored
    assert len(list(flags.iterdir())) == 2
    calm = execute(host, plan, Store(tmp_path / "calm"), "cpu", jobs=1)
    for records in (lost, rough.records()):
        (one,) = records
        assert (one.selected, one.test.cells) == (calm[0].selected, calm[0].test.cells)
