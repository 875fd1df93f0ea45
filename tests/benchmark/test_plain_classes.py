"""Plain classes as models: from a file, a package and Python; what does not fit is refused."""

import json
import sys

import formalbench as fb
import pytest
from formalbench.contracts.network import traits_of
from formalbench.host import PluginHost
from formalbench.host.plain_class import class_plugin, model_name
from formalbench.host.plugin import content_hash
from formalbench.running.plan import Run

MINE = """\
from torch import nn
class Mine(nn.Module):
    def __init__(self, task, width=8, *, rate: float = 1, note=None):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(len(task.alphabet), width), nn.RNN(width, width)
    def forward(self, ids): return self.rnn(self.embed(ids).transpose(0, 1))[0].transpose(0, 1)
"""
CLASS = """\
import torch
from torch import nn
class Odd(nn.Module):
    def __init__(self, {constructor}):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), 4)
    def forward(self, {arguments}): return {states}
"""


@pytest.fixture
def mine(write):
    return write("mine.py", MINE)


@pytest.fixture
def odd(write):
    def make(constructor="task", arguments="ids", states="self.embed(ids)"):
        text = CLASS.format(constructor=constructor, arguments=arguments, states=states)
        return write("odd.py", text)

    return make


@pytest.fixture
def run(cli, tiny):
    def run(model, *more):
        return cli("run", "--model", model, "--task", "parity", "--protocol", "tiny", "--plugin",
                   tiny, "--seeds", 1, "--device", "cpu", "--json", *more)  # fmt: skip

    return run


def numbers(record):
    """Return what of a record does not say where its code is, when and how fast it ran."""
    told = json.loads(json.dumps(record))
    for key in ("train_id", "test_id", "command", "environment", "date"):
        del told[key]
    del told["model"]["name"], told["model"]["source"], told["test"]["seconds"]
    del told["training"]["seconds"], told["training"]["strings_per_second"]
    return told


def read(folder):
    (file,) = folder.rglob("*.json")
    return json.loads(file.read_text())


@pytest.mark.apart
def test_a_file_a_package_and_python_give_the_same_record(
    run, mine, write, tiny, tmp_path, monkeypatch
):
    write("pack/__init__.py", "")
    write("pack/deep/__init__.py", "from pack.deep.model import Mine\n")
    write("pack/deep/model.py", MINE)
    (file,) = run(f"{mine}:Mine[width=6]", "--results", tmp_path / "a").data
    (package,) = run("pack.deep.model:Mine[width=6]", "--results", tmp_path / "b").data
    monkeypatch.syspath_prepend(tmp_path)
    import mine as imported

    asked = {"tasks": ["parity"], "protocol": "tiny", "plugins": [tiny], "seeds": 1}
    asked |= {"settings": {"model.width": 6}, "device": "cpu"}
    fb.run([imported.Mine], results=tmp_path / "c", **asked)
    namespace = {"__name__": "notebook"}
    monkeypatch.setattr("inspect.getsource", lambda found: MINE)
    exec(MINE, namespace)
    fb.run([namespace["Mine"]], results=tmp_path / "d", **asked)
    python, session = read(tmp_path / "c"), read(tmp_path / "d")
    assert numbers(file) == numbers(package) == numbers(python) == numbers(session)
    assert file["weights"]
    assert file["status"] == "finished"
    assert {one["model"]["name"] for one in (file, python, session)} == {"mine"}
    assert package["model"]["name"] == "deep-model-mine"
    assert file["model"]["source"] == python["model"]["source"]
    assert file["model"]["source"]["distribution"] == "mine.py"
    assert file["model"]["source"]["sha256"] == content_hash(mine)
    assert package["model"]["source"]["sha256"] == content_hash(tmp_path / "pack")
    assert session["model"]["source"]["distribution"] == "(session)"
    assert "--plugin mine.py:Mine" in file["command"]
    for model in (f"{mine}:Mine[width=6]", "mine[width=6]"):
        more = {"protocol": "tiny", "plugins": [tiny, f"{mine}:Mine"], "results": tmp_path / "a"}
        assert fb.trained(model, "parity", **more)
    del sys.modules["mine"]


def test_the_command_of_a_record_repeats_it(cli, run, mine, tiny):
    (record,) = run("mine.py:Mine").data
    again = cli(*record["command"].split()[1:], "--json", "--device", "cpu")
    assert again.data == [record]


def test_keywords_are_options(cli, refused, run, mine):
    options = cli("show", "model", "mine.py:Mine", "--json").data["options"]
    assert {key: one["default"] for key, one in options.items()} == {"width": 8, "rate": 1.0}
    (record,) = run("mine.py:Mine", "--set", "rate=0.5", "--set", "model.width=3").data
    assert record["model"]["options"] == {"rate": 0.5, "width": 3}
    assert "a whole number" in refused("run", "--model", "mine.py:Mine[width=x]")
    assert "did you mean width?" in refused("run", "--model", "mine.py:Mine[widht=3]")


def test_an_annotation_in_quotation_marks_is_read(cli, odd):
    odd("task, *, rate: 'float' = 1")
    option = cli("show", "model", "odd.py:Odd", "--json").data["options"]["rate"]
    assert isinstance(option["default"], float)


def test_check_says_what_it_is_and_what_it_cannot_do(cli, odd, mine):
    done = cli("check", "mine.py:Mine[width=4]")
    assert done.code == 0
    assert "is the class Mine of mine.py, the model mine[rate=1.0, width=8]" in done.out
    assert "gives states (B, N, 4) of ids (B, N)" in done.out
    assert "does not support translate" in done.out
    assert "cannot train several runs together" in done.out  # torch's own RNN
    odd(states="self.embed(ids).flip(1)")
    done = cli("check", "odd.py:Odd")
    assert "does not support tag: its answers depend on later symbols" in done.out
    assert "as one program" not in done.out


def test_what_a_network_is_is_found_by_trying_it(odd, host):
    def traits(**change):
        (name,) = PluginHost.models_named(found := PluginHost.load(), [f"{odd(**change)}:Odd"])
        return traits_of(found.network(name, found.task("parity")))

    assert (traits().width, traits().causal, traits().vmap) == (4, True, True)
    behind = "self.embed(ids) + 0 * self.embed.weight[0, 0]"
    assert traits(states=f"{behind} + self.embed(ids).mean(1, keepdim=True)").causal is False
    assert traits(states="nn.functional.dropout(self.embed(ids))").vmap is False
    assert traits(states="self.embed(ids) * (2 if ids.sum() > 0 else 1)").vmap is True
    assert traits(states="self.embed(ids) * self.embed.weight.sum().sign().item()").vmap is False


def test_a_zero_in_front_of_what_mixes_symbols_hides_nothing(odd, host):
    path = odd(
        "task, zero=None",
        states="self.embed(ids) + self.zero * self.embed(ids).flip(1)",
    )
    path.write_text(
        path.read_text().replace(
            "super().__init__()", "super().__init__(); self.zero = nn.Parameter(torch.zeros(4))"
        )
    )
    (name,) = host.models_named([f"{path}:Odd"])
    assert not traits_of(host.network(name, host.task("parity"))).causal


def test_trying_a_network_changes_no_number_that_follows(mine, host):
    import torch

    (name,) = host.models_named([f"{mine}:Mine"])
    task = host.task("parity")
    torch.manual_seed(3)
    network = host.network(name, task)
    torch.manual_seed(3)
    from formalbench.host.plugin import import_class

    (local,) = host.locals()
    alone = import_class(local)(task)
    read = torch.nn.Linear(8, task.outputs)
    assert network.training
    assert torch.equal(network.backbone.network.rnn.weight_hh_l0, alone.rnn.weight_hh_l0)
    assert torch.equal(network.read.weight, read.weight)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"constructor": "task, width"}, "found __init__(self, task, width): width has no default"),
        ({"constructor": "width=3"}, "the first argument is the task"),
        ({"constructor": "*, task"}, "expected __init__(self, task"),
        ({"constructor": "task, a, b=1"}, "expected __init__(self, task, *, width=64, …), found"),
        ({"arguments": ""}, "expected forward(self, ids): LongTensor (B, N) to states (B, N, D)"),
        ({"arguments": "ids, mask"}, "found forward(self, ids, mask)"),
        ({"states": "self.embed(ids).mean(1)"}, "(2, 8, D) for ids (2, 8), got (2, 4)"),
        ({"states": "self.embed(ids).transpose(0, 1)"}, "got (8, 2, 4)"),
        ({"states": "(self.embed(ids), None)"}, "got a tuple"),
        ({"states": "ids[..., None]"}, "got (2, 8, 1) of torch.int64"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(refused, odd, change, says):
    odd(**change)
    assert says in refused("run", "--model", "odd.py:Odd", "--task", "parity", "--device", "cpu")
    assert says in refused("check", "odd.py:Odd")


def test_a_shape_that_is_wrong_at_one_length_alone_fails_that_run(run, odd):
    odd(states="self.embed(ids[:, :40])")
    done = run("odd.py:Odd")
    (record,) = done.data
    assert done.code == 1
    assert record["message"].startswith("Odd.forward: expected states (B, N, D) = ")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere.py:Mine", "nowhere.py: no such file"),
        ("nowhere.deep:Mine", "there is no file or module nowhere.deep"),
        ("mine.py:Mien", "unknown class of "),
        ("mine.py:nn", "is no class of torch.nn.Module"),
        ("torch.nn:LSTM", "import it in a file of your own"),
        ("mine.py:Mine,mine.py:Mine[width=4]", ""),
    ],
)
def test_names(cli, mine, name, says):
    done = cli("run", "--model", name, "--task", "parity", "--dry-run")
    assert done.code == (2 if says else 0)
    assert says in done.err
    assert len(done.err.splitlines()) <= 1


def test_a_name_that_is_taken_is_refused(refused, write):
    write("mine.py", MINE.replace("class Mine", "class LSTM"))
    assert "there is a model 'lstm' already: rename the class" in refused(
        "run", "--model", "mine.py:LSTM"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "mine.py"),
        ("run", "--plugin", "mine.py", "--model", "mine"),
        ("run", "--model", "mine.py"),
    ],
)
def test_a_file_without_its_class_is_told_the_class(refused, mine, arguments):
    assert refused(*arguments).endswith("to use its class, name mine.py:Mine")


def test_a_plugin_is_no_model(refused, odd_models):
    line = refused("run", "--model", odd_models)
    assert f"use --plugin {odd_models} and the model's name" in line


def test_a_broken_file_shows_its_own_frames(cli, write):
    write("mine.py", "def f(): return 1 / 0\nf()\n")
    done = cli("run", "--model", "mine.py:Mine", "--task", "parity")
    assert done.code == 3
    assert "ZeroDivisionError" in done.err


@pytest.mark.apart
def test_a_class_of_a_session_runs_in_its_process_alone(monkeypatch, tiny, odd):
    import torch

    class Mine(torch.nn.Module):
        def __init__(self, task):
            super().__init__()

    asked = {"tasks": ["parity"], "protocol": "tiny", "plugins": [tiny]}
    for change in ({"jobs": 2}, {"executor": "local"}):
        with pytest.raises(fb.RequestError, match="class Mine is not in a file"):
            fb.run([Mine], **asked, **change)
    with pytest.raises(fb.RequestError, match=r"lists of names: write \[Mine\]"):
        fb.run(Mine, **asked)
    host = PluginHost.load()
    host.models_named([Mine])
    (local,) = host.locals()
    monkeypatch.setattr("formalbench.host.plain_class._session", {})
    with pytest.raises(fb.RequestError, match="and not to this process: put it in a file"):
        PluginHost.load().load_local(local)
    assert Run.foreign_code


SCALE = 1


def helper(x):
    return x * SCALE


def made(width, base=None):
    import torch

    class Base(torch.nn.Module):
        def __init__(self, task):
            super().__init__()
            self.embed = torch.nn.Embedding(len(task.alphabet), width)

        @torch.no_grad()
        def forward(self, ids):
            return (lambda x: helper(x))(self.embed(ids))

    class Mine(base or Base):
        pass

    return Mine


def test_a_class_of_a_session_is_known_by_its_values_and_bases(monkeypatch):
    from torch import nn, tensor

    def sha256(*arguments):
        return class_plugin(made(*arguments)).sha256

    assert sha256(8) == sha256(8) != sha256(32)
    assert sha256(tensor([1, 2])) != sha256(tensor([1, 3]))
    assert sha256({"a": [made(8)]}) != sha256({"a": [made(9)]})
    assert sha256({"x", "y"}) == sha256({"y", "x"})
    assert sha256(8, nn.GRU) != sha256(8, nn.LSTM)
    same = sha256(8)
    monkeypatch.setitem(globals(), "SCALE", 2)
    assert sha256(8) == same  # `helper` can be imported: a file's imports do not count
    monkeypatch.setattr(helper, "__module__", "__main__")
    assert (two := sha256(8)) != same
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert sha256(8) != two


def test_two_classes_of_a_session_are_not_one_model():
    host = PluginHost.load()
    with pytest.raises(fb.RequestError, match="two classes Mine have the same source and values"):
        host.models_named([made(8), made(8)])
    with pytest.raises(fb.RequestError, match="there is a model 'mine' already"):
        host.models_named([made(8), made(9)])
    mine = made(8)
    assert PluginHost.load().models_named([mine, mine]) == ("mine", "mine")


def test_trained_gives_no_weights_of_an_older_file(run, mine, write, tiny, tmp_path):
    import torch

    asked = {"protocol": "tiny", "plugins": [tiny], "results": tmp_path / "runs"}
    run("mine.py:Mine", "--results", tmp_path / "runs")
    older = fb.trained("mine.py:Mine", "parity", **asked)
    write("mine.py", MINE.replace("self.rnn(", "-self.rnn("))
    with pytest.raises(fb.RequestError, match="the model, task or protocol has changed since"):
        fb.trained("mine.py:Mine", "parity", **asked)
    run("mine.py:Mine", "--results", tmp_path / "runs")
    newer = fb.trained("mine.py:Mine", "parity", **asked)
    assert not torch.equal(newer.read.weight, older.read.weight)
    write("other.py", MINE)
    with pytest.raises(fb.RequestError, match=r"here of other.py, and the runs .* are of mine.py"):
        fb.trained("other.py:Mine", "parity", **asked)


@pytest.mark.parametrize(
    ("name", "model"),
    [("Mine", "mine"), ("MyGRU2Net", "my-gru2-net"), ("minGRULM", "min-grulm"), ("_A_b", "a-b")],
)
def test_model_names(name, model):
    assert model_name(name) == model
