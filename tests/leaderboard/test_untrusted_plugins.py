"""A plugin's code that crashes, hangs or changes what all share is refused, and nothing else."""

import pytest
from formalbench.checks import remote
from formalbench.contracts.errors import RequestError
from formalbench.host import PluginHost
from formalbench.running.plan import Run
from formalbench_leaderboard.publishing import untrusted_plugins
from formalbench_leaderboard.publishing.record_check import Admission
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses

pytestmark = pytest.mark.apart

MODEL = """
    import os, time
    import torch
    from torch import nn
    from formalbench import ModelSpec, hookimpl

    def misbehave(place):
        does = os.environ.get("DOES", "")
        if does == f"crash {place}":
            os._exit(7)
        if does == f"hang {place}":
            time.sleep(3600)
        if does == f"change {place}":
            torch.set_default_dtype(torch.float64)
            torch.tanh = torch.sigmoid
            nn.GRU.forward = None

    class Mine(nn.Module):
        def __init__(self, task, config=None):
            super().__init__()
            misbehave("built")
            self.embed = nn.Embedding(len(task.alphabet), task.outputs)

        def forward(self, batch):
            misbehave("called")
            return self.embed(batch.symbols).mean(1)

    @hookimpl
    def formalbench_models():
        yield ModelSpec("a-mine", 1, "for tests", Mine)
"""


@pytest.fixture
def call(own_place, cli, write, tiny, tmp_path, monkeypatch):
    """Run a command with the plugin, which behaves so; a run of it and one of ours are there."""
    plugin = write("mine.py", MODEL)
    tiny.write_text(tiny.read_text().replace("seeds: 2", "seeds: 1"))
    (tmp_path / "clone" / "leaderboard" / "results").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "clone")

    def call(*words, does=""):
        monkeypatch.setenv("DOES", does)
        return cli(*words, "--plugin", tiny, "--plugin", plugin)

    with monkeypatch.context() as patch:  # while it is honest, it may run here
        patch.setattr(PluginHost, "runs_local_code", lambda host: False)
        patch.setattr(Run, "foreign_code", ())
        done = call(
            "run", "--model", "a-mine,gru[width=4]", "--task", "first", "--protocol", "tiny",
            "--device", "cpu", "--jobs", 1, "--results", tmp_path / "runs",
        )  # fmt: skip
        assert done.code == 0, done.err
    return call


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.campaign)


@pytest.mark.parametrize(
    ("does", "verdict", "said"),
    [
        (
            "crash called",
            "refused",
            "answering strings: its code ended the process that loaded it",
        ),
        slow("hang built", "refused", "network: its code did not finish within 5 s"),
        slow("change called", "ok", ""),
        slow("", "ok", ""),
    ],
)
def test_an_audit_goes_on(call, cli, tmp_path, monkeypatch, does, verdict, said):
    command = ("leaderboard", "audit", tmp_path / "runs", "--seed", 1)
    *_, alone = cli(*command, "--plugin", tmp_path / "tiny.yaml").lines
    monkeypatch.setattr(untrusted_plugins, "LIMIT", 5.0 if does.startswith("hang") else 600.0)
    done = call(*command, does=does)
    assert done.code == (verdict == "refused")
    assert "Traceback" not in done.err
    mine, beside = done.lines
    assert mine.startswith(verdict)
    assert mine.endswith(said)
    assert beside.startswith("ok ")
    assert beside == alone


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("crash called", "at every length: ended the process that loaded it"),
        slow("hang called", "at every length: did not finish within 5 s"),
        slow("crash built", "its code ended the process that loaded it"),
    ],
)
def test_nothing_of_it_is_published(call, tmp_path, monkeypatch, does, said):
    monkeypatch.setattr(remote, "LIMIT", 5.0 if does.startswith("hang") else 120.0)
    done = call("leaderboard", "publish", "--results", tmp_path / "runs", does=does)
    assert (done.code, done.out) == (1, "")
    line, last = done.err.splitlines()
    assert said in line
    assert last == "1 refused: nothing was published"
    assert not [path for path in (tmp_path / "clone").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_it_trains_again_in_processes_of_its_own(call, tmp_path):
    """With the weights of its record, also where these answer again."""
    done = call("leaderboard", "audit", tmp_path / "runs", "--retrain", "all", "--device", "cpu")
    assert done.code == 0, done.out + done.err
    assert [line.split()[0] for line in done.lines] == ["ok", "ok"]
    assert done.out.count("trained again: ") == 2
    assert done.out.count("all counts equal") == 2


def _raise(question, report):
    raise MemoryError("much")


@pytest.fixture
def processes(host, monkeypatch):
    """Processes that run everything of a record except its model's network."""
    monkeypatch.setattr(PluginProcesses, "foreign", lambda *arguments: frozenset({"task"}))
    with PluginProcesses(host) as processes:
        yield processes


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {"standing": "current", "newer": False, "protocol": 5},
        {"standing": "current", "newer": False, "plugins": 7},
        {"standing": "best", "newer": False},
        {"standing": "current", "newer": False, "luck": 7},
    ],
)
def test_facts_that_are_none_are_refused_with_one_line(processes, make_record, monkeypatch, facts):
    monkeypatch.setattr(processes, "ask", lambda *arguments: facts)
    for ask in (processes.protocol, processes.sources, processes.standing, processes.newer):
        with pytest.raises(RequestError, match="something else than was asked for"):
            ask(make_record())


def test_a_protocol_that_a_plugin_does_not_know_is_refused(processes, make_record, monkeypatch):
    facts = {"standing": "unknown", "newer": False, "protocol": None, "plugins": []}
    monkeypatch.setattr(processes, "ask", lambda *arguments: facts)
    with pytest.raises(RequestError, match="does not know its protocol"):
        processes.protocol(make_record())


def test_any_error_of_its_code_is_a_refusal(processes, make_record):
    for ask in (
        lambda: processes.ask(make_record(), _raise, None),
        lambda: processes.ask_network(make_record(), _raise),
    ):
        with pytest.raises(RequestError, match="MemoryError: much"):
            ask()


@pytest.mark.parametrize("model", [None, 7, {}, {"name": 7}])
def test_a_model_that_is_none_is_refused(host, processes, make_record, monkeypatch, model):
    monkeypatch.setattr(PluginProcesses, "foreign", lambda *arguments: frozenset({"model"}))
    monkeypatch.setattr(processes, "ask_network", lambda *arguments: model)
    with pytest.raises(RequestError, match="something else than was asked for"):
        Admission(host, processes).admit(make_record())
