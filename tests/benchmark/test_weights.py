"""Weights beside records: what was tested is what is kept, and nothing else is taken for it."""

import hashlib
import signal

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.verification import parse_any
from formalbench.evaluation.cells import test_set as draw_test_set  # not a test
from formalbench.evaluation.evaluate import evaluate
from formalbench.host import PluginHost
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.store import Store, weights_path
from formalbench.store.weights import MAX_BUILT, MAX_BYTES, load_network, pack
from safetensors.torch import load, save, save_file
from torch import nn


@pytest.fixture
def odd_host(tiny, odd_models):
    return PluginHost.load([tiny, odd_models])


@pytest.fixture
def kept(odd_host, results):
    """Train and return the host, the record and the path of its weights."""

    def run(model="bag", seeds=1, jobs=1):
        plan = make_plan(odd_host, RunRequest((model,), ("parity",), protocol="tiny", seeds=seeds))
        store = Store(results)
        records = execute(odd_host, plan, store, RunOptions(jobs=jobs))
        return [(record, weights_path(store.path_of(record))) for record in records]

    return run


def correct(host, record, network):
    task = host.task(record.task.name, record.task.options)
    test_set = draw_test_set(task, record.protocol)
    scores = evaluate(network, task, test_set, torch.device("cpu"))
    return tuple(score.measures["accuracy"].total for score in scores)


@pytest.mark.parametrize("model", ["bag", "lstm", "regulargpt", "transformer"])
def test_the_weights_give_the_numbers_of_the_record(odd_host, kept, model):
    ((record, path),) = kept(model)
    assert record.status == "finished"
    assert record.weights == hashlib.sha256(path.read_bytes()).hexdigest()
    before = torch.random.get_rng_state()
    network = load_network(odd_host, record, path)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not network.training
    assert correct(odd_host, record, network) == record.test.cells.correct
    assert pack(network) == path.read_bytes()


def test_worker_processes_hand_their_weights_over(odd_host, kept):
    runs = kept(seeds=2, jobs=2)
    assert len({record.weights for record, _ in runs}) == 2
    for record, path in runs:
        network = load_network(odd_host, record, path)
        assert correct(odd_host, record, network) == record.test.cells.correct


@pytest.mark.parametrize("model", ["rejecting", "stumbling", "not-a-number"])
def test_what_was_not_trained_has_no_weights(kept, model):
    ((record, path),) = kept(model)
    assert record.weights is None
    assert '"weights"' not in record.to_json()
    assert not path.exists()


def test_weights_that_are_too_large_are_not_kept(kept, odd_host, monkeypatch):
    assert pack(nn.Linear(1, MAX_BYTES // 4)) is None
    monkeypatch.setattr("formalbench.store.weights.MAX_BYTES", 100)
    ((record, path),) = kept()
    assert (record.status, record.weights, path.exists()) == ("finished", None, False)
    with pytest.raises(RequestError, match="has no weights"):
        load_network(odd_host, record, path)


def test_a_run_whose_network_cannot_be_written_down_has_failed(kept, monkeypatch):
    def fail(network):
        raise TypeError("no such element")

    monkeypatch.setattr("formalbench.store.weights.pack", fail)
    ((record, path),) = kept()
    assert (record.status, record.test, record.weights) == ("error", None, None)
    assert record.message == "the weights were not saved: TypeError: no such element"
    assert not path.exists()


def test_a_kill_between_the_two_leaves_no_record(spawn, tiny, odd_models, results, cli):
    killing = """
import os, signal, sys
from formalbench import store
from formalbench.cli.main import run_command_line
write = store.write_atomically
def write_one(path, contents):
    write(path, contents)
    if path.suffix == ".safetensors":
        os.kill(os.getpid(), signal.SIGKILL)
store.write_atomically = write_one
run_command_line(sys.argv[1:])
"""
    command = [
        "run", "--model", "rnn", "--task", "parity", "--protocol", "tiny", "--seeds", 1,
        "--jobs", 1, "--device", "cpu", "--plugin", tiny,
    ]  # fmt: skip
    process = spawn("-c", killing, *command)
    process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL
    assert len(list(results.rglob("*.safetensors"))) == 1
    assert Store(results).records() == []
    assert cli(*command).code == 0
    (record,) = Store(results).records()
    (path,) = results.rglob("*.safetensors")
    assert record.weights == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_disk_that_fills_up_fails_the_run_and_the_same_command_repeats_it(
    spawn, cli, tiny, results, jobs
):
    # No file may be longer than this: there is room for a record and none for an LSTM's weights.
    limited = """
import resource, sys
from formalbench.cli.main import run_command_line
if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    sys.exit(run_command_line(sys.argv[1:]))
"""
    (results.parent / "limited.py").write_text(limited)
    command = [
        "run", "--model", "lstm", "--task", "parity", "--protocol", "tiny", "--seeds", 2,
        "--jobs", jobs, "--device", "cpu", "--plugin", tiny,
    ]  # fmt: skip
    process = spawn(results.parent / "limited.py", *command)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1, err
    lines = [line for line in err.splitlines() if "error: the weights were not saved: " in line]
    assert len(lines) == 2
    assert not list(results.rglob("*.safetensors"))
    assert [record.status for record in Store(results).records()] == ["error", "error"]

    again = cli(*command)
    assert again.code == 0, again.err
    for record in Store(results).records():
        path = weights_path(Store(results).path_of(record))
        assert record.weights == hashlib.sha256(path.read_bytes()).hexdigest()


def test_tied_and_frozen_tensors_and_buffers():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(3, 2, bias=False)
            self.same = self.one
            self.lstm = nn.LSTM(2, 4)  # its parameters are views of one block
            self.frozen = nn.Parameter(torch.arange(2.0), requires_grad=False)
            self.register_buffer("count", torch.tensor(7))
            self.register_buffer("passing", torch.zeros(2), persistent=False)
            self.turned = nn.Parameter(torch.arange(6.0).view(2, 3).T)

    held = load(pack(Odd()))
    assert {"one.weight", "frozen", "count", "turned", "lstm.weight_ih_l0"} <= held.keys()
    assert not {"same.weight", "passing"} & held.keys()
    assert torch.equal(held["turned"], torch.arange(6.0).view(2, 3).T)
    assert held["count"] == 7


def test_the_record_says_what_the_file_must_be(kept):
    ((record, _),) = kept()
    assert parse_any(record.to_json(), "r") == record
    for status in ("error", "diverged"):
        text = record.model_copy(update={"status": status, "test": None}).to_json()
        with pytest.raises(RequestError, match="only a tested learned run can have weights"):
            parse_any(text, "r")
    with pytest.raises(RequestError, match="weights"):
        parse_any(record.to_json().replace(record.weights, "../../etc/passwd"), "r")


def change(path, **tensors):
    """Change tensors of a file (None takes one out), and return its new hash."""
    held = {**load(path.read_bytes()), **tensors}
    save_file({name: tensor for name, tensor in held.items() if tensor is not None}, path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("tensors", "problem"),
    [
        ({"read.bias": None}, "read.bias is missing"),
        ({"read.bias": torch.zeros(3)}, r"read.bias is float32 \(3,\), not float32 \(2,\)"),
        ({"read.bias": torch.zeros(2).double()}, "read.bias is float64"),
        ({"a\nb": torch.zeros(1)}, r"it has no 'a\\nb'"),
    ],
    ids=["missing", "shape", "dtype", "extra"],
)
def test_tensors_that_do_not_fit_are_refused(odd_host, kept, tensors, problem):
    ((record, path),) = kept()
    record = record.model_copy(update={"weights": change(path, **tensors)})
    refused(odd_host, record, path, problem)


def refused(host, record, path, problem):
    with pytest.raises(RequestError, match=problem) as caught:
        load_network(host, record, path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_other_weights_than_the_record_names_are_refused(odd_host, kept):
    (one, path), (_, other) = kept(seeds=2)
    refused(odd_host, one, other, "its SHA-256 is")
    change(path, **{"read.bias": torch.zeros(2)})
    refused(odd_host, one, path, "its SHA-256 is")


@pytest.mark.parametrize(
    "contents",
    [b"", b"{}", b"\x80\x04.", b"\xff" * 100, save({"x": torch.zeros(9)})[:-4],
     (40).to_bytes(8, "little") + b'{"x":{"dtype":"NO","shape":[1],"data":1'],
    ids=["empty", "json", "pickle", "noise", "cut", "dtype"],
)  # fmt: skip
def test_what_is_no_safetensors_file_is_refused(odd_host, kept, contents):
    ((record, path),) = kept()
    path.write_bytes(contents)
    named = record.model_copy(update={"weights": hashlib.sha256(contents).hexdigest()})
    refused(odd_host, named, path, "not a safetensors file")


def test_a_file_that_is_missing_or_too_large_is_refused(odd_host, kept, monkeypatch):
    ((record, path),) = kept()
    monkeypatch.setattr("formalbench.store.archive.MAX_BYTES", 100)
    refused(odd_host, record, path, "larger than 100 bytes")
    path.unlink()
    refused(odd_host, record, path, "No such file")


def test_weights_of_another_version_of_the_model_are_refused(odd_host, kept):
    ((record, path),) = kept()
    older = record.model_copy(
        update={"model": record.model.model_copy(update={"version": 0}), "seed": 3}
    )
    refused(odd_host, older, path, "weights of version 0 of bag, which is at version 1 here")


def test_a_network_that_no_file_could_hold_is_not_filled(odd_host, kept, monkeypatch):
    ((record, path),) = kept("transformer")
    options = {"layers": 256, "hidden": 65536}
    large = record.model_copy(
        update={"model": record.model.model_copy(update={"options": options})}
    )
    filled = []
    monkeypatch.setattr(nn.Linear, "reset_parameters", lambda layer: filled.append(layer))
    with pytest.raises(
        RequestError, match="transformer as the record has it is larger than weight"
    ):
        load_network(odd_host, large, path)
    assert sum(layer.weight.nbytes for layer in filled) < MAX_BUILT
    assert load_network(odd_host, record, path)  # what was built before leaves nothing behind
