"""Tables 1 and 2 of the RegularGPT paper: the rule for a verdict, the claims."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formalbench.contracts.published import PublishedResult
from formalbench.host import PluginHost
from formalbench.statistics.intervals import Measured
from formalbench_papers.chi import table1 as chi_table1
from formalbench_papers.chi import table2 as chi_table2
from formalbench_papers.chi.models import on_parameters
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


def test_a_cell_reads():
    shown = cell("parity", "RNN", PARITY, score(0.97, best=1.0, low=0.9, high=1.0))
    assert (shown.paper, shown.ours) == ("100.0 / 98.9", "100.0 / 97.0 (90.0–100.0; 3 seeds)")
    average = cell("parity", "RNN", PublishedResult(mean=98.9), score(0.97, low=0.9, high=1.0))
    assert (average.paper, average.ours) == ("98.9", "97.0 (90.0–100.0; 3 seeds)")
    nothing = cell("parity", "RNN", PARITY, None)
    assert (nothing.ours, nothing.verdict) == ("", "not run at this scale")


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.49, 0.51, True), (0.51, 0.53, False), (0.4, 0.49, False)]
)
def test_chance_is_within_the_interval_of_the_scaled_accuracy(low, high, expected):
    assert score(0.5, low=low, high=high).at_chance is expected
    assert score(0.5, low=low, high=high, chance=None).at_chance is None
    assert score(0.5, low=low, high=high, missing=1).at_chance == "cannot tell"


def test_scores_come_from_records(make_record):
    wanted = Wanted("parity", "RNN", "rnn", "parity", "quick")
    runs = [
        make_record("rnn", rate=rate, seed=seed, accuracy=accuracy, validation=validation)
        for rate, accuracy, validation in ((0.001, 0.9, 0.99), (0.0003, 1.0, 0.5))
        for seed in range(3)
    ]
    got = Got(wanted, runs)
    test, validation = Score.of_test(got), Score.of_validation(got)
    assert test.mean == pytest.approx(0.9)  # the rate that validation chose, not the better one
    assert test.low < 0.9 < test.high
    assert test.outcome == "3 seeds"
    assert (validation.mean, validation.best) == (pytest.approx(0.99, abs=1e-3),) * 2


def test_the_interval_is_that_of_the_mean():
    runs = [Measured(accuracy, 1000) for accuracy in (0.5, 1.0) * 3]
    found = framework_scores.score_of(runs, "6", 0.5, ("a",))
    assert (found.mean, found.outcome) == (0.75, "6 seeds")
    assert 0.5 < found.low < 0.6
    assert 0.9 < found.high < 1.0
    assert found.worst == 0.5


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
LEARNS, CHANCE = range(12), range(12, 17)
"""The places of two groups of claims."""


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


@pytest.mark.parametrize(
    ("key", "changed", "failing"),
    [
        (("d2", "RegularGPT (C=2)"), score(0.98), [4]),
        (("modular-arithmetic", "RegularGPT (C=2)"), score(0.955, best=0.955), []),
        (("modular-arithmetic", "RegularGPT (C=2)"), score(0.94), [7, 18]),
        (("parity", "Transformer"), score(0.6, low=0.55, high=0.65), [12]),
        (("cycle-navigation", "Transformer"), score(0.3, low=0.25, high=0.35, chance=0.2), [13]),
        (("d12", "RNN"), score(0.98), [17]),
        (("even-pairs", "RegularGPT (C=2)"), score(0.94), [3, 18]),
        (("modular-arithmetic", "RegularGPT (C=3)"), score(0.9), [20]),
    ],
)
def test_each_claim_of_table_1_can_fail(key, changed, failing):
    found = verdicts_1(PAPER | AT_CHANCE | {key: changed})
    assert [index for index, one in enumerate(found) if one == "differs"] == failing


def test_a_transformer_that_did_not_learn_its_training_lengths_says_nothing_of_longer_ones():
    found = claims_1(PAPER | AT_CHANCE, learned={})
    assert {found[i].verdict for i in CHANCE} == {"cannot tell"}
    assert "no seed learned the training lengths" in found[12].ours


@pytest.mark.parametrize(
    ("key", "changed", "places"),
    [
        (("even-pairs", "RegularGPT (C=2)"), score(0.9), [3, 18]),
        (("d2", "RNN"), score(0.5), [17, 18]),
        (("modular-arithmetic", "RegularGPT (C=2)"), score(0.2), [7, 18, 20]),
    ],
)
def test_what_learned_no_training_lengths_does_not_refute_table_1(key, changed, places):
    found = verdicts_1(PAPER | AT_CHANCE | {key: replace(changed, learned=False)})
    assert [place for place, one in enumerate(found) if one != "holds"] == places
    assert {found[place] for place in places} == {"cannot tell"}
    learned = verdicts_1(PAPER | AT_CHANCE | {key: changed})
    assert "differs" in {learned[place] for place in places}


def test_a_seed_that_is_missing_may_be_the_best():
    found = verdicts_1({("d2", "RegularGPT (C=2)"): score(0.9, missing=2)})
    assert found[4] == "cannot tell"


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


def test_a_transformer_as_good_as_regulargpt_is_said():
    assert verdicts_1(PERFECT)[19] == "differs"


def test_a_transformer_that_learned_no_training_lengths_is_no_match():
    found = claims_1(PAPER | AT_CHANCE, learned={})[19]
    assert (found.verdict, "no seed learned" in found.ours) == ("cannot tell", True)
    # Of the tasks only those count whose training lengths it learned.
    some = {"parity": score(1.0)}
    found = claims_1(PAPER | AT_CHANCE, learned=some)[19]
    assert (found.verdict, found.ours) == ("differs", "100.0 and 100.0 on 1 task")


@pytest.mark.parametrize(
    ("key", "changed", "place"),
    [
        (("d2", "RNN"), score(0.9, missing=2), 17),
        (("d2", "RNN"), score(0.7, best=0.94, low=0.5, high=1.0), 18),
        (("d2", "RNN"), score(1.0, missing=1), 18),
        (("d2", "RegularGPT (C=2)"), score(1.0, missing=1), 19),
        (("modular-arithmetic", "RegularGPT (C=3)"), score(0.5, low=0.2, high=0.9), 20),
    ],
)
def test_seeds_of_table_1_that_disagree_or_are_missing_cannot_tell(key, changed, place):
    assert verdicts_1(PAPER | AT_CHANCE | {key: changed})[place] == "cannot tell"


def test_half_a_table_is_claimed_of_what_was_run():
    some = {key: value for key, value in PAPER.items() if key[0] in ("parity", "d2")}
    found = claims_1(some | {("parity", "Transformer"): AT_CHANCE["parity", "Transformer"]})
    assert "of 2 tasks" in found[17].ours
    assert (found[0].verdict, found[1].verdict) == ("holds", "not run at this scale")
    assert found[20].verdict == "not run at this scale"


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


def test_what_learned_no_training_lengths_does_not_refute_table_2():
    key = ("extrapolation", "RegularGPT", 0.9)
    scores = scores_2() | {key: score(0.6)}
    every = {one.claim: one for one in claims_2(scores)}
    (text,) = [text for text, one in every.items() if one.verdict == "differs"]
    unlearned = {other: one for other, one in scores.items() if other != key}
    found = {one.claim: one for one in claims_2(scores, unlearned)}[text]
    assert found.verdict == "cannot tell"
    assert "no seed learned the training lengths at 0.9" in found.ours
    some = unlearned | {key: score(1.0)}  # the one seed that learned is perfect
    assert {one.claim: one.verdict for one in claims_2(scores, some)}[text] == "cannot tell"


def test_the_claims_of_table_2():
    scores = scores_2()
    assert {one.verdict for one in claims_2(scores)} == {"holds"}
    assert {one.verdict for one in claims_2({})} == {"not run at this scale"}
    worse = {("extrapolation", "RegularGPT", 0.9): score(0.9)}
    better = {
        ("same length", "Transformer", 0.5): score(0.975),
        ("same length", "Transformer", 0.9): score(0.99),
    }
    poor = {("same length", "Transformer", 0.5): score(0.9)}
    further = {("extrapolation", "Transformer", 0.1): score(0.6)}
    for changed, text in (
        (worse, "RegularGPT, extrapolation: "),
        (better, "the Transformer, same length: "),
        (poor, "the Transformer, same length: "),
        (further, "the Transformer, extrapolation: "),
    ):
        differing = [c for c in claims_2(scores | changed) if c.holds is False]
        assert [claim.claim.startswith(text) for claim in differing] == [True]


def test_a_transformer_that_learned_nothing_leaves_table_2_open():
    scores = scores_2()
    learned = {key: one for key, one in scores.items() if key[1] != "Transformer"}
    found = {one.claim: one for one in claims_2(scores, learned)}
    unsure = [one for one in found.values() if one.verdict == "cannot tell"]
    assert len(unsure) == 4
    assert all(one.claim.startswith("the Transformer, ") for one in unsure)
    assert all("no seed learned the training lengths at 0.1, " in one.ours for one in unsure)


def test_wide_intervals_cannot_tell():
    wide = score(0.7, low=0.5, high=0.95)
    assert wide.at_chance == "cannot tell"
    scores = scores_2() | {
        ("extrapolation", "Transformer", 0.1): wide,
        ("extrapolation", "RNN", 0.1): score(0.9, best=1.0, low=0.6, high=1.0),
    }
    unsure = [one.claim for one in claims_2(scores) if one.verdict == "cannot tell"]
    assert len(unsure) == 2
    assert unsure[0].startswith("RNN, extrapolation: ")
    assert unsure[1].startswith("the Transformer, extrapolation: ")


def test_table_2_counts_apart_the_cells_that_can_tell():
    scores = {key: one for key, one in scores_2().items() if key[1] != "Transformer"}
    differing = {
        (setting, "Transformer", p): score(0.6, low=0.55, high=0.7)
        for setting in chi_table2.SETTINGS
        for p in chi_table2.PROBABILITIES
    }
    similar = {("same length", "Transformer", 0.9): score(0.77)}
    every = scores | differing | similar
    found = chi_table2.findings({}, every, every)
    assert len(found.cells) == 60
    assert "Of the 10 cells with another number" in found.remarks[0]
    assert found.remarks[0].endswith("1 holds, 9 differ.")


def test_table_2_is_published():
    table = PluginHost.load().table("chi-2023-table-2")
    rows = {
        (row.model, setting): [row.results[f"{setting}, p={p}"].mean for p in ps]
        for row in table.rows
        for setting in ("same length", "extrapolation")
        if (ps := ("0.1", "0.3", "0.5", "0.7", "0.9"))
    }
    assert rows.pop(("Transformer", "same length")) == [98.4, 99.8, 99.6, 97.8, 77.2]
    assert rows.pop(("Transformer", "extrapolation")) == [50.1, 49.7, 50.3, 49.9, 50.0]
    assert list(rows.values()) == [[100.0] * 5] * 4


def test_parameters_are_named(make_record):
    records = [make_record("rnn", parameters=33_538), make_record("rnn", parameters=34_000)]
    assert "Here: RNN 33.5 k … 34.0 k." in on_parameters(records, {"rnn": "RNN"})
