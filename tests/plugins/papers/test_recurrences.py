"""Tables about recurrences, PaTH and C-RASP: small campaigns, and claims on made-up scores."""

from __future__ import annotations

import pytest
from formalbench.host import PluginHost
from formalbench.host.options import make_config
from formalbench.running.plan import make_plan
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.framework.scores import Score
from formalbench_papers.grazzi import table3
from formalbench_papers.path_attention import flipflop
from formalbench_papers.slice_cde import table2


def score(mean, best=None, worst=None):
    best, worst = mean if best is None else best, mean if worst is None else worst
    return Score(best, mean, worst, best, 0.5, "3 seeds", worst)


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
    wanted = Wanted("row", title, model.name, "parity", "quick", model.options("paper"), seeds=1)
    (run,) = make_plan(host, wanted.request()).runs
    config = make_config(host.models.get(model.name)[0].spec, run.model.options)
    assert config.model_dump().items() >= options.items()


def test_claims_of_grazzi_need_negative_eigenvalues():
    parity = {
        "Mamba [0, 1]": 0.5,
        "Mamba [-1, 1]": 1.0,
        "DeltaNet [0, 1]": 0.51,
        "DeltaNet [-1, 1]": 1.0,
    }
    scores = {("parity", title): score(mean) for title, mean in parity.items()}
    scores["modular-arithmetic", "DeltaNet [0, 1]"] = score(0.45)
    scores["modular-arithmetic", "DeltaNet [-1, 1]"] = score(0.7, best=0.97)
    *others, best = verdicts(table3.claims(scores)).values()
    assert set(others) == {True}
    assert best is None  # the best of which, as long as some were not run?
    for title in ("mLSTM", "Mamba [0, 1]", "Mamba [-1, 1]"):
        scores["modular-arithmetic", title] = score(0.3)
    assert set(verdicts(table3.claims(scores)).values()) == {True}
    scores["parity", "Mamba [0, 1]"] = score(0.6, best=0.9)
    scores["modular-arithmetic", "Mamba [-1, 1]"] = score(0.98)
    answers = list(verdicts(table3.claims(scores)).values())
    assert answers.count(False) == 2
    assert set(verdicts(table3.claims({})).values()) == {None}


@pytest.mark.parametrize(
    ("mean", "best", "nearest"),
    [(0.98, 1.0, "Beck"), (0.6, 0.85, "Grazzi"), (0.25, 0.3, "Walker")],
)
def test_papers_that_contradict_each_other_are_told_apart(mean, best, nearest):
    said = table3.slstm_remark(score(mean, best=best))
    assert f"nearest to {nearest}" in said
    assert "not run" in table3.slstm_remark(None)


def test_claims_of_slice_are_about_averages():
    means = {
        ("parity", "SLiCE, block-diagonal"): 0.95,
        ("cycle-navigation", "SLiCE, block-diagonal"): 0.99,
        ("parity", "DeltaNet [0, 1]"): 0.58,
        ("cycle-navigation", "DeltaNet [0, 1]"): 0.5,
        ("cycle-navigation", "SLiCE, diagonal"): 0.7,
        ("parity", "DeltaNet [-1, 1]"): 0.97,
        ("parity", "LSTM"): 1.0,
        ("cycle-navigation", "sLSTM"): 0.32,
    }
    scores = {key: score(mean) for key, mean in means.items()}
    assert set(verdicts(table2.claims(scores)).values()) == {True}
    scores["cycle-navigation", "sLSTM"] = score(0.9)
    scores["cycle-navigation", "SLiCE, diagonal"] = score(0.9)
    assert list(verdicts(table2.claims(scores)).values()) == [True, True, False, True, False]


def test_claims_of_path_are_about_sparse_strings():
    kinds = tuple(flipflop.KINDS)
    scores = {("PaTH", kind): score(1.0) for kind in kinds}
    for model in ("RoPE", "stick-breaking", "FoX"):
        scores[model, kinds[0]] = score(0.92)
        scores[model, kinds[1]] = score(0.6)
        scores[model, kinds[2]] = score(1.0)
    assert set(verdicts(flipflop.claims(scores)).values()) == {True}
    scores["FoX", kinds[1]] = score(0.99)
    assert list(verdicts(flipflop.claims(scores)).values()).count(False) == 2
