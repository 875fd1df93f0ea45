"""The generators of Yao et al. against the definition of what may come next."""

from __future__ import annotations

import math

import pytest
import torch
from formalbench.contracts.errors import RequestError
from formalbench_models.catalogue.constructions import YaoSoftConfig
from formalbench_models.constructions import builders
from yao_helpers import (
    batch,
    beginnings,
    bounded_sets,
    every_string,
    generator,
    is_member,
    legal_sets,
    read,
    task,
    true_sets,
    walk,
)


@pytest.mark.parametrize(("k", "D"), [(1, 1), (1, 3), (2, 2), (2, None), (1, None)])
@pytest.mark.parametrize("n", [2, 6, 7])
def test_near_the_bound_on_the_length(k, D, n):
    name = "soft" if D else "soft_unbounded"
    network = generator(name, k, D, n=n)
    longest = n - n % 2
    reachable = [
        one for one in beginnings(k, D, longest) if is_member(one, D)
    ]  # every prefix that can still be closed begins one of these
    want = bounded_sets(reachable, k, D, n)
    assert torch.equal(legal_sets(network, reachable), want)
    assert not torch.equal(want, true_sets(reachable, k, D))
    with pytest.raises(RequestError, match=f"0 to {n}, not {n + 1}"):
        network(batch([[0] * (n + 1)]))


@pytest.mark.parametrize(("k", "D", "n"), [(1, 1, 8), (2, 2, 8), (1, 3, 9), (2, None, 10)])
def test_the_stated_length_is_that_of_the_beginnings_it_is_right_about(k, D, n):
    network = generator("soft" if D else "soft_unbounded", k, D, n=n)
    least, greatest = network.traits.lengths
    assert (least, greatest) == (0, n // 2 * 2 - D - 1 if D else n // 2 - 1)

    def right(length):
        strings = beginnings(k, D, length)
        return torch.equal(legal_sets(network, strings), true_sets(strings, k, D))

    assert right(greatest)
    assert not right(greatest + 2)


@pytest.mark.parametrize("name", ["soft", "hard_generate", "soft_unbounded"])
def test_definition_3_1(name):
    D = None if name == "soft_unbounded" else 2
    network = generator(name, 2, D, objective="generate")
    epsilon = network.traits.constants["epsilon"]
    assert 0 < epsilon < 1 / 5
    for length in range(5):
        strings = every_string(2, length)
        with torch.no_grad():
            log_p = network(batch(strings))
        torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(log_p.shape[:2]).double())
        targets = torch.tensor([[*one, 4] for one in strings])
        least = log_p.gather(-1, targets[..., None]).squeeze(-1).amin(-1)
        for one, value in zip(strings, least.tolist(), strict=True):
            assert (value >= math.log(epsilon)) == is_member(one, D), one


@pytest.mark.parametrize("name", ["soft", "hard_generate"])
def test_logits_are_relative_to_epsilon_by_at_least_the_margin(name):
    strings = [walk(2, 3, 40, seed) for seed in range(5)]
    for margin in (1.0, 4.0):
        network = generator(name, 2, 3, margin=margin)
        with torch.no_grad():
            logits = network(batch(strings))
            log_p = generator(name, 2, 3, "generate", margin=margin)(batch(strings))
        torch.testing.assert_close(logits, log_p - math.log(network.traits.constants["epsilon"]))
        assert logits.abs().min() > margin - 1e-3


def test_any_depth_needs_the_precision_that_it_states():
    strings = [walk(2, 40, 80, seed, opening=0.6) for seed in range(4)]
    want = true_sets(strings, 2, None)
    right = [
        torch.equal(legal_sets(generator("soft_unbounded", 2, None, n=n).float(), strings), want)
        for n in (82, 1002)
    ]
    assert right == [False, False]
    assert torch.equal(legal_sets(generator("soft_unbounded", 2, None, n=82), strings), want)


def test_refused_tasks():
    with pytest.raises(RequestError, match="yao-soft-2 recognises dyck-2, not dyck-2-3"):
        builders.soft_unbounded(task(2, 3, "next-symbols"), YaoSoftConfig(), k=2)
    with pytest.raises(RequestError, match="types and depth must be at least 1"):
        builders.soft(task(2, 0, "generate"), YaoSoftConfig(), k=2, D=0)
    assert read([1], 3) is None
