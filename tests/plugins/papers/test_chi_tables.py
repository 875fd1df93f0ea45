"""Tables 1 and 2 of the RegularGPT paper: the rule for a verdict, the claims."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formalbench.contracts.published import PublishedResult
from formalbench_papers.chi import table1 as chi_table1
from formalbench_papers.chi import table2 as chi_table2
from formalbench_papers.framework import scores as framework_scores
from formalbench_papers.framework.runs import Got, Wanted
from formalbench_papers.framework.scores import Score, agrees, cell

PARITY = PublishedResult(max=100.0, mean=98.9)


def score(mean=1.0, best=None, low=None, high=None, chance=0.5, missing=0):
    return Score(
        mean if best is None else best,
        mean,
        mean if low is None else low,
        mean if high is None else high,
        chance,
        "3 seeds",
        missing=missing,
    )


@pytest.mark.parametrize(
    ("paper", "ours", "holds"),
    [
        ((100.0, 98.9), score(0.989, best=0.981), True),
        ((100.0, 98.9), score(0.989, best=0.979), "cannot tell"),  # maxima 2.1 apart
        ((100.0, 98.9), score(0.989, best=0.89), False),  # 11
        ((100.0, 98.9), score(0.989, best=0.89, missing=1), "cannot tell"),
        ((100.0, 98.9), score(0.989, best=1.0, missing=2), "cannot tell"),
        ((100.0, 98.9), score(0.6, missing=2), "cannot tell"),
        ((100.0, 98.9), score(0.97, best=1.0), True),  # 1.9 points
        ((100.0, 98.9), score(0.96, best=1.0), False),
        ((100.0, 98.9), score(0.96, best=1.0, low=0.90, high=0.99), "cannot tell"),  # within it
        ((100.0, 98.9), score(0.96, best=1.0, low=0.90, high=0.98), False),
        ((100.0, 98.9), score(0.89, best=1.0, low=0.70, high=1.0), "cannot tell"),
        ((100.0, 98.9), score(0.88, best=1.0, low=0.50, high=1.0), "cannot tell"),
        ((21.2, 20.5), score(0.97, best=1.0, low=0.9, high=1.0), False),  # better is different
        ((None, 50.1), score(0.5, best=0.9), True),  # an average only
        ((50.0, None), score(0.9, best=0.51), True),  # a maximum only
        ((52.0, 50.0), score(0.5, best=0.5), True),  # 2 points and no more
        ((52.1, 50.0), score(0.5, best=0.5), "cannot tell"),
        ((100.0, 98.9), Score(None, None, None, None, None, "0 of 3 finished"), False),
    ],
)
def test_the_rule_for_a_cell(paper, ours, holds):
    published = PublishedResult(max=paper[0], mean=paper[1])
    assert agrees(published, ours) == holds
    assert cell("parity", "RNN", published, ours).holds == holds


def test_a_run_that_did_not_finish_is_said(make_record):
    wanted = Wanted("parity", "RNN", "rnn", "parity", "quick")
    good = [make_record("rnn", seed=seed) for seed in range(2)]
    got = Got(wanted, [*good, make_record("rnn", seed=2, status="diverged")])
    shown = cell("parity", "RNN", PARITY, Score.of_test(got))
    assert "2 of 3 finished (1 diverged)" in shown.ours
    assert "83.3 (" in shown.ours  # it counts as chance
    assert shown.verdict == "cannot tell"  # two seeds of three say little of the others
    bad = [make_record("rnn", seed=seed, accuracy=0.6) for seed in range(3)]
    assert cell("parity", "RNN", PARITY, Score.of_test(Got(wanted, bad))).verdict == "differs"
    assert Score.of_validation(got).outcome == "2 of 3 finished"
    none = Got(wanted, [make_record("rnn", seed=0, status="diverged")])
    assert Score.of_validation(none).mean is None
    assert framework_scores.ours_text(PARITY, Score.of_validation(none)) == "0 of 1 finished"


PERFECT = {
    (task, model.title): score(1.0)
    for task in chi_table1.PAPER.tasks
    for model in chi_table1.TABLE.models
}
PAPER = PERFECT | {
    (task, title): score(
        (paper := chi_table1.PAPER.result(title, task)).mean / 100, paper.max / 100
    )
    for task, title in PERFECT
}
CHANCES = {"cycle-navigation": 0.2, "modular-arithmetic": 0.2, "tomita-5": 0.75}
AT_CHANCE = {
    (task, "Transformer"): score(chance, low=chance - 0.01, high=chance + 0.01, chance=chance)
    for task in chi_table1.AT_CHANCE
    for chance in (CHANCES.get(task, 0.5),)
}
CHANCE = range(12, 17)
"""The places of the claims about chance."""


def claims_1(scores, learned=None):
    """The claims, where the Transformer learned every training length."""
    if learned is None:
        learned = {task: one for (task, model), one in scores.items() if model == "Transformer"}
    return chi_table1.claims(scores, learned)


def verdicts_1(scores, learned=None):
    return [claim.verdict for claim in claims_1(scores, learned)]


def test_the_claims_of_table_1_hold_of_the_paper_itself():
    assert set(verdicts_1(PAPER | AT_CHANCE)) == {"holds"}
    assert set(verdicts_1({})) == {"not run at this scale"}


D2, ARITHMETIC = "d2", "modular-arithmetic"
TWO, THREE, RNN = "RegularGPT (C=2)", "RegularGPT (C=3)", "RNN"
DIFFERS, UNSURE = "differs", "cannot tell"


@pytest.mark.parametrize(
    ("task", "model", "changed", "verdict", "places"),
    [
        (D2, TWO, score(0.98), DIFFERS, [4]),
        (ARITHMETIC, TWO, score(0.955, best=0.955), DIFFERS, []),
        (ARITHMETIC, TWO, score(0.94), DIFFERS, [7, 18]),
        ("parity", "Transformer", score(0.6, low=0.55, high=0.65), DIFFERS, [12]),
        (
            *("cycle-navigation", "Transformer"),
            *(score(0.3, low=0.25, high=0.35, chance=0.2), DIFFERS, [13]),
        ),
        ("d12", RNN, score(0.98), DIFFERS, [17]),
        ("even-pairs", TWO, score(0.94), DIFFERS, [3, 18]),
        (ARITHMETIC, THREE, score(0.9), DIFFERS, [20]),
        # What learned no training lengths refutes nothing.
        ("even-pairs", TWO, replace(score(0.9), learned=False), UNSURE, [3, 18]),
        (D2, RNN, replace(score(0.5), learned=False), UNSURE, [17, 18]),
        (ARITHMETIC, TWO, replace(score(0.2), learned=False), UNSURE, [7, 18, 20]),
        # Seeds that disagree, or are missing.
        (D2, TWO, score(0.9, missing=2), UNSURE, [4, 18, 19]),
        (D2, RNN, score(0.9, missing=2), UNSURE, [17, 18]),
        (D2, RNN, score(0.7, best=0.94, low=0.5, high=1.0), UNSURE, [18]),
        (D2, TWO, score(1.0, missing=1), UNSURE, [18, 19]),
        (ARITHMETIC, THREE, score(0.5, low=0.2, high=0.9), UNSURE, [20]),
    ],
)
def test_each_claim_of_table_1_can_fail_or_stay_open(task, model, changed, verdict, places):
    found = verdicts_1(PAPER | AT_CHANCE | {(task, model): changed})
    assert [place for place, one in enumerate(found) if one == verdict] == places


def test_a_transformer_that_learned_no_training_lengths_says_nothing_of_longer_ones():
    found = claims_1(PAPER | AT_CHANCE, learned={})
    assert {found[place].verdict for place in (*CHANCE, 19)} == {UNSURE}
    assert all("no seed learned" in found[place].ours for place in (12, 19))
    # Of the tasks only those count whose training lengths it learned.
    found = claims_1(PAPER | AT_CHANCE, learned={"parity": score(1.0)})[19]
    assert (found.verdict, found.ours) == (DIFFERS, "100.0 and 100.0 on 1 task")
    assert verdicts_1(PERFECT)[19] == DIFFERS


def test_seeds_that_learned_their_lengths_are_told_from_the_others(make_record):
    wanted = Wanted("parity", "Transformer", "transformer", "parity", "quick", seeds=4)
    shares = ((1.0, 0.9), (0.6, 0.5), (0.99, 0.8))
    runs = [
        make_record("transformer", seed=seed, validation=near, accuracy=far)
        for seed, (near, far) in enumerate(shares)
    ]
    got = Got(wanted, runs)
    assert [record.seed for record in got.learned.records] == [0, 2]
    assert Score.of_test(got.learned).mean == pytest.approx(0.85)
    assert (got.missing, Score.of_test(got).missing) == (1, 1)
    assert Score.of_validation(got).missing == 1
    assert got.learned.missing == 1  # the seed that did not learn was run
    assert Got(wanted, runs[1:2]).learned is None


def scores_2():
    scores = {
        (setting, model, p): score(1.0)
        for setting in chi_table2.SETTINGS
        for model in chi_table2.MODELS
        for p in chi_table2.PROBABILITIES
    }
    for setting in chi_table2.SETTINGS:
        for p in chi_table2.PROBABILITIES:
            far = setting.startswith(chi_table2.FURTHER)
            mean = 0.5 if far else 0.77 if p == 0.9 else 0.99
            scores[setting, "Transformer", p] = score(mean, low=mean - 0.01, high=mean + 0.01)
    return scores


def claims_2(scores, learned=None):
    return chi_table2.claims(scores, scores if learned is None else learned)


FAR, NEAR = "extrapolation", "same length"
WIDE = {"low": 0.6, "high": 1.0}


@pytest.mark.parametrize(
    ("changed", "verdict", "text"),
    [
        ({(FAR, "RegularGPT", 0.9): score(0.9)}, DIFFERS, "RegularGPT, extrapolation: "),
        (
            {(NEAR, "Transformer", 0.5): score(0.975), (NEAR, "Transformer", 0.9): score(0.99)},
            *(DIFFERS, "the Transformer, same length: "),
        ),
        ({(NEAR, "Transformer", 0.5): score(0.9)}, DIFFERS, "the Transformer, same length: "),
        ({(FAR, "Transformer", 0.1): score(0.6)}, DIFFERS, "the Transformer, extrapolation: "),
        ({(FAR, "RNN", 0.1): score(0.9, best=1.0, **WIDE)}, UNSURE, "RNN, extrapolation: "),
        (
            {(FAR, "Transformer", 0.1): score(0.7, low=0.5, high=0.95)},
            *(UNSURE, "the Transformer, extrapolation: "),
        ),
    ],
)
def test_each_claim_of_table_2_can_fail_or_stay_open(changed, verdict, text):
    (found,) = [one for one in claims_2(scores_2() | changed) if one.verdict != "holds"]
    assert found.claim.startswith(text)
    assert found.verdict == verdict


def test_what_learned_no_training_lengths_does_not_refute_table_2():
    assert {one.verdict for one in claims_2(scores_2())} == {"holds"}
    assert {one.verdict for one in claims_2({})} == {"not run at this scale"}
    key = (FAR, "RegularGPT", 0.9)
    scores = scores_2() | {key: score(0.6)}
    unlearned = {other: one for other, one in scores.items() if other != key}
    (found,) = [one for one in claims_2(scores, unlearned) if one.verdict == UNSURE]
    assert "no seed learned the training lengths at 0.9" in found.ours
    some = unlearned | {key: score(1.0)}  # the one seed that learned is perfect
    assert [one.verdict for one in claims_2(scores, some)].count(UNSURE) == 1
    learned = {key: one for key, one in scores_2().items() if key[1] != "Transformer"}
    unsure = [one for one in claims_2(scores_2(), learned) if one.verdict == UNSURE]
    assert len(unsure) == 4
    assert all(one.claim.startswith("the Transformer, ") for one in unsure)


