"""The usual claims, and those of tables about recurrences, PaTH and C-RASP."""

from dataclasses import replace

import pytest
from announced import claims_on
from built_records import TO_ITS_END
from formalbench.contracts.paper_tables import PublishedResult
from formalbench.host import PluginHost
from formalbench.host.options import make_config
from formalbench.running.plan import make_plan
from formalbench_papers import Score, is_at_chance, reaches, stays_below
from formalbench_papers.chi import table1
from formalbench_papers.framework import claims
from formalbench_papers.framework.claims import higher
from formalbench_papers.framework.runs import CellPlan, CellRecords
from formalbench_papers.framework.scores import averaged, cell
from formalbench_papers.grazzi import table3
from formalbench_papers.path_attention import flipflop
from formalbench_papers.slice_cde import table2
from scipy.stats import ttest_ind


def score(best, mean=0.5, low=0.4, high=0.6):
    return Score(best, mean, low, high, 0.5, "3 seeds", seeds=3)


@pytest.mark.parametrize(
    ("found", "reached", "under"),
    [
        (score(0.99), True, False),
        (score(0.98), False, True),
        (score(None, None), False, "cannot tell"),  # no run finished
        (None, None, None),
    ],
)
def test_the_best_seed_decides(found, reached, under):
    above, below = (claim("x", "p", found, 0.99) for claim in (reaches, stays_below))
    assert above.holds is reached
    assert below.holds == under
    assert above.ours == below.ours
    assert bool(above.ours) is (found is not None)


def test_what_learned_no_training_lengths_says_nothing_of_longer_strings():
    claim = reaches("x", "p", replace(score(0.7), learned=False), 0.99)
    assert claim.holds == "cannot tell"
    assert claim.ours.endswith("no seed learned the training lengths")
    # That a model does not learn is another claim.
    assert stays_below("x", "p", replace(score(0.7), learned=False), 0.99).holds is True
    # It may all the same do what a paper says.
    assert reaches("x", "p", replace(score(1.0), learned=False), 0.99).holds is True


def test_a_training_that_was_cut_off_shows_neither_that_a_level_is_missed_nor_kept():
    poor = Score(0.52, 0.51, 0.50, 0.52, 0.5, "3 seeds", 0.50, learned=False, seeds=3)
    cut = replace(poor, cut_off=True)
    for answer in (claims.at_least, claims.below, claims.at_most, claims.best_reaches):
        assert answer(poor, 0.8) in (True, False)
        assert answer(cut, 0.8) == "cannot tell"
    assert stays_below("x", "p", poor, 0.8).holds is True
    assert stays_below("x", "p", cut, 0.8).holds == "cannot tell"
    assert claims.at_least(cut, 0.4) is True  # what it reached, it reached
    assert claims.below(cut, 0.4) is False
    # It does not refute that it is ahead of another; that others are ahead of it was measured.
    good = Score(0.99, 0.98, 0.97, 0.99, 0.5, "3 seeds", 0.97, seeds=3)
    assert (claims.rises(good, poor), claims.rises(good, cut)) == (False, "cannot tell")
    assert claims.rises(cut, good) is True


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_fewer_than_three_seeds_decide_only_by_the_interval(seeds):
    decided = seeds == 3
    unsure = Score(0.95, 0.94, 0.2, 0.99, 0.5, "seeds", 0.93, seeds=seeds)
    assert claims.at_least(unsure, 0.9) == (decided or "cannot tell")
    assert claims.below(unsure, 0.96) == (decided or "cannot tell")
    assert claims.at_least(replace(unsure, low=0.91), 0.9) is True
    assert claims.below(replace(unsure, high=0.955), 0.96) is True
    assert claims.best_reaches(unsure, 0.95) is True
    assert claims.best_reaches(unsure, 0.96) == (False if decided else "cannot tell")
    lower = Score(0.85, 0.84, 0.1, 0.9, 0.5, "seeds", 0.83, seeds=3)
    assert claims.rises(lower, unsure) == (decided or "cannot tell")
    assert claims.rises(unsure, lower) == (False if decided else "cannot tell")
    assert claims.rises(replace(lower, high=0.86), replace(unsure, low=0.9)) is True
    assert claims.across([True] * seeds) == (decided or "cannot tell")
    assert higher([0.9] * seeds, [0.1] * 3) == (decided or "cannot tell")
    assert higher([0.9] * 3, [0.1] * seeds) == (decided or "cannot tell")
    at_chance = Score(0.51, 0.5, 0.4, 0.6, 0.5, "seeds", 0.49, seeds=seeds)
    assert is_at_chance("x", "p", at_chance).holds == (decided or "cannot tell")


@pytest.mark.parametrize(
    ("answers", "of", "expected"),
    [
        ([True, True], 0, True),
        ([True, None], 0, "cannot tell"),
        ([True, True], 3, "cannot tell"),
        ([False, None], 0, False),
        ([True, False], 3, False),
        ([None, None], 0, None),
        ([], 2, None),
        ([], 0, None),
        ([True, "cannot tell"], 0, "cannot tell"),
    ],
)
def test_a_claim_about_every_setting_needs_every_setting(answers, of, expected):
    assert claims.every(answers, of) == expected


def test_a_seed_that_was_cut_off_may_have_become_better(make_record):
    budget = TO_ITS_END | {"ended": "budget"}
    wanted = CellPlan("parity", "mLSTM", "mlstm", "parity", "quick", seeds=3, reduced=True)
    runs = [make_record("mlstm", seed=0, accuracy=0.6, training=budget)]  # it learned
    runs += [
        make_record("mlstm", seed=seed, validation=0.9, accuracy=0.6, training=budget)
        for seed in (1, 2)
    ]
    some, none = (
        Score.of_test(CellRecords(replace(wanted, reduced=how), runs)) for how in (True, False)
    )
    assert (some.learned, some.cut_off, none.cut_off) == (True, True, False)
    assert (claims.at_least(some, 0.9), claims.at_least(none, 0.9)) == ("cannot tell", False)
    undecided = "cannot tell"
    for paper, expected, after in (
        *((90.0, undecided, False), (60.0, undecided, True)),
        (30.0, False, False),  # a seed that is better is better for sure
    ):
        published = PublishedResult(mean=paper)
        told = cell("parity", "mLSTM", published, some)
        assert told.holds == expected
        assert told.ours.endswith("3 seeds; training lengths not learned by all)")
        assert cell("parity", "mLSTM", published, none).holds == after
    far = PublishedResult(max=95.0, mean=60.0)
    assert [cell("", "", far, one).holds for one in (some, none)] == ["cannot tell", False]
    near = PublishedResult(max=45.0, mean=60.0)
    assert [cell("", "", near, one).holds for one in (some, none)] == [False, False]


def test_a_cell_of_which_the_paper_says_that_it_is_not_learned_is_judged(make_record):
    options = {"validation": 0.5, "accuracy": 0.5}
    budget = TO_ITS_END | {"ended": "budget"}

    def verdict(title, training, reduced):
        wanted = CellPlan("parity", title, "mamba", "parity", "quick", seeds=3, reduced=reduced)
        runs = [make_record("mamba", seed=i, training=training, **options) for i in range(3)]
        found = table3.TABLE.findings({("parity", title): CellRecords(wanted, runs)}, ())
        (told,) = [cell for cell in found.cells if cell.ours]
        return told.verdict

    assert verdict(table3.MAMBA, budget, reduced=False) == "holds"
    assert verdict(table3.MAMBA, budget, reduced=True) == "cannot tell"  # it was cut off
    assert verdict(table3.MAMBA, TO_ITS_END, reduced=True) == "holds"
    assert verdict("Transformer", TO_ITS_END, reduced=False) == "cannot tell"


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (score(0.6, 0.51), True),
        (score(0.9, 0.7, 0.4, 0.9), "cannot tell"),
        (score(0.9, 0.7, 0.6, 0.8), False),
        (score(None, None, None, None), False),
        (replace(score(None, None, None, None), missing=1), "cannot tell"),
        (None, None),
    ],
)
def test_chance_is_within_the_interval_and_near_the_mean(found, holds):
    assert is_at_chance("x", "p", found).holds == holds
    unlearned = is_at_chance("x", "p", found, learned=False)
    assert unlearned.holds == (None if found is None else "cannot tell")


@pytest.mark.parametrize(
    ("ones", "others", "by", "expected"),
    [
        ((0.9, 0.85, 0.8), (0.7, 0.65, 0.6), 0.0, True),  # seed against seed
        ((0.9, 0.85, 0.8), (0.7, 0.65, 0.6), 0.15, "cannot tell"),
        ((0.7, 0.65, 0.6), (0.9, 0.85, 0.8), 0.0, False),
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 0.0, False),
        ((0.9, 0.75, 0.6), (0.7, 0.65, 0.68), 0.0, "cannot tell"),
        ((0.9, 0.8), (0.3, 0.2, 0.1), 0.0, "cannot tell"),  # two seeds on a side
        ((0.90, 0.91, 0.92, 0.89, 0.6), (0.60, 0.61, 0.62, 0.5, 0.59), 0.0, True),  # Welch
        ((), (0.8,), 0.0, None),
    ],
)
def test_seeds_are_higher_one_by_one_or_by_their_means(ones, others, by, expected):
    assert higher(ones, others, by) == expected
    assert higher(ones, others, by, missing=1) == (None if expected is None else "cannot tell")


NOTHING = score(None, None, None, None)
GOOD, POOR = score(0.99, 0.98, 0.97, 0.99), score(0.52, 0.51, 0.50, 0.52)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda good, poor: claims.at_least(good, 0.95), True),
        (lambda good, poor: claims.at_least(poor, 0.95), False),
        (lambda good, poor: claims.below(poor, 0.95), True),
        (lambda good, poor: claims.at_most(good, 0.95), False),
        (lambda good, poor: claims.rises(poor, good), True),
        (lambda good, poor: claims.rises(good, poor), False),
        (lambda good, poor: claims.rises(poor, good, 0.4), True),
        (lambda good, poor: claims.rises(poor, good, 0.6), False),
        (lambda good, poor: claims.rises(poor, good, 0.47), "cannot tell"),
    ],
)
def test_a_seed_that_was_not_run_may_be_on_the_other_side(answer, expected):
    assert answer(GOOD, POOR) == expected
    some = (replace(one, missing=2) for one in (GOOD, POOR))
    assert answer(*some) == "cannot tell"


def test_a_model_without_a_finished_run_is_no_evidence():
    assert claims.below(NOTHING, 0.95) == "cannot tell"
    assert claims.at_most(NOTHING, 0.95) == "cannot tell"
    assert claims.rises(NOTHING, GOOD) == "cannot tell"
    assert claims.rises(GOOD, NOTHING) == "cannot tell"
    assert claims.at_least(NOTHING, 0.95) is False


def test_scores_of_several_tasks_are_averaged():
    found = averaged([replace(GOOD, worst=0.96, missing=1), replace(POOR, worst=0.5)])
    assert (found.best, found.mean, found.low, found.high, found.worst) == pytest.approx(
        (0.755, 0.745, 0.735, 0.755, 0.73)
    )
    assert (found.outcome, found.missing) == ("2 tasks", 1)
    assert (found.seeds, found.cut_off) == (3, False)
    found = averaged([replace(GOOD, seeds=2), replace(POOR, cut_off=True)])
    assert (found.seeds, found.cut_off) == (2, True)
    assert averaged([GOOD, NOTHING]).mean is None


def test_the_interval_of_a_difference_is_welchs():
    ones, others = [0.90, 0.91, 0.95, 0.89, 0.6], [0.60, 0.61, 0.62, 0.5]
    known = ttest_ind(ones, others, equal_var=False).confidence_interval(0.95)
    assert claims._welch(ones, others) == pytest.approx((known.low, known.high))


def mean_score(mean, best=None, worst=None):
    best, worst = mean if best is None else best, mean if worst is None else worst
    return Score(best, mean, worst, best, 0.5, "3 seeds", worst, seeds=3)


def verdicts(claims):
    return {claim.claim: claim.holds for claim in claims}


@pytest.mark.parametrize(
    ("module", "title", "options"),
    [
        (table3, "Mamba [-1, 1]", {"width": 128, "eigenvalues": "-1..1", "convolution": 1}),
        (table3, "sLSTM", {"width": 128, "heads": 4, "convolution": 0}),
        (table3, "DeltaNet [0, 1]", {"width": 128, "heads": 4}),
        (table2, "Mamba", {"width": 128, "states": 128}),
        (table2, "mLSTM", {"width": 128, "heads": 4}),
        (table2, "DeltaNet [-1, 1]", {"width": 128, "heads": 4, "eigenvalues": "-1..1"}),
        (table2, "Gated DeltaNet", {"width": 128, "heads": 4}),
        (table2, table2.BLOCKS, {"width": 128, "states": 128}),
    ],
)
def test_at_the_scale_paper_sizes_are_those_of_the_papers_code(module, title, options):
    (model,) = (one for one in module.MODELS if one.title == title)
    assert model.name == {"Mamba": "mamba-2"}.get(title, model.name)
    host = PluginHost.load()
    wanted = CellPlan("row", title, model.name, "parity", "quick", model.options("paper"), seeds=1)
    (run,) = make_plan(host, wanted.request()).runs
    config = make_config(host.models.get(model.name)[0].spec, run.model.options)
    assert config.model_dump().items() >= options.items()


@pytest.mark.parametrize(
    ("mean", "best", "nearest"),
    [(0.98, 1.0, "Beck"), (0.6, 0.85, "Grazzi"), (0.25, 0.3, "Walker")],
)
def test_papers_that_contradict_each_other_are_told_apart(mean, best, nearest):
    said = table3.slstm_remark(mean_score(mean, best=best))
    assert f"nearest to {nearest}" in said
    assert "not run" in table3.slstm_remark(None)


def test_claims_of_path_are_about_sparse_strings():
    kinds = tuple(flipflop.KINDS)
    scores = {("PaTH", kind): mean_score(1.0) for kind in kinds}
    for model in ("RoPE", "stick-breaking", "FoX"):
        scores[model, kinds[0]] = mean_score(0.92)
        scores[model, kinds[1]] = mean_score(0.6)
        scores[model, kinds[2]] = mean_score(1.0)
    assert set(verdicts(flipflop.claims(scores)).values()) == {True}
    scores["FoX", kinds[1]] = mean_score(0.99)
    assert list(verdicts(flipflop.claims(scores)).values()).count(False) == 2


def letters(name, found):
    """Return the first letter of the verdict of each of a page's claims."""
    return "".join(claim.verdict[0] for claim in claims_on(name, found))


UNLEARNED = (0.6, 0.3)
"""Also on the training lengths it is bad: they were not learned."""

RASP = ("majority", "ab-or-bbaa", "subsequence-ab")
ARITHMETIC = "modular-arithmetic, "
TWO, THREE = "RegularGPT (C=2)", "RegularGPT (C=3)"


@pytest.mark.parametrize(
    ("name", "holding", "differing"),
    [
        (
            "chi-table1",
            {
                **{ARITHMETIC + TWO: 0.955, ARITHMETIC + THREE: 0.7},
                **{TWO: 0.992, "RNN": 0.992, "Transformer": 0.5},
            },
            {ARITHMETIC + TWO: 0.94, THREE: 0.8, TWO: 0.985, "RNN": 0.93, "Transformer": 1.0},
        ),
        ("chi-table1-code", {ARITHMETIC: 0.955, "": 0.992}, {ARITHMETIC: 0.94, "": 0.985}),
        ("chi-table1-long", {TWO: 0.955, "": 0.5}, {TWO: 0.94, "": 1.0}),
        (
            "grazzi-table3",
            {f"{ARITHMETIC}Mamba [-1, 1]": 0.7, "[-1, 1]": 0.992, "": 0.54},
            {f"{ARITHMETIC}DeltaNet [-1, 1]": 0.75, "[-1, 1]": 0.985, "": 0.56},
        ),
        (
            "huang-crasp",
            dict.fromkeys(RASP, 0.96) | {"": 0.94},
            dict.fromkeys(RASP, 0.94) | {"": 0.96},
        ),
        (
            "slice-table2",
            {"sLSTM": 0.49, "LSTM": 0.992, "block": 0.9, "[-1, 1]": 0.9, "": 0.69},
            {"sLSTM": 0.51, "LSTM": 0.985, "block": 0.88, "[-1, 1]": 0.88, "": 0.69},
        ),
        (
            "steffen-dyck",
            {"soft, n = 100": 0.59, "soft": 0.96, "hard": 0.59},
            {"soft, n = 100": 0.95, "soft": 0.94, "hard": 0.96},
        ),
    ],
)
def test_every_claim_holds_on_one_side_of_its_limit_and_differs_on_the_other(
    name, holding, differing
):
    assert set(letters(name, holding)) == {"h"}
    assert set(letters(name, differing)) == {"d"}
    assert set(letters(name, {})) == {"n"}


@pytest.mark.parametrize(
    ("name", "found", "verdicts"),
    [
        # What learned no training lengths refutes nothing.
        ("chi-table1", {"RNN": (0.6, 0.2), "": UNLEARNED}, "c" * 21),
        ("grazzi-table3", {"": UNLEARNED}, "hhcccc"),  # two are about not learning
        ("huang-crasp", {"": (0.98, 0.96)}, "c" * 6),
        ("slice-table2", {"": UNLEARNED}, "c" * 5),
        # Seeds that disagree.
        ("chi-table1", {"RNN": [1.0, 0.9, 0.8], "": [0.95, 0.6, 0.5]}, "d" * 12 + "ccccchccc"),
        ("grazzi-table3", {ARITHMETIC: [0.97, 0.5, 0.6], "": [0.9, 0.4, 0.5]}, "ddddcc"),
        ("huang-crasp", {"": [1.0, 0.9, 0.94]}, "c" * 6),
        ("slice-table2", {"": [1.0, 0.6, 0.4]}, "c" * 5),
        ("steffen-dyck", {"soft": [1.0, 1.0, 0.5], "hard": [0.7, 0.5, 0.5]}, "c" * 10),
        # Claims with two parts, of which one is so.
        (
            "grazzi-table3",
            {f"{ARITHMETIC}DeltaNet [-1, 1]": 0.85, "[-1, 1]": 0.6, "": 0.54},
            "hhddhd",
        ),
        (
            "steffen-dyck",
            {
                **{"soft, n = 50": 0.5, "hard, n = 50": 0.96},
                **{"soft, n = 100": 0.59, "soft": 0.96, "hard": 0.59},
            },
            "hhhhhhhddd",
        ),
        # Cells that were not run.
        ("chi-table1", {"parity": 1.0, "d2": 1.0}, "hnnnhnnnnnnndnnnnccdn"),
        ("grazzi-table3", {"parity": 0.5, f"{ARITHMETIC}DeltaNet": 0.97}, "hhdddn"),
        ("slice-table2", {"parity": 1.0}, "cnndn"),
    ],
)
def test_claims_that_hold_in_part_or_stay_open(name, found, verdicts):
    assert letters(name, found) == verdicts


def test_regulargpt_and_the_transformer_are_compared_where_both_learned():
    unlearned = {"Transformer": (0.6, 1.0), "": 1.0}
    found = claims_on("chi-table1", unlearned)[19]
    assert found.ours == "on 11 tasks no seed of one of them learned the training lengths"
    # The mask decides on even pairs, so they do not count.
    learned = {"parity, Transformer": 1.0, "even-pairs, Transformer": 1.0}
    found = claims_on("chi-table1", learned | unlearned)[19]
    assert found.ours.endswith("on 1 task (parity)")
    assert "of 2 tasks" in claims_on("chi-table1", {"parity": 1.0, "d2": 1.0})[17].ours


@pytest.mark.parametrize(
    ("one", "other", "similar"),
    [
        (score(0.99), score(0.95), True),
        (replace(score(0.99), missing=1), score(0.99), "cannot tell"),
        (replace(score(0.99), seeds=2), score(0.99), "cannot tell"),
        (score(0.99), score(0.93), "cannot tell"),  # other seeds may be similar
        (GOOD, POOR, False),
        (GOOD, replace(POOR, learned=False), "cannot tell"),
    ],
)
def test_models_are_similar_if_their_best_seeds_are(one, other, similar):
    assert table1._are_similar(one, other) == similar
    assert table1._are_similar(other, one) == similar
