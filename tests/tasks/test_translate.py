"""The objective `translate`, and BLEU as the library has it."""

import json
import sys

import numpy as np
import pytest
import torch
from formalbench import RequestError
from formalbench.contracts.network import tensors
from formalbench.contracts.task import Task
from formalbench.metrics.answers import class_nats
from formalbench_text.description import PairOptions
from formalbench_text.fetch.writing import as_yaml, completed
from formalbench_text.metrics import Bleu, compare_systems
from formalbench_text.parallel_texts import build_tiny
from formalbench_text.translate import Translate

sacrebleu = pytest.importorskip("sacrebleu")
END = 256

FEW = {
    "train": ["zebra", "okapi", "zebra okapi"],
    "validation": ["okapi"],
    "test": ["zebra zebra", "okapi okapi", "zebra " * 20],
}


@pytest.fixture(scope="module")
def task():
    return Task("tiny-pairs", 1, build_tiny(PairOptions()), Translate()).of("test")


def one_hot(texts, width):
    said = torch.full((len(texts), width), END)
    for row, text in enumerate(texts):
        ids = text.encode()
        said[row, : len(ids)] = torch.tensor(list(ids))
    return torch.nn.functional.one_hot(said, END + 1).float()


def examples_of(task):
    """Return one example per length of the test, as a test makes them."""
    lengths = sorted(task.source.by_length)
    fixed = [np.concatenate([task.source.fixed(n, g) for g in task.source.groups]) for n in lengths]
    return [tensors(task.examples(strings)) for strings in fixed]


def right_of(task, example):
    rows = zip(example.targets.tolist(), example.scored.sum(1).tolist(), strict=True)
    return [task.source.words(row[: size - 1]) for row, size in rows]


def test_bleu_of_batches_is_that_of_the_corpus(task):
    bleu = Bleu(task.source, tokenised=False)
    said, right, states = [], [], []
    for example in examples_of(task):
        own = right_of(task, example)
        # Every third is wrong, every other one lacks its end.
        told = [text if n % 3 else text[::-1] for n, text in enumerate(own, start=len(right))]
        told = [text[: len(text) // 2] if n % 2 else text for n, text in enumerate(told)]
        states.append(bleu.measure(one_hot(told, 200), example).numpy())
        said, right = said + told, right + own
    found = bleu.finish(np.sum(states, axis=0))["bleu"]
    whole = sacrebleu.corpus_bleu(said, [right])
    assert found.count == len(right) == 32
    assert 0.1 < found.mean < 0.9
    assert found.mean == pytest.approx(whole.score / 100, abs=1e-9)
    assert bleu.signature == (
        f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    )
    assert "tok:none" in Bleu(task.source, tokenised=True).signature


def test_without_the_library_there_is_one_line(task, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(RequestError, match=r"^BLEU needs the package sacrebleu: pip install"):
        Bleu(task.source, tokenised=False)


def test_smoothed_labels_by_the_definition(task):
    (example, *_) = examples_of(task)
    logits = torch.randn(*example.targets.shape, END + 1, dtype=torch.float64)
    plain, smooth = Translate(), Translate().smoothed(0.1)
    spread = torch.full((END + 1,), 0.1 / (END + 1), dtype=torch.float64)
    total = 0.0
    for row, col in example.scored.nonzero().tolist():
        probabilities = spread.clone()
        probabilities[example.targets[row, col]] += 0.9
        total -= float((probabilities * logits[row, col].log_softmax(-1)).sum())
    want = total / int(example.scored.sum())
    assert float(smooth.loss(logits, example)) == pytest.approx(want)
    nats = class_nats(logits, example.targets)[example.scored].mean()
    assert float(plain.loss(logits, example)) == pytest.approx(float(nats))
    assert plain.smoothing == 0.0


def test_chance_is_of_one_translation_for_all(task):
    whole = Task("tiny-pairs", 1, build_tiny(PairOptions()), Translate())
    chance = whole.chance([20, 20, 61])
    assert 0.0 < chance.constant < 0.3
    assert chance.by_length == (chance.constant,) * 3
    assert whole.chance([20, 20, 61]) == chance


def test_two_systems_are_compared_by_a_paired_bootstrap(task):
    right = [text for example in examples_of(task) for text in right_of(task, example)]
    half = [text if n % 2 else "không" for n, text in enumerate(right)]
    found = compare_systems(half, right, right, tokenised=False)
    assert found.bleu[1] == pytest.approx(1.0)
    assert found.bleu[0] < 0.7
    assert found.p < 0.01
    assert "bs:1000" in found.signature
    assert compare_systems(half, half, right, tokenised=False).p == 1.0
    other = [text if n % 2 == 0 else "không" for n, text in enumerate(right)]
    assert compare_systems(half, other, right, tokenised=False).p > 0.05
    assert compare_systems(half, right, right, tokenised=False) == found


@pytest.mark.slow
def test_a_run_says_its_bleu_part_by_part(cli, own_place, tmp_path):
    files = {}
    for split, texts in FEW.items():
        for side, ending in (("source", "."), ("target", "!")):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{t}{ending}\n" for t in texts))
            files.setdefault(split, {})[side] = {"file": f"{split}.{side}"}
    few = tmp_path / "few.yaml"
    few.write_text(as_yaml(completed(few, {"name": "few", "pairs": files})))
    settings = ["steps=20", "decay.steps=10", "evaluate_every=10", "validation.every=10"]
    settings += ["batch_tokens=256", "test.beam=2", "validation.strings=4"]
    changed = [word for one in settings for word in ("--set", f"protocol.{one}")]
    small = [word for one in ("width=8", "layers=1", "heads=2") for word in ("--set", one)]
    done = cli(
        *("run", "--model", "encoder-decoder-logn", "--task", "few", "--plugin", few, *small),
        *("--protocol", "translate-quick", *changed, "--results", tmp_path / "results", "--json"),
    )
    assert done.code == 0, done.err
    (path,) = (tmp_path / "results").rglob("*.json")
    text = path.read_text()
    test = json.loads(text)["test"]
    assert test["metric"] == "bleu"
    assert test["cells"]["group"] == ["up-to-20", "over-20"]
    assert test["cells"]["strings"] == [2, 1]
    assert test["signatures"]["bleu"].startswith("nrefs:1|case:mixed")
    assert set(test["cells"]["metrics"]) == {"cross-entropy", "perplexity"}
    assert not any(word in text for word in ("zebra", "okapi"))
    # The kept weights say the same again.
    compared = cli("corpus", "compare", path, path, "--plugin", few, "--device", "cpu", "--json")
    assert compared.code == 0, compared.err
    both = {part["part"]: part for part in json.loads(compared.out)}
    right = dict(zip(test["cells"]["group"], test["cells"]["correct"], strict=True))
    for part, texts in (("up-to-20", 2), ("over-20", 1)):
        assert both[part]["bleu"] == [pytest.approx(right[part] / texts, abs=1e-6)] * 2
        assert (both[part]["texts"], both[part]["p"]) == (texts, 1.0)
    shown = " ".join(cli("corpus", "compare", path, path, "--plugin", few).out.split())
    assert shown.count("encoder-decoder-logn") == 2
    assert "seed 0" in shown
    other = tmp_path / "other.json"
    other.write_text(text.replace(test["fingerprint"], "0" * 64))
    refused = cli("corpus", "compare", path, other)
    assert (refused.code, "tested on different texts" in refused.err) == (2, True)
    other.write_text(text.replace("few:translate", "few:causal-lm"))
    refused = cli("corpus", "compare", other, path)
    assert (refused.code, "not a record of a run on translations" in refused.err) == (2, True)
