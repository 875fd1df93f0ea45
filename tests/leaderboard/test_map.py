"""The map: what stands in its cells, and what its sentences say."""

import shlex
from dataclasses import replace

import pytest
from built_maps import KNOWN, mapped, verified
from built_records import PROTOCOL, TO_ITS_END, build_runs
from formalbench.statistics.build import View, build_page
from formalbench.statistics.result import Prediction
from formalbench_leaderboard.charts.language_map import (
    NOTHING,
    cell_text,
    complete_part,
    language_map,
    sentences,
)


def cell_of(shown, model, task):
    found = [c for _, row, c in shown.cells if (row.model, c.task) == (model, task)]
    assert len(found) == 1
    return found[0]


def test_columns_go_by_class_and_families_by_their_best():
    tasks = ("anbn", "group-a5", "tomita-3", "parity", "even-pairs", "first", "mystery")
    levels = {"lstm": 0.5, "transformer": 0.99, "rnn": 0.6}
    models = {model: {"accuracy": level} for model, level in levels.items()}
    shown = mapped(build_runs(models, tasks), *tasks)
    assert [(column.task, column.group) for column in shown.columns] == [
        ("first", "R-trivial"),
        ("even-pairs", "star-free"),
        ("parity", "mod 2"),
        ("tomita-3", "solvable"),  # its modulus is unknown here
        ("group-a5", "non-solvable"),
        ("anbn", "counter"),
        ("mystery", "unclassified"),
    ]
    assert [(f.name, [row.model for row in f.rows]) for f in shown.families] == [
        ("transformer", ["transformer"]),
        ("recurrent", ["rnn", "lstm"]),
    ]
    column = shown.columns[0]
    assert (column.trained_to, column.first, column.last) == (40, 41, 71)


def test_a_cell_says_learned_only_of_what_was(make_record):
    accuracies = [[100, 90, 75, 50], [50, 50, 50, 50]]
    records = [
        make_record("rnn", accuracy=accuracies[seed], seed=seed, validation=valid)
        for seed, valid in enumerate((1.0, 0.6))
    ]
    records += [make_record("lstm", seed=seed, validation=0.7, accuracy=1.0) for seed in range(2)]
    records += [make_record("transformer", status="diverged")]
    records += [make_record("transformer", "first:classify", accuracy=1.0)]
    shown = mapped(records, "parity", "first")
    learned = cell_of(shown, "rnn", "parity")
    assert (learned.state, learned.learned, learned.seeds) == ("learned", 1, 2)
    # The seed that did not learn says nothing of longer strings.
    assert [(s.first, s.last) for s in learned.strip] == [(n, n) for n in (41, 51, 61, 71)]
    assert [step.share for step in learned.strip] == pytest.approx([1.0, 0.8, 0.5, 0.0])
    assert learned.solved_to is None
    missed = cell_of(shown, "lstm", "parity")
    assert (missed.state, missed.strip) == ("unlearned", ())
    assert missed.validation == pytest.approx(0.7, abs=1e-3)
    assert "validation accuracy 70.0 %" in cell_text(missed)
    assert cell_of(shown, "transformer", "parity").state == "failed"
    assert cell_of(shown, "transformer", "first").solved_to == 71


def test_an_empty_cell_has_the_command_that_fills_it(make_record):
    records = [
        make_record("rnn", seed=2, options={"chunk": 3}),
        make_record("lstm", "first:classify"),
    ]
    shown = mapped(records, "parity", "first")
    empty = cell_of(shown, "rnn[chunk=3]", "first")
    [row] = [row for family in shown.families for row in family.rows if "chunk" in row.model]
    assert row.missing == empty.command
    words = shlex.split(empty.command)
    assert words[:6] == ["formalbench", "run", "--model", "rnn", "--task", "first"]
    assert words[words.index("--set") + 1] == "model.chunk=3"
    assert words[words.index("--protocol") + 1] == "quick"
    assert "--seeds" not in words  # all that the protocol asks for
    assert cell_text(empty) == f"not run: {empty.command}"


def test_the_protocol_that_taught_most_comes_first(make_record, protocol):
    untaught = [make_record("rnn", seed=seed, validation=0.6) for seed in range(3)]
    taught = [make_record("rnn", protocol={**protocol, "name": "thorough"})]
    page = build_page([*untaught, *taught], View("test", ("parity",)))
    assert [(board.protocol, board.learned) for board in page.boards] == [
        ("thorough", 1),
        ("quick", 0),
    ]
    shown = language_map(page, KNOWN)
    assert shown.protocol == "thorough (version 1)"


def test_lengths_at_which_chance_is_right_are_left_out(make_record):
    record = make_record("lstm", accuracy=[100, 75, 100, 100], chance=0.75)
    view = View("test", ("parity",), chances=lambda record: (1.0, 0.5, 1.0, 0.5))
    shown = language_map(build_page([record], view), KNOWN)
    strip = cell_of(shown, "lstm", "parity").strip
    assert [(step.first, step.share) for step in strip] == [(51, 0.5), (71, 1.0)]
    solved = build_page([make_record("lstm", accuracy=[100, 100, 0, 100], chance=0.75)], view)
    assert cell_of(language_map(solved, KNOWN), "lstm", "parity").solved_to == 51


def test_a_family_is_headed_by_theory_and_by_its_best_construction(make_record):
    records = [make_record("rnn"), make_record("transformer"), make_record("lstm")]
    exact = [
        verified("parity", to=1000),
        verified("parity", to=10_000),
        verified("parity", to=90_000, errors=1),  # it is wrong somewhere
        verified("parity", model="other", to=50),
        verified("somewhere-else", model="third"),
    ]
    shown = mapped(records, "parity", exact=exact)
    by_name = {family.name: family for family in shown.families}
    assert set(by_name) == {"recurrent", "transformer", "other"}
    assert by_name["recurrent"].built == (10_000,)
    assert by_name["recurrent"].theory == ("some",)  # nothing is said of the lstm
    assert by_name["transformer"].theory == (None,)
    assert by_name["other"].rows == ()


def test_sentences_of_nothing():
    assert sentences(mapped([], "parity")) == (NOTHING,)
    [said] = sentences(mapped([], "parity", exact=[verified("parity")]))
    assert "1 construction was verified" in said


def test_sentences_count_the_cells(make_record):
    records = [
        make_record("rnn", accuracy=1.0),
        make_record("rnn", "first:classify", accuracy=0.7),
        make_record("lstm", accuracy=0.7, validation=0.7),
        make_record("lstm", "tomita-3:classify", status="diverged"),
    ]
    shown = mapped(records, "parity", "first", "tomita-3")
    can, far, unknown = sentences(shown)
    assert can.startswith(
        "Theory for 4 measured cells: a model of its family can, at a size that theory does not "
        "state, in 2 (1 solved). A cell is solved if two thirds of its seeds learned and are "
    )
    assert "In 1 of 2 learned cells every seed learned, and their mean" in far
    assert "length (up to 1.77 times the longest training length)" in far  # 71 after 40
    assert "1 cell was not learned" in unknown
    assert "1 did not finish and 2 were not run" in unknown


def test_sentences_tell_this_network_from_a_larger_one(make_record):
    instances = {"parity:classify": "this instance", "first:classify": "a larger one of its family"}

    def predicted(model, task):
        if task == "tomita-3:classify":
            return Prediction("cannot", "a-theorem", "theorem", "this instance")
        return Prediction("can", "a-theorem", "theorem", instances[task])

    records = [make_record("rnn", accuracy=1.0), make_record("rnn", "first:classify", accuracy=0.7)]
    records += [make_record("rnn", "tomita-3:classify", accuracy=0.7)]
    known = replace(KNOWN, predicted=predicted)
    can = sentences(mapped(records, "parity", "first", "tomita-3", known=known))[0]
    assert (
        "the model can express the language in 1 (1 solved), a larger model of its family can "
        "in 1 (0 solved) and no size can in 1 (0 solved)." in can
    )


def test_sentences_tell_our_corollaries_and_count_two_thirds_of_the_seeds_as_solved(make_record):
    ours = Prediction("can", "a-theorem", "corollary")
    known = replace(KNOWN, predicted=lambda model, task: ours)
    for solved, told_so in ((1, 0), (2, 1)):
        right = [1.0] * solved + [0.7] * (3 - solved)
        records = [make_record("rnn", accuracy=one, seed=seed) for seed, one in enumerate(right)]
        said = sentences(mapped(records, "parity", known=known))[0]
        assert said.startswith(
            "Theory for 1 measured cell: a model of its family can, by our own corollary of a "
            f"theorem, in 1 ({told_so} solved)."
        )


def test_sentences_say_what_was_learned_and_not_by_every_seed_nor_tested(make_record):
    failed = {"status": "diverged", "training": TO_ITS_END}
    records = [make_record("rnn", "first:classify", seed=seed, **failed) for seed in range(2)]
    records += [make_record("lstm", "first:classify")]
    records += [make_record("rnn", validation=share, seed=n) for n, share in enumerate((1.0, 0.5))]
    records += [make_record("lstm", accuracy=right, seed=n) for n, right in enumerate((1.0, 0.98))]
    shown = mapped(records, "parity", "first")
    can, far, unknown = sentences(shown)
    assert "a model of its family can, at a size that theory does not state, in 2 (0 solved)" in can
    assert "In 2 of 3 learned cells every seed learned, and their mean accuracy is 99 %" in far
    assert unknown == (
        "Every cell that finished was learned, 1 of them not by every seed; "
        "1 did not finish (1 of them learned)."
    )
    (cell,) = [cell for _, row, cell in shown.cells if (row.model, cell.task) == ("rnn", "first")]
    assert cell_text(cell) == "learned by 2 of 2 seeds; no test finished"


def test_what_finished_without_having_learned_is_not_how_far_others_reach(make_record):
    failed = {"status": "diverged", "training": TO_ITS_END}
    records = [make_record(seed=seed, **failed) for seed in range(2)]
    records += [make_record(seed=2, validation=0.6, accuracy=0.9)]
    ((_, _, cell),) = mapped(records, "parity").cells
    assert (cell.state, cell.strip, cell.learned) == ("failed", (), 2)
    assert cell_text(cell) == "learned by 2 of 3 seeds; no test finished"


def test_sentences_where_all_or_none_was_learned(make_record):
    silent = replace(KNOWN, predicted=lambda model, task: None, trained_to=lambda task: None)
    can, far, unknown = sentences(mapped([make_record("lstm")], "parity", known=silent))
    assert "Theory decides none" in can
    assert "times the longest" not in far
    assert unknown == "Every cell that finished was learned."
    cannot = replace(KNOWN, predicted=lambda model, task: Prediction("cannot", "x", "theorem"))
    shown = mapped([make_record(validation=0.5, accuracy=0.5)], "parity", known=cannot)
    can, far, _ = sentences(shown)
    assert "Theory for 1 measured cell: no size can in 1 (0 solved)" in can
    assert far.startswith("No cell was learned")


def test_what_experiments_say_is_not_told_as_theory(make_record):
    seen = replace(KNOWN, predicted=lambda m, t: Prediction("cannot", "x", "experiment"))
    shown = mapped([make_record("rnn")], "parity", known=seen)
    assert shown.families[0].theory == ("cannot (experiments)",)
    assert "Theory decides none" in sentences(shown)[0]


def test_the_complete_part_is_the_largest_without_an_empty_cell(make_record):
    both = {"rnn": {}, "lstm": {}, "gru": {}}
    records = [*build_runs(both, ("parity", "first")), make_record("transformer")]
    records += [make_record("rnn", "anbn:classify"), make_record("gru", "group-a5:classify")]
    tasks = ("anbn", "parity", "first", "group-a5")
    page = build_page(records, View("test", tasks))
    shown = language_map(complete_part(page, tasks), KNOWN)
    assert [column.task for column in shown.columns] == ["first", "parity"]
    assert {row.model for _, row, _ in shown.cells} == {"rnn", "lstm", "gru"}
    assert {cell.state for _, _, cell in shown.cells} == {"learned"}
    other = {**PROTOCOL, "name": "standard"}  # more was learned, but its complete part is one cell
    more = [make_record("rnn", "anbn:classify", protocol=other)]
    more += [make_record(f"rnn-{n}", "tomita-3:classify", protocol=other) for n in range(12)]
    part = complete_part(build_page([*records, *more], View("test", tasks)), tasks)
    assert [(board.protocol, board.tasks) for board in part.boards] == [("standard", ("anbn",))]
    nothing = complete_part(page, ("tomita-3",))
    assert language_map(nothing, KNOWN).columns == ()
    assert language_map(complete_part(build_page([], View("test", ())), tasks), KNOWN).cells == []


def test_a_run_that_did_not_learn_its_training_lengths_solves_nothing(make_record):
    ((_, _, cell),) = mapped([make_record(validation=0.6, accuracy=1.0)], "parity").cells
    assert (cell.state, cell.learned, cell.solved) == ("unlearned", 0, 0)
    ((_, _, cell),) = mapped([make_record(accuracy=1.0)], "parity").cells
    assert (cell.learned, cell.solved) == (1, 1)
