"""Chiang and Cholak: Figure 4 and Table 1."""

import re

import pytest
from built_records import TO_ITS_END, build_record
from formalbench.contracts.cells import Sums
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import Curve, History
from formalbench.documents.figures import picture
from formalbench.training.trainer import resolve_protocol
from formalbench_papers.chiang_cholak import figure4, table1
from formalbench_papers.chiang_cholak.figure4 import LENGTHS, SCALED, STANDARD, claims
from formalbench_papers.chiang_cholak.table1 import ALL, LONG, PAPER
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.runs import CellPlan, CellRecords
from torch import nn

POINTS = 5


def run_of(task, seed, near, far, bits, attention, settled):
    """A run: accuracy at its own length and at 1000; curves of bits, accuracy and attention."""
    record = build_record(
        task=f"{task}:classify",
        seed=seed,
        validation=near,
        accuracy=[round(1000 * far)],
        strings=1000,
        training=TO_ITS_END,
    )
    later = POINTS - 1
    probes = {
        "attention-on-first.layer.0.head.0": (0.0,) * POINTS,
        "attention-on-first.layer.1.head.0": (
            *(0.001 + i * attention / 100 for i in range(settled)),
            *(attention,) * (POINTS - settled),
        ),
    }
    curve = Curve(
        length=1000,
        strings=1000,
        correct=(500, *(round(1000 * far),) * later),
        millibits=(1000, *(round(1000 * bits),) * later),
        probes=probes,
    )
    history = History(every=50, fingerprint="0" * 64, curves=(curve,))
    entropy = Sums(total=(round(bits * 1e6),), count=(1000,))
    cells = record.test.cells.model_copy(update={"metrics": {CROSS_ENTROPY: entropy}})
    changed = {
        "training": record.training.model_copy(update={"history": history}),
        "test": record.test.model_copy(update={"cells": cells}),
    }
    return record.model_copy(update=changed)


def got(task, kind, n, **changed):
    """Five runs that agree, as the paper has them; or what is changed, of the first `runs`."""
    far = STANDARDS[n] if kind == STANDARD else 1.0
    usual = {"near": 1.0, "far": far, "bits": 1.01 - far, "attention": far}
    usual["settled"] = 1 + LENGTHS.index(n)
    if task == "parity":
        usual |= {"near": 0.49, "far": 0.51, "bits": 1.0}
    runs = changed.pop("runs", 5)
    seeds = [usual | (changed if seed < runs else {}) for seed in range(5)]
    wanted = CellPlan(f"{task}, {n}", kind, "transformer", task, "tiny")
    return CellRecords(wanted, [run_of(task, i, **one) for i, one in enumerate(seeds)])


KEYS = [("first", kind, n) for kind in (STANDARD, SCALED) for n in LENGTHS]
PARITY = ("parity", STANDARD, 10)
STANDARDS = dict(zip(LENGTHS, (0.52, 0.7, 0.9, 0.98), strict=True))


@pytest.fixture(autouse=True)
def _an_epoch_is_a_step(monkeypatch):
    monkeypatch.setattr(figure4, "EPOCH", 1)


def verdicts(changes=None):
    changes = changes or {}
    found = {key: got(*key, **changes.get(key, {})) for key in (*KEYS, PARITY)}
    return [claim.verdict for claim in claims(found)]


UNLEARNED = {"near": 0.6, "far": 0.5, "bits": 1.0}
DIFFERS, UNSURE = "differs", "cannot tell"
FLAT = {"attention": 0.0005, "settled": 1}
SAYS_NOTHING = {2: UNSURE, 3: UNSURE, 8: UNSURE, 9: UNSURE}
"""A length that too few runs learned."""


@pytest.mark.parametrize(
    ("key", "change", "expected"),
    [
        (PARITY, {}, {}),  # what the paper found holds
        (("first", STANDARD, 10), {"near": 0.45}, {0: DIFFERS, 1: UNSURE, **SAYS_NOTHING}),
        (("first", STANDARD, 300), {"near": 0.98}, SAYS_NOTHING),
        (("first", STANDARD, 10), {"far": 0.65}, {1: DIFFERS}),
        (("first", STANDARD, 300), {"far": 1.0}, {2: DIFFERS}),
        (("first", STANDARD, 100), {"far": 0.65}, {3: DIFFERS}),
        (("first", SCALED, 30), {"far": 0.95}, {4: DIFFERS}),
        (("first", SCALED, 30), {"bits": 0.06}, {5: DIFFERS}),
        (("first", SCALED, 30), {"bits": 0.4}, {5: DIFFERS, 6: DIFFERS}),
        (("first", STANDARD, 30), {"attention": 0.95}, {8: DIFFERS}),
        (("first", STANDARD, 300), {"settled": 2}, {9: DIFFERS}),  # a plateau that is no earlier
        (PARITY, {"far": 0.65}, {10: DIFFERS}),
        (PARITY, {"near": 0.8}, {11: DIFFERS}),
        (PARITY, {"near": 0.74}, {}),  # some strings memorised
        (("first", STANDARD, 30), FLAT, {7: DIFFERS, 8: DIFFERS, 9: DIFFERS}),
        # Seeds on both sides; what did not learn.
        (("first", STANDARD, 30), FLAT | {"runs": 2}, {7: UNSURE, 8: UNSURE, 9: UNSURE}),
        (("first", STANDARD, 10), {"far": 1.0, "runs": 1}, {1: UNSURE, 3: UNSURE}),
        (("first", SCALED, 30), {"bits": 1.0, "runs": 1}, {5: UNSURE, 6: UNSURE}),
        (("first", SCALED, 30), UNLEARNED, {4: UNSURE, 5: UNSURE, 6: UNSURE}),
        (
            *(("first", SCALED, 30), UNLEARNED | {"near": 1.0}),
            {4: DIFFERS, 5: DIFFERS, 6: DIFFERS},
        ),
    ],
)
def test_each_claim_can_fail_or_stay_open(key, change, expected):
    found = dict(enumerate(verdicts({key: change})))
    assert len(found) == 12
    assert {place: one for place, one in found.items() if one != "holds"} == expected


def test_what_did_not_learn_its_training_length_says_nothing_of_longer_strings():
    unlearned = {("first", STANDARD, n): {"near": 0.6, "far": 0.5} for n in LENGTHS}
    assert verdicts(unlearned)[1:4] == [UNSURE] * 3
    one_run = {("first", STANDARD, 10): {"near": 0.6, "far": 1.0, "runs": 1}}
    assert verdicts(one_run)[1] == "holds"  # the other four learned it


def test_one_run_of_five_that_learned_decides_nothing(monkeypatch):
    monkeypatch.setitem(STANDARDS, 300, 1.0)
    few = UNLEARNED | {"attention": 0.002, "runs": 4}
    better = {"bits": 0.02}  # more than the one run, less than the mean
    found = verdicts({("first", STANDARD, 300): few, ("first", SCALED, 300): better})
    told = {place: one for place, one in enumerate(found) if one != "holds"}
    assert told == {7: UNSURE, **SAYS_NOTHING}
    two = few | {"runs": 3}
    assert verdicts({("first", STANDARD, 300): two})[2] == UNSURE
    three = few | {"runs": 2}
    assert verdicts({("first", STANDARD, 300): three})[2] == DIFFERS


def test_each_row_has_its_number_of_runs():
    for claim in claims({key: got(*key) for key in (*KEYS, PARITY)}):
        assert re.search(r"\d+ (runs|seeds)", claim.ours), claim


def test_it_is_carried_out_and_drawn(host):
    class Made(Bench):
        def train(self, wanted, now=None):
            length = {one.protocol: int(one.protocol.rpartition("-")[2]) for one in wanted}
            return [got(one.task, kind_of(one), length[one.protocol]) for one in wanted]

    def kind_of(wanted):
        return SCALED if wanted.model_options.get("log_length") else STANDARD

    found = figure4.carry_out(Made(host, "quick", lambda line: None))
    assert {claim.verdict for claim in found.claims} == {"holds"}
    assert len(found.rows) == POINTS * 2 * len(KEYS)
    for row in found.rows:
        layers = [row[f"attention_on_1_layer_{layer}"] for layer in (1, 2)]
        assert row["attention_on_1"] == pytest.approx(sum(layers))
    assert b"</svg>" in picture(found.draw(), "svg")
    assert {claim.verdict for claim in claims({})} == {"not run at this scale"}


NEAR = {"baseline": {0: 16.6, 1: 17.3, 2: 17.0}, "scaled": {0: 16.7, 1: 17.2, 2: 17.1}}
"""On texts as short as those trained on."""
BEHIND = {"baseline": {0: 16.7, 1: 17.3, 2: 17.0}, "scaled": {0: 16.2, 1: 16.4, 2: 16.3}}
NONE_MISSING = {ALL: 0, LONG: 0}


@pytest.mark.parametrize(
    ("scaled", "near", "missing", "verdicts"),
    [
        ({}, NEAR, 0, ("holds", "holds")),  # the paper's own numbers
        ({LONG: (11.3, 11.3, 11.3)}, NEAR, 0, ("differs", "holds")),
        ({LONG: (11.3, 12.4)}, NEAR, 0, ("cannot tell", "holds")),
        ({ALL: (30.0, 30.0, 30.0)}, NEAR, 0, ("holds", "differs")),
        ({ALL: (30.0, 32.5)}, NEAR, 0, ("holds", "cannot tell")),
        # One seed does not say that there is no difference.
        ({ALL: (32.5,)}, NEAR, 0, ("holds", "cannot tell")),
        # Models that are not level on short texts say nothing of longer ones.
        ({LONG: (10.0, 10.1, 10.2)}, BEHIND, 0, ("cannot tell", "holds")),
        ({}, NEAR, 1, ("cannot tell", "cannot tell")),
    ],
)
def test_each_claim_on_translations_can_fail_or_stay_open(scaled, near, missing, verdicts):
    found = {key: dict.fromkeys(range(3), bleu) for key, bleu in PAPER.items()}
    found |= {("scaled", column): dict(enumerate(seeds)) for column, seeds in scaled.items()}
    claims = table1.claims(found, near, {ALL: missing, LONG: missing})
    assert tuple(claim.verdict for claim in claims) == verdicts
    assert ("-0.7 BLEU" in claims[0].ours) == (near is BEHIND)


def test_only_runs_of_one_seed_are_compared():
    found = {("baseline", LONG): {0: 50.0, 1: 10.0}, ("scaled", LONG): {1: 11.0, 2: 1.0}}
    first, second = table1.claims(found, NEAR, NONE_MISSING)
    assert first.ours.startswith("+1.0 BLEU (on texts of the training lengths")
    assert first.verdict == "cannot tell"  # one pair decides nothing
    assert second.verdict == "not run at this scale"


def test_what_was_not_run_is_not_judged():
    found = table1.findings({})
    assert {one.verdict for one in (*found.claims, *found.cells)} == {"not run at this scale"}
    assert len(found.cells) == len(found.rows) == 4


def test_the_papers_scale_is_that_of_its_code(host, own_place):
    wanted = table1._wanted("baseline", ALL, "tiny-pairs:translate", Bench(host, "paper", print))
    protocol = host.protocol(wanted.protocol)
    task = protocol.apply(host.task(wanted.task, dict(wanted.task_options)))
    network = host.network(wanted.model, task, dict(wanted.model_options))
    dropouts = {one.p for one in network.modules() if isinstance(one, nn.Dropout)}
    assert dropouts == {0.3}
    assert network.hide_read.share == network.hide_said.share == 0.1
    assert network.readout is None
    # The rate: 3e-4, times 0.8 where BLEU is worse than in each of the last three epochs.
    assert protocol.schedule.options["metric"] == f"validation/{task.primary.name}"
    schedule, memory, rates = resolve_protocol(host, protocol).schedule, {}, []
    for bleu in (0.1, 0.2, 0.19, 0.21, 0.2, 0.195, 0.18):
        schedule.evaluated(memory, {"validation/bleu": bleu})
        rates.append(schedule.rate(700, protocol.steps, 3e-4, memory))
    assert rates == pytest.approx([3e-4] * 6 + [3e-4 * 0.8])
    for epoch in range(60):
        schedule.evaluated(memory, {"validation/bleu": 0.1 - epoch / 1000})
    assert schedule.rate(0, protocol.steps, 3e-4, memory) == pytest.approx(1e-5, rel=1e-3)
    assert protocol.decay.final == 1.0
