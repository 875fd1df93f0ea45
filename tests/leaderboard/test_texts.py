"""Texts on a board: by perplexity or by BLEU, over their length or part by part."""

import re

import pytest
from built_records import with_test
from formalbench.host import PluginHost
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.statistics.aggregate import selected_rate
from formalbench.statistics.build import View, build_page
from formalbench.statistics.length_profile import text_line
from formalbench.statistics.result import BLEU, OF_LANGUAGE_MODELS, mean_by_place, perplexities
from formalbench.store import Store
from formalbench_leaderboard.charts import board_charts, length_charts
from formalbench_leaderboard.page import page as page_page
from formalbench_leaderboard.page.descriptions import Definitions
from formalbench_leaderboard.page.page_data import curve_points, detail_of
from formalbench_leaderboard.renderers import renderer

NOTHING = Definitions({}, {})
HOSTILE = ["$\\frac{$", "_hidden", "a\n\u202eb", "模型 🙂", "x" * 190, "<script>x</script>"]


@pytest.fixture
def make_pairs(make_record):
    """Make records of translations, with a BLEU for each named part of the test."""

    def made(model, bleu, seed=0, parts=("up-to-9", "over-9")):
        record = make_record(
            model, "pairs:classify", accuracy=list(bleu), seed=seed, fingerprint="0" * 64
        )
        return with_test(record, "bleu", group=parts, window=1)

    return made


def page(records, *tasks):
    return build_page(records, View("test", tasks))


def board(records, *tasks):
    (found,) = page(records, *tasks).boards
    return found


def test_a_line_is_the_mean_over_the_seeds_and_reaches_from_least_to_most(make_text, make_record):
    records = [make_text("lstm", (8, 9, 10, 12)), make_text("lstm", (10, 9, 12, 16), seed=1)]
    failed = make_text("lstm", (1, 1, 1, 1), seed=2)
    records.append(failed.model_copy(update={"status": "diverged", "test": None}))
    (row,) = board(records, "words").rows
    line = text_line(row.on("words"))
    assert line.length == (41, 51, 61, 71)
    assert line.names == ()
    assert line.mean.tolist() == [9, 9, 11, 14]
    assert (line.low.tolist(), line.high.tolist()) == ([8, 9, 10, 12], [10, 9, 12, 16])
    assert line.seeds.tolist() == [[8, 9, 10, 12], [10, 9, 12, 16]]
    (row,) = board([make_record()], "parity").rows
    assert text_line(row.on("parity")) is None


def test_named_parts_stand_in_the_order_of_their_shortest_texts(make_pairs):
    (row,) = board([make_pairs("lstm", (60, 20))], "pairs").rows
    line = text_line(row.on("pairs"))
    assert line.names == ("up-to-9", "over-9")  # and not by the alphabet
    assert line.mean.tolist() == [0.6, 0.2]


def test_there_is_a_figure_of_each_measure_drawn_alike_each_time(
    make_text, make_pairs, many_records
):
    records = [*many_records, make_text("rnn", (8, 9, 10, 12)), make_pairs("rnn", (60, 20))]
    shown = board(records, "parity", "words", "pairs")
    found = board_charts.drawings(shown, "default")
    names = ["length", "perplexity", "bleu"]
    assert [one.name for one in found] == [f"default-quick-{name}" for name in names]
    assert "Perplexity, less is better" in found[1].caption
    accuracies = {facts.title for facts in length_charts.panels(shown)}
    assert accuracies == {"parity", "first", "tomita-3"}
    for one in found[1:]:
        first = board_charts.rendered(one, "svg")
        assert first == board_charts.rendered(one, "svg")


def test_the_axis_is_of_the_measure_and_says_its_direction(make_text, make_pairs):
    lines = [make_text("rnn", (8, 9, 10, 12)), make_text("lstm", (8, 9, 100, 1e9))]
    shown = board([*lines, make_pairs("rnn", (60, 20))], "words", "pairs")
    (panel,) = length_charts.text_chart(shown, OF_LANGUAGE_MODELS).panels
    assert (panel.log, panel.y) == ("y", "perplexity (log scale), less is better")
    low, high = panel.ylim
    assert low < 8
    assert 12 < high < 1e6  # what is far worse leaves the panel
    (panel,) = length_charts.text_chart(shown, BLEU).panels
    assert (panel.log, panel.y) == ("", "BLEU (%), more is better")
    assert panel.ylim[0] == 0
    assert panel.xticks == {0: "up-to-9", 1: "over-9"}


PROTOCOL = """
name: short
version: 1
seeds: 2
learning_rates: [0.01]
batch: 4
steps: 4
evaluate_every: 2
curriculum: {kind: uniform}
decay: {steps: 2, mastered: 0.0}
validation: {every: 4, strings: 4}
test: {lengths: all, tokens: 2000}
"""


def test_a_trained_text_is_drawn_at_the_lengths_that_it_was_tested_at(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "short.yaml").write_text(PROTOCOL)
    host, store = PluginHost.load([tmp_path / "short.yaml"]), Store(tmp_path / "results")
    settings = parse_settings(("model.width=8", "model.heads=2", "model.layers=1"))
    request = RunRequest(("transformer",), ("tiny:causal-lm",), protocol="short", settings=settings)
    execute(host, make_plan(host, request), store, RunOptions(jobs=1))
    shown = board(store.files().values(), "tiny:causal-lm")
    (row,) = shown.rows
    line = text_line(row.on("tiny:causal-lm"))
    assert line.length == (32, 64, 128, 256, 512)
    assert (line.low > 1).all()
    assert (line.low <= line.mean).all()
    (panel,) = length_charts.text_chart(shown, OF_LANGUAGE_MODELS).panels
    assert panel.log == "xy"
    assert list(panel.xticks) == [32, 64, 128, 256, 512]


def test_a_test_of_one_place_has_no_figure(make_text, make_pairs):
    shown = board([make_text("rnn", (8,)), make_pairs("rnn", (60,), parts=("all",))], "words")
    assert length_charts.measures(shown) == []
    assert board_charts.drawings(shown, "default") == []


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_can_be_drawn(make_text, make_pairs, name):
    task = name if name.isprintable() and ":" not in name else "words"
    records = [make_text(one, (8, 9, 10, 12), task=task) for one in (name, "good")]
    records += [make_pairs(name, (60, 20), parts=("p" * 64, "q" * 64))]
    shown = page(records, "pairs")
    for one in board_charts.drawings(shown.boards[0], "default"):
        svg = board_charts.rendered(one, "svg")
        assert b"</svg>" in svg
        assert b"<script" not in svg
    text = page_page.render_page(shown, NOTHING)["index.html"]
    assert text.count("<script") == 4


@pytest.mark.parametrize("value", [1e306, 1e-306, 2.0**1000])
def test_perplexities_that_nobody_measures_break_no_face(make_text, value):
    records = [make_text("rnn", (value,) * 4), make_text("rnn", (value,) * 4, seed=1)]
    records += [make_text("lstm", (8, 9, 10, 12))]
    shown = page(records, "words")
    for one in board_charts.drawings(shown.boards[0], "default"):
        assert b"</svg>" in board_charts.rendered(one, "svg")
    assert page_page.render_page(shown, NOTHING)["results.json"]
    for name in ("table", "markdown", "latex"):
        assert not re.search(r"\d{30}", renderer(name)(shown)), name


def test_the_page_draws_from_the_measure_and_not_from_accuracies(make_text, make_pairs):
    records = [make_text("rnn", (8, 9, 10, 12)), make_text("rnn", (10, 9, 12, 16), seed=1)]
    shown = page([*records, make_pairs("rnn", (60, 20))], "words", "pairs")
    words, pairs = (one.curve for one in curve_points(shown, detail_of(shown)))
    assert words["mean"] == [9, 9, 11, 14]
    assert words["seeds"] == [[8, 9, 10, 12], [10, 9, 12, 16]]
    assert "names" not in words
    assert pairs["names"] == ["up-to-9", "over-9"]
    assert pairs["mean"] == [0.6, 0.2]
    text = page_page.render_page(shown, NOTHING)["index.html"]
    assert "Texts have their own metric" in text
    assert 'class="cell unlearned"' not in text  # no accuracy says whether a text was learned


def test_only_a_text_has_perplexities(make_text, make_record):
    assert perplexities(make_record()) == {}
    assert mean_by_place([make_record()], OF_LANGUAGE_MODELS) == ()
    assert perplexities(make_text("lstm", (8, 0, 10, 12))).keys() == {41, 61, 71}  # there is no 0


def test_a_rate_is_chosen_by_cross_entropy(make_text):
    records = [
        make_text("lstm", (8, 9, 10, 12), rate=0.001, validation=0.9, bits=3.0),
        make_text("lstm", (8, 9, 10, 12), rate=0.0003, validation=0.8, bits=2.0),
    ]
    assert selected_rate(records) == 0.0003
