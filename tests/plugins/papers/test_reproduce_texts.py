"""Reproductions on natural language: claims that can fail, and a small one carried out."""

from types import SimpleNamespace

import numpy as np
import pytest
from formalbench import RequestError
from formalbench.documents.figures import picture
from formalbench.host import PluginHost
from formalbench_papers.chi import figure4_text, table3
from formalbench_papers.chi.figure4 import Field, field_of
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.tables import text_task
from formalbench_papers.yao import figure6, gpt2
from formalbench_papers.yao.figure6 import LossCurve
from torch import nn

STEPS = tuple(range(50, 3050, 50))

PROTOCOL = """
name: small
version: 1
seeds: 1
learning_rates: [0.01]
batch: 4
steps: 20
evaluate_every: 2
curriculum: {kind: uniform}
decay: {steps: 10, mastered: 0.0}
validation: {every: 20, lengths: 1, strings: 8}
watch: {every: 2, lengths: [32], strings: 8}
test: {lengths: all}
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "small.yaml").write_text(PROTOCOL)
    return PluginHost.load([tmp_path / "small.yaml"])


def verdicts(claims):
    return [claim.verdict for claim in claims]


def as_the_paper():
    return {
        model: [dict(zip(table3.LENGTHS, numbers, strict=True)) for _ in range(3)]
        for model, numbers in table3.PAPER.items()
    }


def test_claims_of_table_3_differ_if_their_rows_do():
    found = as_the_paper()
    assert verdicts(table3.claims(found, {})) == ["holds"] * 12
    rows = (
        *(("RegularGPT 128/6", 8192, 1.2), ("RegularGPT 128/12", 8192, 1.2)),
        *(("RegularGPT 32/6", 1024, 1.2), ("RegularGPT 64/6", 4096, 1.2)),
        *(("RegularGPT 32/6", 2048, 1.5), ("RegularGPT 64/6", 8192, 1.5)),
        *(("KERPLE", 8192, 1.2), ("ALiBi", 8192, 1.2)),
        *(("T5", 8192, 1.05), ("RegularGPT 256/6", 1024, 1.05)),
    )
    for place, (model, length, times) in enumerate(rows):
        for seed in found[model]:
            seed[length] = times * seed[512]
        told = verdicts(table3.claims(found, {}))[:10]
        assert told == ["differs"] * (place + 1) + ["holds"] * (9 - place)
    for model, seeds in as_the_paper().items():
        found[model].append(seeds[0])  # a seed that says otherwise
    assert verdicts(table3.claims(found, {}))[:10] == ["cannot tell"] * 10


@pytest.mark.parametrize(
    ("times", "expected"),
    [(1.08, ["differs", "differs"]), (1.02, ["holds", "holds"]), (1.04, ["holds", "differs"])],
)
def test_thicker_must_be_better_and_close_to_others(times, expected):
    found = as_the_paper()
    for length in table3.LENGTHS:
        for seed in found["RegularGPT 128/12"]:
            seed[length] *= times
    assert verdicts(table3.claims(found, {}))[10:] == expected
    found["RegularGPT 128/12"].append(dict.fromkeys(table3.LENGTHS, 20.0))
    if times == 1.08:
        assert verdicts(table3.claims(found, {}))[10:] == ["cannot tell"] * 2
    del found["T5"]
    assert verdicts(table3.claims(found, {}))[11] == "not run at this scale"


@pytest.mark.parametrize("model", [*table3.PAPER])
def test_while_a_seed_of_table_3_is_missing_what_rests_on_it_cannot_be_told(model):
    told = verdicts(table3.claims(as_the_paper(), {model: 1}))
    names = [claim.claim for claim in table3.claims(as_the_paper(), {})]
    resting = [text for text, verdict in zip(names, told, strict=True) if verdict != "holds"]
    assert all(text in resting for text in names if f"{model} is" in text)
    assert {told[names.index(text)] for text in resting} == {"cannot tell"}


def test_what_was_not_run_is_not_judged():
    found = table3.findings({})
    assert {claim.verdict for claim in found.claims} == {"not run at this scale"}
    assert {cell.verdict for cell in found.cells} == {"not run at this scale"}
    assert len(found.cells) == len(found.rows) == 40


def sudden():
    """Return a loss that drops in a tenth of the training."""
    return LossCurve(STEPS, tuple(3.0 - 0.001 * i - 1.5 * (i > 20) for i in range(len(STEPS))))


def gradual():
    return LossCurve(STEPS, tuple(1.2 + 1.8 * 0.95**i for i in range(len(STEPS))))


def test_plateaus_and_drops():
    assert sudden().steepest > 0.95
    assert 0.2 < gradual().steepest < 0.35
    rising = LossCurve(STEPS, tuple(1.0 + 0.01 * i for i in range(len(STEPS))))
    assert rising.steepest == 0.0
    assert (sudden().drops, gradual().drops, rising.drops) == (True, False, False)
    fig = figure6.claims({figure6.LEARN: [sudden()] * 3, figure6.SCALAR: [gradual()] * 3})
    assert verdicts(fig) == ["differs", "holds", "holds"]  # it ends at 1.44, and the other at 1.29
    fig = figure6.claims({figure6.LEARN: [gradual()] * 3, figure6.SCALAR: [sudden()] * 3})
    assert verdicts(fig) == ["holds", "differs", "differs"]


def test_a_fall_at_the_beginning_is_no_drop_from_a_plateau():
    early = LossCurve(STEPS, tuple(2.7 + 1.2 * 0.6**i for i in range(len(STEPS))))
    assert early.steepest > 0.9
    assert not early.drops
    late = LossCurve(STEPS, tuple(2.7 - 0.02 * max(0, min(i - 15, 6)) for i in range(len(STEPS))))
    assert late.drops
    fig = figure6.claims({figure6.LEARN: [early] * 3, figure6.SCALAR: [gradual()] * 3})
    assert verdicts(fig)[1] == "differs"


def test_nothing_is_told_of_a_loss_that_never_left_the_level_of_frequencies():
    still = LossCurve(STEPS, tuple(2.7 + 0.001 * (len(STEPS) - i) for i in range(len(STEPS))))
    assert not still.left
    assert sudden().left
    assert gradual().left
    fig = figure6.claims({figure6.LEARN: [still] * 3, figure6.SCALAR: [gradual()] * 3})
    assert verdicts(fig) == ["cannot tell", "cannot tell", "holds"]
    assert "on the plateau throughout, at 2.70" in fig[1].ours
    fig = figure6.claims({figure6.LEARN: [sudden()] * 3, figure6.SCALAR: [still] * 3})
    assert verdicts(fig) == ["cannot tell", "holds", "cannot tell"]
    assert verdicts(figure6.claims({})) == ["not run at this scale"] * 3


@pytest.mark.parametrize(
    ("corpus", "objective", "how"),
    [
        (
            *("sotu", "causal-lm"),
            "make it with `formalbench corpus fetch sotu`, and name it: --plugin sotu/sotu.yaml",
        ),
        (
            *("wikitext-103", "masked-lm"),
            "describe its files in a YAML file of this name (docs/plugins.md, Texts), and name it: "
            "--plugin wikitext-103.yaml",
        ),
        (
            *("iwslt-en-vi", "translate"),
            "describe its files in a YAML file of this name (docs/plugins.md, Translations), and "
            "name it: --plugin iwslt-en-vi.yaml",
        ),
    ],
)
def test_a_corpus_that_is_not_there_is_told_in_one_line(host, corpus, objective, how):
    with pytest.raises(RequestError) as refused:
        text_task(Bench(host, "quick", lambda line: None), corpus, objective)
    assert str(refused.value) == f"no corpus {corpus}: {how}"


def lifted(by, curve=None):
    """Return a curve that is so much above another one."""
    curve = curve or gradual()
    return LossCurve(STEPS, tuple(nats + by for nats in curve.nats))


@pytest.mark.parametrize(
    ("scalar", "none", "expected"),
    [
        ([0.1, 0.07, 0.05], [0.01, 0.0, -0.01], ["holds", "holds"]),
        ([-0.1, -0.07, -0.05], [0.1, 0.1, 0.1], ["differs", "differs"]),
        ([0.5, 0.55, 0.6], [0.0, 0.0, 0.0], ["differs", "holds"]),  # not slightly
        ([0.1, 0.1, -0.1], [0.0, 0.2, 0.2], ["cannot tell", "cannot tell"]),
    ],
)
def test_the_curves_of_footnote_5(scalar, none, expected):
    found = {
        gpt2.SCALAR: [lifted(by) for by in scalar],
        gpt2.LEARN: [gradual()] * 3,
        gpt2.NONE: [lifted(by) for by in none],
    }
    ran = dict.fromkeys(found, 0)
    assert verdicts(gpt2.claims(found, ran)) == expected
    assert verdicts(gpt2.claims(found, {**ran, gpt2.LEARN: 1})) == ["cannot tell"] * 2
    still = LossCurve(STEPS, tuple(2.7 + 0.001 * (len(STEPS) - i) for i in range(len(STEPS))))
    found[gpt2.LEARN] = [still] * 3
    assert verdicts(gpt2.claims(found, ran)) == ["cannot tell"] * 2
    assert verdicts(gpt2.claims({}, {})) == ["not run at this scale"] * 2


def test_a_small_footnote_5_is_carried_out_and_drawn(host, tmp_path, monkeypatch):
    monkeypatch.setattr(gpt2, "CORPORA", {"quick": "tiny"})
    monkeypatch.setattr(gpt2, "PROTOCOLS", {"quick": "small"})

    class Small(Bench):
        def choose(self, quick, paper):
            return (8, 2, 1)

    found = gpt2.carry_out(Small(host, "quick", lambda line: None, results=tmp_path / "results"))
    assert len(found.rows) == 3 * 10
    assert "not run at this scale" not in verdicts(found.claims)
    assert b"</svg>" in picture(found.draw(), "svg")


class OwnToken(nn.Module):
    """Says the next token by the one before it."""

    def __init__(self, tokens):
        super().__init__()
        self.embedding = nn.Embedding(tokens, tokens)

    def forward(self, batch):
        return self.embedding(batch.symbols)


def test_a_field_on_text_is_that_of_the_last_token(host):
    task = host.task("tiny:causal-lm")
    network = SimpleNamespace(
        bench=SimpleNamespace(task=lambda name: task),
        find=lambda step, look: look(),
        module=OwnToken(len(task.alphabet)),
        accuracy=0.5,
        record=SimpleNamespace(seed=0),
    )

    def windows(test):
        return test.source.fixed(32, "")[:3]

    found = field_of(network, "own token", "tiny:causal-lm", windows, {})
    assert found.cumulative == pytest.approx([1.0] * 31 + [0.0])


@pytest.mark.slow
def test_a_field_on_text_is_measured_drawn_and_kept(host, tmp_path, monkeypatch):
    monkeypatch.setattr(figure4_text, "CORPORA", {"quick": "tiny"})
    monkeypatch.setattr(table3, "PROTOCOLS", {"quick": "small"})
    monkeypatch.setattr(table3, "QUICK_THICKNESS", {6: 1})
    monkeypatch.setattr(figure4_text, "MODEL", "RegularGPT 4/6")
    monkeypatch.setattr(figure4_text, "LENGTH", 32)
    monkeypatch.setattr(figure4_text, "CHUNK", 4)
    monkeypatch.setattr(figure4_text, "LAST", 1)
    monkeypatch.setattr(figure4_text, "WINDOWS", 3)
    bench = Bench(host, "quick", lambda line: None, results=tmp_path / "results")
    found = figure4_text.carry_out(bench)
    shares = [row["cumulative"] for row in found.rows]
    assert len(shares) == 32
    assert shares[0] == pytest.approx(1, abs=1e-5)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0  # the last token is asked for, not read
    assert b"</svg>" in picture(found.draw(), "svg")
    assert len(bench.measurements.used) == 1


@pytest.mark.parametrize(
    ("reach", "verdict"),
    [((300, 400, 350), "holds"), ((512, 200, 300), "holds"), ((600, 700, 800), "differs"),
     ((300, 300, 900), "cannot tell"), ((300,), "cannot tell"), ((), "not run at this scale")],
)  # fmt: skip
def test_a_field_is_local_if_it_is_no_longer_than_a_window_of_the_training(reach, verdict):
    curve = np.linspace(1, 0, 2048)
    fields = [Field("RegularGPT", curve, curve, one, 0.0, None, 0.5, 0) for one in reach]
    assert verdicts(figure4_text.claims(fields)) == [verdict]


def test_a_field_says_how_much_of_it_is_at_the_ends_of_earlier_chunks():
    shares = np.full(2048, 1e-4)
    shares[[126, 1911, 1918]] = 0.1  # positions from 0; 1911 to 1918 are the last 8 of a chunk
    shares[[127, 1000, 1910, 1919]] = 0.05
    shares[-1] = 0
    curve = np.cumsum((shares / shares.sum())[::-1])[::-1]
    (claim,) = figure4_text.claims([Field("", curve, curve, 600, 0.0, None, 0.5, 0)])
    inside = shares[119:127].sum() + shares[127:1919].reshape(14, 128)[:, -8:].sum()
    before = shares[:1919].sum()
    share = f"{100 * inside / before:.1f} %"
    assert f"of that before the last chunk, {share} is in the last 8" in claim.ours


def test_while_a_seed_of_figure_6_is_missing_nothing_is_told():
    curves = {figure6.LEARN: [sudden()] * 3, figure6.SCALAR: [gradual()] * 3}
    assert verdicts(figure6.claims(curves)) != ["cannot tell"] * 3
    assert verdicts(figure6.claims(curves, 1)) == ["cannot tell"] * 3
