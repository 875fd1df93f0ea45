"""The executor ``slurm`` with submitit's own processes: what needs no cluster."""

import pytest
from formalbench.host import PluginHost
from formalbench.running.plan import RunRequest, make_plan
from formalbench.running.scheduler import execute
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
            flag = Path(os.environ["FORMALBENCH_LOST"])
            if not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return self.embed(batch.symbols).mean(1)

    @hookimpl
    def formalbench_models():
        yield ModelSpec("once", 1, "for tests", Once)
"""


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")  # it may be
@pytest.mark.usefixtures("own_place", "all_here")
def test_a_worker_that_is_killed_costs_a_try_and_changes_no_number(
    tmp_path, tiny, write, monkeypatch
):
    host = PluginHost.load([tiny, write("once.py", ONCE)])
    plan = make_plan(host, RunRequest(("once",), ("first",), protocol="tiny", seeds=1), "cpu")
    flag, rough = tmp_path / "lost", Store(tmp_path / "rough")
    monkeypatch.setenv("FORMALBENCH_LOST", str(flag))
    monkeypatch.setattr("formalbench_executors.handed.QUIET", 0.05)
    asked = {"cluster": "local", "poll": 0.2, "grace": 1.0}
    lost = execute(host, plan, rough, "cpu", executor="slurm", options=asked)
    assert flag.exists()
    calm = execute(host, plan, Store(tmp_path / "calm"), "cpu", jobs=1)
    for records in (lost, rough.records()):
        (one,) = records
        assert (one.selected, one.test.cells) == (calm[0].selected, calm[0].test.cells)
