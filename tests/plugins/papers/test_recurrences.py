"""Tables about recurrences, PaTH and C-RASP: small campaigns, and claims on made-up scores."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from formalbench.cli.main import run_command_line
from formalbench.host import PluginHost
from formalbench.host.options import make_config
from formalbench.running.plan import make_plan
from formalbench_papers.framework.runs import Wanted
from formalbench_papers.framework.scores import Score
from formalbench_papers.grazzi import table3
from formalbench_papers.huang import crasp
from formalbench_papers.path_attention import flipflop
from formalbench_papers.slice_cde import table2

TINY = """\
schema_version: 1
name: tiny
version: 1
seeds: 1
learning_rates: [0.01]
batch: 4
steps: 2
evaluate_every: 2
curriculum: {{kind: uniform}}
decay: {{steps: 2}}
validation: {{every: 2, lengths: 1, strings: 4}}
splits: {{train: [{0}, {1}], test: [{2}, {3}]}}
test: {{lengths: 4, strings: 4}}
"""


@pytest.fixture
def campaign(capsys, tmp_path, monkeypatch):
    """Carry out a reproduction with a protocol of two steps, and return its page's data."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))

    def run(name, lengths, differs=True):
        file = tmp_path / "tiny.yaml"
        file.write_text(TINY.format(*lengths))
        words = ["reproduce", name, "--plugin", file, "--output", tmp_path / "out"]
        words += ["--results", tmp_path / "results", "--device", "cpu", "--jobs", 1]
        code = run_command_line([str(word) for word in words])
        captured = capsys.readouterr()
        assert code == int(differs), captured.err  # two steps teach nothing
        return json.loads((tmp_path / "out" / f"{name}.json").read_text())

    return run


def score(mean, best=None, worst=None):
    best, worst = mean if best is None else best, mean if worst is None else worst
    return Score(best, mean, worst, best, 0.5, "3 seeds", worst)


def verdicts(claims):
    return {claim.claim: claim.holds for claim in claims}


@pytest.mark.slow
@pytest.mark.parametrize("module", [table3, table2])
def test_a_small_campaign_trains_every_model_of_a_table(module, campaign, monkeypatch):
    small = {"quick": ("parity",), "quick_models": {}, "protocols": {"quick": "tiny"}}
    monkeypatch.setattr(module, "TABLE", replace(module.TABLE, **small))
    name = {table3: "grazzi-table3", table2: "slice-table2"}[module]
    found = campaign(name, (3, 6, 7, 12))
    run = [cell for cell in found["cells"] if cell["ours"]]
    assert {cell["row"] for cell in run} == {"parity"}
    assert [cell["column"] for cell in run] == [model.title for model in module.MODELS]
    assert all("1 seed" in cell["ours"] for cell in run)


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


def test_a_task_may_be_for_fewer_models(campaign, monkeypatch):
    small = {"quick_models": {"parity": (), "modular-arithmetic": ("sLSTM",)}}
    table = replace(table3.TABLE, **small, protocols={"quick": "tiny"})
    monkeypatch.setattr(table3, "TABLE", table)
    found = campaign("grazzi-table3", (3, 6, 7, 12), differs=False)
    run = [(cell["row"], cell["column"]) for cell in found["cells"] if cell["ours"]]
    assert run == [("modular-arithmetic", "sLSTM")]


def test_at_quick_a_table_may_have_fewer_models():
    for module in (table2, table3):
        fewer = module.TABLE.quick_models
        assert fewer
        assert set(fewer) <= set(module.TABLE.quick)
        titles = {model.title for model in module.MODELS}
        assert all(set(models) < titles for models in fewer.values())
    assert "parity" not in table3.TABLE.quick_models  # there all are trained


def test_a_small_campaign_of_flip_flops_is_tested_on_three_kinds(campaign, monkeypatch):
    monkeypatch.setattr(flipflop, "PROTOCOLS", {"quick": "tiny"})
    monkeypatch.setattr(flipflop, "LENGTHS", {"quick": 12})
    monkeypatch.setattr(flipflop, "STRINGS", {"quick": 16})
    found = campaign("path-flipflop", (12, 12, 12, 12))
    assert len(found["cells"]) == 12
    assert all("1 seed" in cell["ours"] for cell in found["cells"])
    # Of dense strings nearly every second symbol is a bit that is read: the metric is per answer.
    assert {row["chance"] for row in found["data"]} == {0.5}


def test_a_small_campaign_of_c_rasp_tells_two_windows_apart(campaign, monkeypatch):
    monkeypatch.setattr(crasp, "PROTOCOLS", {"quick": "tiny"})
    monkeypatch.setattr(crasp, "TASKS", ("majority", "parity"))
    found = campaign("huang-crasp", (1, 8, 51, 150), differs=False)
    rows = [cell["row"] for cell in found["cells"] if cell["ours"]]
    assert rows[::2] == [
        *("majority, 51-100", "majority, 101-150"),
        *("parity, 51-100", "parity, 101-150"),
    ]
    told = [claim for claim in found["claims"] if claim["ours"]]
    assert len(told) == 2
    assert {claim["verdict"] for claim in told} == {"cannot tell"}  # nothing was learned


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


def test_claims_about_recurrences_cannot_tell_where_seeds_disagree_or_did_not_finish():
    ahead = {
        ("cycle-navigation", "SLiCE, block-diagonal"): score(0.8, best=1.0, worst=0.5),
        ("cycle-navigation", "SLiCE, diagonal"): score(0.5, best=0.6, worst=0.4),
        ("cycle-navigation", "sLSTM"): Score(None, None, None, None, 0.2, "0 of 3 finished"),
    }
    told = verdicts(table2.claims(ahead))
    assert [holds for holds in told.values() if holds is not None] == ["cannot tell"] * 2
    arithmetic = {title: score(0.3) for title in table3.LINEAR}
    arithmetic["DeltaNet [0, 1]"] = score(0.6, best=0.9, worst=0.4)
    arithmetic["DeltaNet [-1, 1]"] = score(0.7, best=0.97, worst=0.5)
    told = verdicts(table3.claims({("modular-arithmetic", k): v for k, v in arithmetic.items()}))
    assert [holds for holds in told.values() if holds is not None] == ["cannot tell"] * 2


def test_recurrences_that_learned_no_training_lengths_refute_nothing():
    def unlearned(mean):
        return replace(score(mean), learned=False)

    arithmetic = {("modular-arithmetic", title): unlearned(0.3) for title in table3.LINEAR}
    told = verdicts(table3.claims(arithmetic)).values()
    assert [holds for holds in told if holds is not None] == ["cannot tell"] * 2
    names = ("SLiCE, block-diagonal", "SLiCE, diagonal", "sLSTM", "LSTM")
    told = verdicts(table2.claims({("cycle-navigation", name): unlearned(0.3) for name in names}))
    assert [holds for holds in told.values() if holds is not None] == ["cannot tell"] * 3


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
