"""A sandbox answers in JSON or bytes, and nothing that it sends runs in the process that asks."""

import gc
import os
import pickle
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
import torch
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.network import Batch, Traits
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import evaluate
from formalbench.host import PluginHost
from formalbench.running.plan import model_used, task_used
from formalbench.running.remote_network import NetworkQuestion, build_remotely
from formalbench.running.sandbox import NoAnswerError, Sandbox
from torch import nn


@dataclass(frozen=True)
class Question:
    """What a process is asked, and whose process that is."""

    text: str
    home: str = "a"


class Touch:
    """Makes a file where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def answer(question, report):
    """Do what the text of a question says; found by its name in the sandbox."""
    report("reading")
    what, _, rest = question.text.partition(" ")
    (channel,) = (one for one in gc.get_objects() if isinstance(one, Connection) and one.writable)
    if what == "process":
        return os.getpid()
    if what == "bytes":
        return b"\x00\x01"
    if what == "refuse":
        raise RequestError(rest)
    if what == "fail":
        raise ZeroDivisionError(rest)
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "crash":
        os._exit(3)
    if what == "hang":
        time.sleep(3600)
    if what == "pickle":
        channel.send_bytes(pickle.dumps(Touch(rest)))
    if what == "garble":
        channel.send_bytes(rest.encode())
    if what == "half":
        os.write(channel.fileno(), b"\x00\x00\x10\x00half of it")
        time.sleep(3600)
    if what == "read":
        try:
            return len(Path(f"/proc/{os.getppid()}/mem").open("rb").read(0)) == 0
        except OSError:
            return False
    return {"text": rest}


@pytest.fixture
def sandbox():
    with Sandbox(20.0) as sandbox:
        yield sandbox


def test_it_answers_in_json_or_bytes_from_one_process_for_each_home(sandbox):
    assert sandbox.ask(answer, Question("say a")) == {"text": "a"}
    assert sandbox.ask(answer, Question("bytes")) == b"\x00\x01"
    first = sandbox.ask(answer, Question("process"))
    assert first == sandbox.ask(answer, Question("process")) != os.getpid()
    assert sandbox.ask(answer, Question("process", "b")) != first
    with pytest.raises(RequestError, match="no luck"):
        sandbox.ask(answer, Question("refuse no luck"))
    with pytest.raises(RuntimeError, match="ZeroDivisionError: no luck"):
        sandbox.ask(answer, Question("fail no luck"))
    with pytest.raises(BrokenPluginError, match="KeyboardInterrupt"):
        sandbox.ask(answer, Question("interrupt"))


def test_what_is_no_answer_is_refused_and_a_pickle_is_not_read(sandbox, tmp_path):
    for text in (f"pickle {tmp_path / 'mark'}", "garble a{", "garble x[]", 'garble e["x"]'):
        with pytest.raises(NoAnswerError, match="reading: its code sent something that is no"):
            sandbox.ask(answer, Question(text))
    assert not (tmp_path / "mark").exists()
    with pytest.raises(NoAnswerError, match="ended the process that loaded it"):
        sandbox.ask(answer, Question("crash"))
    assert set(sandbox.lost) == {"a"}
    assert sandbox.ask(answer, Question("say again")) == {"text": "again"}


@pytest.mark.slow
def test_an_answer_that_does_not_come_or_does_not_end_is_not_waited_for(sandbox):
    sandbox.ask(answer, Question("say a"))
    sandbox.worker.limit = 2.0
    for text in ("hang", "half"):
        with pytest.raises(NoAnswerError):
            sandbox.ask(answer, Question(text))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="it has no such file")
def test_it_cannot_read_the_memory_of_the_process_that_asks(sandbox):
    assert sandbox.ask(answer, Question("read")) is False


def test_a_network_there_answers_as_it_does_here(sandbox):
    host = PluginHost.load()
    protocol = host.protocol("quick")
    for name, wanted in (("rnn", "parity"), ("encoder-decoder", "reverse-string:decode")):
        task = protocol.apply(host.task(wanted))
        example = task.sample(task.stream("x"), 5, 8)
        strings = TestSet((Cell(5, 5, (example,)),))
        question = NetworkQuestion(
            *(model_used(host.select_model(name)), task_used(host.select_task(wanted))),
            *(protocol, 7, (), "cpu"),
        )
        torch.manual_seed(7)
        here = host.network(name, task, {})
        there = build_remotely(sandbox, question, task)
        assert there.remote.size == sum(part.numel() for part in here.parameters())
        for double in (False, True):
            one, other = (net.double() if double else net for net in (here, there))
            cpu = torch.device("cpu")
            scores = [evaluate(net, task, strings, cpu, 2) for net in (other, one)]
            assert scores[0] == scores[1]


def test_an_encoder_decoder_answers_before_it_is_shown_right_answers():
    """Else it could remember them."""
    host = PluginHost.load()
    task = host.task("reverse-string:decode")
    example = task.sample(task.stream("x"), 5, 8)
    seen = []

    class Watched(nn.Module):
        traits = Traits(encoder_decoder=True)

        def forward(self, batch: Batch) -> torch.Tensor:
            seen.append(batch.decoded.numpy().copy())
            count, said = batch.decoded.shape
            return torch.zeros(count, said + 1, task.outputs)

    evaluate(Watched(), task, TestSet((Cell(5, 5, (example,)),)), torch.device("cpu"))
    shown = [index for index, one in enumerate(seen) if np.array_equal(one, example.decoded)]
    assert shown == [len(seen) - 1]


def test_a_network_whose_process_is_lost_is_not_asked_again(sandbox):
    """Threads ask in turn; the next one must not hear from a process without the network."""
    host = PluginHost.load()
    task = host.task("parity")
    question = NetworkQuestion(
        *(model_used(host.select_model("rnn")), task_used(host.select_task("parity"))),
        *(host.protocol("quick"), 7, (), "cpu"),
    )
    network = build_remotely(sandbox, question, task)
    with pytest.raises(NoAnswerError):
        sandbox.ask(answer, replace(Question("crash"), home=question.home))
    example = task.sample(task.stream("x"), 5, 8)
    strings = TestSet((Cell(5, 5, (example,)),))
    with pytest.raises(RequestError, match="ended the process that loaded it"):
        evaluate(network, task, strings, torch.device("cpu"), 1)
