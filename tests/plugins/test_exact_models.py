"""The exact models of Chiang & Cholak and of the Dyck slides, on their tasks."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from exact_helpers import every_string, hard_strings, judge, make
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch
from formalbench.contracts.source import Stream

BITS_PER_NAT = 1 / math.log(2)

every_network = pytest.mark.parametrize("network", ["hand-written", "transformer"])


@pytest.mark.parametrize("c", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("network", "symbols"),
    [
        *product(("hand-written", "transformer"), (1, 9, 99)),
        *(("hand-written", symbols) for symbols in (577, 999, 20_001)),
    ],
)
def test_the_logit_of_parity_is_its_closed_form(c, symbols, network):
    exact, task = make("exact-parity", "parity", {"c": c, "network": network})
    n = symbols + 1
    counts = torch.tensor(sorted({0, 1, symbols // 3, symbols // 2, symbols - 1, symbols}))
    strings = (torch.arange(symbols) < counts[:, None]).long()
    strings = strings[:, torch.randperm(symbols)]
    _, _, logit = judge(exact, task, strings)
    want = -((-1.0) ** counts.double()) * 2 / n**2 * math.tanh(c)
    assert ((logit - want) / want).abs().max() < (1e-12 if n <= 1000 else 1e-9)


@pytest.mark.parametrize("log_length", [False, True])
@pytest.mark.parametrize("c", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("network", "symbols"),
    [
        *product(("hand-written", "transformer"), (1, 2, 10)),
        *(("hand-written", symbols) for symbols in (999, 20_001)),
    ],
)
def test_the_logit_of_first_is_its_closed_form(c, log_length, symbols, network):
    options = {"c": c, "log_length": log_length, "network": network}
    exact, task = make("exact-first", "first", options)
    strings = hard_strings(task, symbols, count=3)
    _, _, logit = judge(exact, task, strings)
    n = symbols + 1
    weight = math.log(n) * c if log_length else c
    want = math.exp(weight) / (math.exp(weight) + n - 1) * (strings[:, 0].double() - 0.5)
    assert ((logit - want) / want).abs().max() < (1e-12 if n <= 1000 else 1e-9)


@pytest.mark.parametrize("most", ["", "-3"])
@pytest.mark.parametrize("pairs", [1, 2, 50, 500])
def test_the_logit_of_a_dyck_member_is_its_closed_form(most, pairs):
    network, task = make(f"exact-dyck-1{most}", f"dyck-1{most}")
    members = torch.from_numpy(task.source.sample_members(Stream(pairs), 2 * pairs, 20))
    _, _, logit = judge(network, task, members)
    want = 0.5 / (2 * pairs + 1) ** 2
    assert ((logit - want) / want).abs().max() < 1e-12
    # Others are at least as far on the other side.
    near = torch.from_numpy(task.source.near_misses(Stream(pairs), 2 * pairs, 20))
    assert judge(network, task, near)[2].max() < -want * (1 - 1e-9)


@pytest.mark.parametrize("language", ["parity", "first", "dyck-1", "dyck-1-2"])
@pytest.mark.parametrize("eta", [0.001, 0.5])
def test_without_epsilon_the_cross_entropy_is_as_wanted_at_every_length(language, eta):
    network, task = make(f"exact-{language}", language, {"eps": 0.0, "eta": eta})
    for length in (1, 2, 3, 10, 99, 1000):
        bits = judge(network, task, hard_strings(task, length, count=4))[1]
        assert bits.max() <= eta * BITS_PER_NAT * (1 + 1e-9), length
        assert bits.min() >= eta * BITS_PER_NAT * (1 - 1e-9), length
    assert network.traits.constants["eta"] == eta


@pytest.mark.parametrize("eps", [None, 0.0, 1e-5, 0.1])
@pytest.mark.parametrize("eta", [0.001, 0.3])
def test_proposition_3_bounds_the_cross_entropy_of_first(eps, eta):
    options = {"log_length": True, "eta": eta}
    options |= {} if eps is None else {"eps": eps, "norm": True}
    network, task = make("exact-first", "first", options)
    for length in (1, 2, 3, 10, 100, 1000, 10_000):
        bits = judge(network, task, hard_strings(task, length, count=4))[1]
        assert bits.max() <= eta * BITS_PER_NAT * (1 + 1e-9), length


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0, 4.0, 5.5])
@every_network
def test_the_flawed_transformer_fails_exactly_where_it_must(c, network):
    flawed, task = make("flawed-first", "first", {"c": c, "network": network})
    for length in range(2, 400, 7):
        n = length + 1
        one = torch.zeros(1, length, dtype=torch.int64)
        one[0, 0] = 1
        assert judge(flawed, task, one)[0] == (math.exp(c) <= n - 1), length
        assert judge(flawed, task, 1 - one)[0] == (math.exp(c) < n - 3), length


def test_log_length_scaling_mends_it_only_if_c_is_1_or_more():
    weak, task = make("flawed-first", "first", {"c": 0.9, "log_length": True})
    one_hot = torch.zeros(1, 10_000, dtype=torch.int64)
    one_hot[0, 0] = 1
    assert judge(weak, task, one_hot)[0] == 1


@pytest.mark.parametrize("n", [1, 2, 7, 10])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_rumelharts_network_is_right_at_its_length_and_refuses_others(n, dtype):
    network, task = make("ffnn-parity", "parity", {"n": n})
    network.to(dtype)
    assert network.traits.lengths == (n, n)
    errors, _, logit = judge(network, task, every_string(n))
    assert errors == 0
    assert (logit.abs() == 0.5).all()
    for length in (0, n + 1):
        with pytest.raises(RequestError, match=f"ffnn-parity has {n} inputs.* length {length}"):
            network(Batch(every_string(length)))


def test_the_steps_of_the_parity_network_are_those_of_the_paper():
    network, _ = make("exact-parity", "parity")
    string = torch.tensor([[1, 0, 1, 1, 0]])
    trace = {name: tensor[0].tolist() for name, tensor in network.trace(Batch(string)).items()}
    sixth = 1 / 6
    assert trace["input[is 1]"] == [0, 1, 0, 1, 1, 0]
    assert trace["input[i/n]"] == [i / 6 for i in range(6)]
    assert trace["layer.1.attention[k/n]"] == [0.5] * 6
    assert trace["layer.1.attention[1/n]"] == [sixth] * 6
    hat = trace["layer.1.feed_forward.1[[i=k]/n]"]
    assert hat == pytest.approx([0, 0, 0, sixth, 0, 0], abs=1e-15)
    odd = trace["layer.2.head.odd.attention"][0]
    assert odd[1] / odd[0] == pytest.approx(math.exp(2), rel=1e-12)
    assert sum(odd) == pytest.approx(1, rel=1e-12)
