"""Mutual information of answer and target: what accuracy below chance may still tell."""

import math

import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.contracts.verification import parse_any
from formalbench.evaluation.cells import Cell, TestSet
from formalbench.evaluation.evaluate import evaluate, total
from formalbench.metrics.answers import MOST_CLASSES, Accuracy, MutualInformation, information
from formalbench.running.run_record import cells_of
from formalbench.statistics.frame import cells_frame
from formalbench.store import Store

CPU = torch.device("cpu")


def entropies(pairs):
    """Return H(X) + H(Y) - H(X, Y) of observed pairs, in bits: the slow way."""

    def entropy(values):
        values = list(values)
        shares = [values.count(one) / len(values) for one in set(values)]
        return -sum(share * math.log2(share) for share in shares)

    said, right = zip(*pairs, strict=True)
    return entropy(said) + entropy(right) - entropy(pairs)


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_it_is_what_the_entropies_say(classes):
    rng = np.random.default_rng(classes)
    for noise in (0.0, 0.3, 1.0):
        right = rng.integers(0, classes, 200)
        said = np.where(rng.random(200) < noise, rng.integers(0, classes, 200), right)
        metric = MutualInformation(classes)
        logits = torch.nn.functional.one_hot(torch.tensor(said), classes).float()
        state = metric.measure(logits, Example(torch.zeros(200, 1), torch.tensor(right))).numpy()
        (name, measure), *none = metric.finish(state).items()
        assert (name, measure.count, none) == ("mutual-information", 200, [])
        pairs = list(zip(said.tolist(), right.tolist(), strict=True))
        assert measure.mean == pytest.approx(entropies(pairs), abs=1e-9)
        assert 0 <= measure.mean <= math.log2(classes) + 1e-12


def test_answers_with_the_sign_flipped_tell_all():
    right = torch.tensor([0, 1] * 64)
    logits = torch.nn.functional.one_hot(1 - right, 2).float()
    example = Example(torch.zeros(128, 1), right)
    assert Accuracy().measure(logits, example).tolist() == [0, 128]
    metric = MutualInformation(2)
    assert metric.finish(metric.measure(logits, example).numpy())[metric.name].mean == 1.0
    constant = torch.tensor([[1.0, 0.0]] * 128)
    assert metric.finish(metric.measure(constant, example).numpy())[metric.name] == (0.0, 128)
    assert information(np.zeros((2, 2))) == 0.0


class Alternating(torch.nn.Module):
    """Right on strings of even length, and wrong on all others."""

    def forward(self, batch):
        flip = batch.symbols.shape[1] % 2
        return torch.nn.functional.one_hot((batch.symbols[:, -1].long() + flip) % 2, 2).float()


def test_the_sign_may_change_from_length_to_length(host):
    task = host.task("first")
    strings = np.random.default_rng(0).integers(0, 2, (64, 41))
    strings[:, 0] = np.arange(64) % 2
    cells = [Cell(n, n, (Example(strings[:, -n:], strings[:, -1]),)) for n in range(2, 42)]
    scores = evaluate(Alternating(), task, TestSet(tuple(cells)), CPU)
    each = [score.measures["mutual-information"].mean for score in scores]
    balance = strings[:, -1].mean()
    known = -balance * math.log2(balance) - (1 - balance) * math.log2(1 - balance)
    assert each == pytest.approx([known] * 40)
    assert total(scores).measures["mutual-information"].mean == pytest.approx(known)
    found = cells_of(scores, "accuracy")
    assert found.window == 2  # as without it: 32 entries for cross-entropy
    assert found.means_of("mutual-information") == pytest.approx([known] * 40)
    assert found.whole("accuracy") is None
    assert sum(found.correct) / sum(found.strings) == 0.5


def test_few_classes_have_it(host):
    def metrics(task):
        return [metric.name for metric in host.task(task).metrics]

    assert metrics("parity") == ["accuracy", "cross-entropy", "mutual-information"]
    assert "mutual-information" in metrics("group-s3:classify")  # 6 classes
    assert MOST_CLASSES < 60
    assert metrics("group-a5:classify") == ["accuracy", "cross-entropy"]
    assert "mutual-information" not in metrics("parity:tag")


def test_a_run_has_it_at_every_length_and_its_ids_are_those_without(run, results):
    assert run("--seeds", 1, "--json").code == 0
    (record,) = Store(results).records()
    frame = cells_frame([record])
    assert frame.mutual_information.between(0, 1).all()
    data = record.model_dump(mode="json")
    for place in (data["test"]["cells"], data["selected"]):
        del place["metrics"]["mutual-information"]
    without = parse_any(
        record.model_copy(
            update={
                "test": type(record.test).model_validate(data["test"]),
                "selected": type(record.selected).model_validate(data["selected"]),
            }
        ).to_json(),
        "r.json",
    )
    from formalbench.contracts.identity import ids_of

    assert ids_of(without) == ids_of(record) == (record.train_id, record.test_id)
    assert cells_frame([without]).mutual_information.isna().all()
