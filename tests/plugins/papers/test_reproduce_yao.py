"""The reproduction of Theorem 4.3 of Yao et al.: its strings, and claims that can fail."""

from __future__ import annotations

import pytest
from formalbench.documents.figures import picture
from formalbench.host import PluginHost
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.curves import MeasuredAt
from formalbench_papers.yao.theorem_4_3 import (
    TASK,
    Break,
    carry_out,
    claims,
    lengths_for,
    telling_strings,
)


@pytest.fixture(scope="module")
def host():
    return PluginHost.load()


@pytest.mark.parametrize("length", [2, 4, 6, 62, 64])
def test_the_first_four_strings_are_members_and_their_flips_are_not(host, length):
    task = host.task(TASK)
    strings_BN = telling_strings(task, length)
    assert strings_BN.shape[1] == length
    labels = task.source.classify(strings_BN)
    assert labels[:4].all()
    assert not labels[4:-8].any()
    assert labels[-8:].sum() == 4


@pytest.mark.parametrize("bits", [4, 7, 12])
def test_lengths_lie_close_on_both_sides_of_two_to_the_b(bits):
    lengths = lengths_for(bits)
    assert lengths == sorted(set(lengths))
    assert {2, 2**bits - 2, 2**bits, 2**bits + 2} <= set(lengths)
    assert all(length % 2 == 0 for length in lengths)


class Small(Bench):
    def choose(self, quick, paper):
        return quick[0], 6


def test_a_small_one_is_carried_out_and_drawn(host, tmp_path):
    findings = carry_out(Small(host, "quick", lambda line: None))
    assert [claim.claim for claim in findings.claims if not claim.holds] == []
    wrong = [(row["position_bits"], row["length"]) for row in findings.rows if row["accuracy"] < 1]
    assert wrong == [(4, 16), (5, 32), (6, 64)]
    assert b"</svg>" in picture(findings.draw(), "svg")


def broken(bits, length, *, at_last=False):
    """Return a break after a length, or none."""
    right = MeasuredAt(length, 1, 1.0, 0.0, 0.0)
    return Break(bits, (right,) if at_last else (right, MeasuredAt(length + 2, 1, 0.5, 1.0, 1.0)))


def verdicts(found, exact):
    return [claim.holds for claim in claims(found, exact)]


def test_the_claims_can_fail():
    found = [broken(bits, 2**bits - 2) for bits in range(6, 12)]
    exact = broken(0, 4096, at_last=True)
    assert verdicts(found, exact) == [True] * 4
    assert verdicts([*found[:-1], broken(11, 2046, at_last=True)], exact)[0] is False
    grown = [broken(one.bits, 4 ** (one.bits // 2)) for one in found]
    assert verdicts(grown, exact)[2] is False
    linear = [broken(one.bits, 20 * one.bits) for one in found]
    assert verdicts(linear, exact)[1] is False
    assert verdicts(found, broken(0, 4096))[3] is False
    assert verdicts(found, broken(0, 1000, at_last=True))[3] is False


