"""Training: the schedule, the selection, and that a run can be had again bit by bit."""

import math

import pytest
import torch
from formalbench.contracts.network import Traits
from formalbench.contracts.objective import Measure
from formalbench.contracts.source import Stream
from formalbench.contracts.task import Task
from formalbench.evaluation.evaluate import CellScore
from formalbench.training import trainer, validation
from formalbench.training.curriculum import TrainingSchedule
from formalbench.training.gradients import BatchedGradients, SequentialGradients
from formalbench.training.parameters import numbers_of_steps
from formalbench.training.run_state import Checkpoint, LearningPoint, Member, RunState
from formalbench.training.trainer import resolve_protocol, train_cohort
from small_training import CPU, Sum, cohort, protocol
from torch import nn


class Knowing(nn.Module):
    """Knows FIRST from the start; the parameter is for the optimiser's sake."""

    def __init__(self, task):
        super().__init__()
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def forward(self, batch):
        logit = self.sharpness * (2.0 * batch.symbols[:, 0] - 1.0)
        return torch.stack((-logit, logit), dim=1)


class Failing(Knowing):
    """Gives NaN from a step on."""

    def forward(self, batch):
        self.calls = getattr(self, "calls", 0) + self.training
        return super().forward(batch) * (float("nan") if self.calls > 15 else 1.0)


@pytest.fixture
def task(host):
    return host.task("first")


@pytest.fixture
def train(host, task):
    def run(used, *members, network=Sum, program=None):
        asked, members = used.apply(task), members or (Member(0.01, 0),)
        return train_cohort(cohort(host, asked, used, members, lambda: network(task), program))

    return run


@pytest.fixture
def rates(monkeypatch):
    """Hear of the learning rate of every optimiser step of a single run."""
    heard = []

    def hear(rates, first, optimiser, like):
        assert first == len(heard)
        heard.extend(rate for (rate,) in rates)
        return numbers_of_steps(rates, first, optimiser, like)

    monkeypatch.setattr(trainer, "numbers_of_steps", hear)
    return heard


def test_the_rate_falls_linearly_to_its_final_share(train, rates):
    (done,) = train(protocol(decay={"steps": 20, "final": 0.1, "mastered": 0.0}))
    assert rates[:20] == pytest.approx([0.01] * 20)
    falling = [0.01 * (1 - 0.9 * share / 20) for share in range(1, 21)]
    assert rates[20:] == pytest.approx(falling)
    assert rates[-1] == pytest.approx(0.01 * 0.1)
    assert (done.ended, done.steps, done.strings, done.status) == ("budget", 40, 320, "finished")


def test_mastery_begins_the_decay_early(train, rates):
    heard = []
    used = protocol(steps=400, decay={"steps": 20, "final": 0.5}, curriculum={"kind": "staged"})
    (done,) = train(used, Member(0.001, 0, heard.append), network=Knowing)
    # one stage per evaluation, then the decay
    assert [p.stage for p in heard] == [2, 4, 7, 11, 17, 26, 40, 40, 40]
    assert [p.step for p in heard] == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert (done.ended, done.steps, done.stage) == ("mastered", 90, 40)
    assert rates[:70] == pytest.approx([0.001] * 70)
    assert rates[-1] == pytest.approx(0.0005)
    assert done.best.strings == 24
    assert done.best.measures["accuracy"] == Measure(24, 24)


class Overfitted(Knowing):
    """Is right in training alone, up to a step; from then on in validation, too."""

    def __init__(self, task, until=1000):
        super().__init__(task)
        self.until, self.calls = until, 0

    def forward(self, batch):
        self.calls += self.training
        right = self.training or self.calls > self.until
        return super().forward(batch) * (1.0 if right else -1.0)


UNIFORM = {"curriculum": {"kind": "uniform"}}
SELDOM = UNIFORM | {"validation": {"every": 20, "lengths": 3, "strings": 8}}
VALIDATED = {"steps": 20, "final": 0.5, "mastered": 0.02, "validated": 0.99}


@pytest.mark.parametrize(
    ("until", "ended", "steps"),
    [
        (1000, ("budget", 200), "never"),
        (0, ("mastered", 40), "at the first validation after the training error"),
        (45, ("mastered", 80), "at a later one"),
    ],
)
def test_mastery_needs_the_next_validation(train, until, ended, steps):
    used = protocol(steps=200, decay=VALIDATED, **SELDOM)
    (done,) = train(used, Member(1e-9, 0), network=lambda task: Overfitted(task, until))
    assert (done.ended, done.steps) == ended, steps


def test_a_training_error_that_rose_again_before_the_validation_counts(train):
    """The error is small in the first interval alone; then a bad validation undoes it."""

    class Once(Overfitted):
        def forward(self, batch):
            logits_BC = super().forward(batch)
            forgets = self.training and self.calls > 10
            return -logits_BC if forgets else logits_BC

    def ended(until):
        used = protocol(steps=100, decay=VALIDATED, **SELDOM)
        (done,) = train(used, Member(1e-9, 0), network=lambda task: Once(task, until))
        return done.ended, done.steps

    assert ended(until=0) == ("mastered", 40)
    assert ended(until=20) == ("budget", 100)


PATIENCE = {"after": 60, "steps": 40, "gain": 0.1}


class Improving(Knowing):
    """Is right in validation on the strings of lengths up to a share of the steps so far."""

    def __init__(self, task, until):
        super().__init__(task)
        self.until, self.calls = until, 0

    def forward(self, batch):
        self.calls += self.training
        right = not self.training and batch.symbols.shape[1] <= min(self.calls, self.until) / 2
        return super().forward(batch) * (1.0 if right else -1.0)


@pytest.mark.parametrize(
    ("until", "steps"),
    [(0, 60), (41, 60), (42, 100), (79, 100), (80, 120)],
)
def test_a_run_is_capped_where_validation_has_not_got_better_for_its_patience(train, until, steps):
    """Of the 3 lengths, 1 is learned after 2 steps, 21 after 42, and 40 after 80."""
    decay = {"steps": 20, "final": 0.5}
    used = protocol(steps=1000, decay=decay, patience=PATIENCE, **SELDOM)
    (done,) = train(used, Member(1e-9, 0), network=lambda task: Improving(task, until))
    assert (done.ended, done.status, done.steps) == ("capped", "finished", steps + 20)


@pytest.mark.parametrize(
    ("accuracies", "ended"),
    [
        ([0.5, 0.5, 0.5], "capped"),
        ([0.5, 0.5, 0.6], "stopped"),
        ([math.nan] * 3, "stopped"),
        ([0.5, math.nan, 0.5], "stopped"),  # nothing is known of 40 steps ago
        ([math.nan, 0.5, 0.5, 0.5], "capped"),
    ],
)
def test_patience_counts_the_validations_that_asked_something(host, accuracies, ended):
    used = protocol(steps=1000, validation={"every": 20}, patience=PATIENCE)
    made = resolve_protocol(host, used)
    schedule = TrainingSchedule(used, [[2]], made.schedule, "accuracy", made.sampler)
    run = RunState()
    for done, accuracy in zip(range(20, 100, 20), accuracies, strict=False):
        run.points.append(LearningPoint(done, 1.0, 1.0, accuracy))
        asked = {} if math.isnan(accuracy) else {"validation/accuracy": accuracy}
        schedule.judge(run, done, {"train/loss": 1.0, "train/error": 1.0, **asked})
    assert run.ended == ended


@pytest.mark.parametrize(("share", "decay"), [(None, 40), (0.25, 10), (0.5, 20), (9.0, 40)])
def test_the_decay_after_mastery_is_a_share_of_the_steps_before(train, rates, share, decay):
    """The run masters its lengths in 35 steps, as of the evaluation after 40."""

    class Late(Knowing):
        def forward(self, batch):
            self.calls = getattr(self, "calls", 0) + self.training
            return super().forward(batch) * (-1.0 if self.calls <= 25 else 1.0)

    used = protocol(steps=200, decay={"steps": 40, "final": 0.5, "share": share}, **UNIFORM)
    (done,) = train(used, Member(0.001, 0), network=Late)
    assert (done.ended, done.steps) == ("mastered", 40 + decay)
    assert rates[39] == pytest.approx(0.001)
    assert rates[-1] == pytest.approx(0.0005)
    assert len(rates) == 40 + decay


class Stuck(Knowing):
    """Is always wrong."""

    def forward(self, batch):
        return -super().forward(batch)


PATIENT = UNIFORM | {"patience": {"after": 40, "steps": 40}}


@pytest.mark.parametrize(
    ("network", "change", "ended", "steps"),
    [
        # without an error from the start, and mastery is switched off
        (Knowing, UNIFORM | {"decay": {"steps": 20, "mastered": 0.0}}, "budget", 40),
        # at the end of the budget the decay is whole for every share
        (
            Stuck,
            {"decay": {"steps": 20, "mastered": 0.0, "share": 0.1}, "steps": 100},
            "budget",
            100,
        ),
        # what masters its lengths or comes to its budget is not capped
        (Knowing, PATIENT | {"steps": 200}, "mastered", 30),
        (Stuck, PATIENT | {"steps": 60}, "budget", 60),
        # what diverges in the decay has not come to the end of training
        (Failing, {"decay": {"steps": 30, "final": 0.02, "mastered": 0.0}}, "stopped", 20),
    ],
)
def test_how_a_run_ends(train, network, change, ended, steps):
    (done,) = train(protocol(**change), Member(1e-9, 0), network=network)
    assert (done.ended, done.steps) == (ended, steps)
    assert (done.status == "diverged") == (network is Failing)


@pytest.fixture
def trained_on(monkeypatch):
    """Hear of the lengths of every training batch."""
    heard = []
    real = trainer.TrainingData.take

    def hear(self, interval):
        heard.append([length for length, _ in interval.batches])
        return real(self, interval)

    monkeypatch.setattr(trainer.TrainingData, "take", hear)
    return heard


def test_interleaved_stages_let_no_run_starve(train, trained_on):
    """Held up at its first stage, a run yet trains on all lengths, half of the time."""
    used = protocol(steps=100, curriculum={"error": 0.0}, decay={"steps": 20, "mastered": 0.0})
    (done,) = train(used, Member(1e-9, 0), network=Stuck)
    assert [max(lengths) <= 2 for lengths in trained_on] == [True, False] * 4 + [False, False]
    assert (done.stage, done.ended) == (2, "budget")


def test_a_run_that_masters_all_lengths_skips_the_stages_left(train, trained_on):
    used = protocol(steps=400, decay={"steps": 20, "final": 0.5})
    (done,) = train(used, Member(0.001, 0), network=Knowing)
    assert max(trained_on[0]) == 2
    assert (done.ended, done.steps, done.stage) == ("mastered", 40, 4)


def test_the_other_intervals_judge_no_stage(train, trained_on):
    """What a run gets wrong on long strings does not hold it up at its stage."""

    class Short(Knowing):
        def forward(self, batch):
            sign = 1.0 if batch.symbols.shape[1] <= 4 else -1.0
            return sign * super().forward(batch)

    heard = []
    used = protocol(steps=100, decay={"steps": 20, "mastered": 0.0})
    (done,) = train(used, Member(1e-9, 0, heard.append), network=Short)
    assert [p.stage for p in heard] == [2, 4, 4, 7, 7, 7, 7, 7, 40, 40]
    assert done.stage == 7


@pytest.mark.parametrize("shared", [False, True])
def test_seeds_train_on_lengths_of_their_own_or_share_them(train, trained_on, shared):
    used = protocol(shared_lengths=shared, **UNIFORM)
    train(used, Member(0.01, 0), Member(0.001, 0), Member(0.01, 1), program=BatchedGradients)
    # Four intervals, of each seed unless they share them: the rates of a seed go together.
    assert len(trained_on) == (4 if shared else 8)
    assert shared or trained_on[0::2] != trained_on[1::2]


def test_a_run_that_masters_nothing_stays_and_decays_on_everything(train):
    heard = []
    staged = {"kind": "staged", "error": 0.0}
    used = protocol(curriculum=staged, decay={"steps": 20, "mastered": 0.0})
    (done,) = train(used, Member(1e-9, 0, heard.append), network=Stuck)
    assert [p.stage for p in heard] == [2, 2, 40, 40]
    assert [p.metrics["train/error"] for p in heard] == [1.0] * 4
    assert (done.stage, done.ended) == (2, "budget")


def test_nothing_is_selected_on_test_data(train, monkeypatch):
    keys = []
    real = Task.stream

    def watching(self, *key):
        assert key[0] != "test"
        keys.append(key[0])
        return real(self, *key)

    def refuse(*arguments):
        raise AssertionError("the test set was drawn during training")

    monkeypatch.setattr(Task, "stream", watching)
    monkeypatch.setattr("formalbench.evaluation.cells.test_set", refuse)
    (done,) = train(protocol())
    assert done.status == "finished"
    assert set(keys) == {"train", "validation"}


def test_the_selected_weights_are_those_of_the_best_validation(train, monkeypatch):
    script = [(5, 0.9), (9, 0.5), (9, 0.4), (7, 0.1)]
    weights = []

    def scripted(network, task, test_set, device, precision):
        correct, bits = script[len(weights)]
        weights.append({k: v.clone() for k, v in network.state_dict().items()})
        measures = {"accuracy": Measure(correct, 10), "cross-entropy": Measure(10 * bits, 10)}
        return [CellScore(1, 1, 10, measures)]

    monkeypatch.setattr(validation, "evaluate", scripted)
    (done,) = train(protocol(decay={"steps": 20, "mastered": 0.0}))
    assert (done.best.step, done.best.preference) == (30, (0.9, -0.4))
    for name, value in done.network.state_dict().items():
        assert torch.equal(value, weights[2][name])
    assert not all(torch.equal(weights[2][name], weights[3][name]) for name in weights[0])


def same(one, other):
    ours, theirs = one.network.state_dict(), other.network.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_run_again_is_the_same_bit_by_bit(train):
    torch.manual_seed(1)
    (one,) = train(protocol())
    torch.manual_seed(2)
    (again,) = train(protocol())
    assert same(one, again)
    assert one.best.measures == again.best.measures
    (other,) = train(protocol(), Member(0.01, 1))
    assert not same(one, other)


def test_the_callers_random_state_is_left_alone(train):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    train(protocol())
    assert torch.equal(torch.rand(3), expected)


MEMBERS = [Member(0.05, 0), Member(0.05, 1), Member(1e-5, 0), Member(1e-5, 1)]


def close(one, other):
    ours, theirs = one.network.state_dict(), other.network.state_dict()
    return all(torch.allclose(ours[name], theirs[name], atol=1e-9) for name in ours)


def double(task):
    return Sum(task).double()


@pytest.mark.parametrize("program", [SequentialGradients, BatchedGradients])
def test_a_cohort_equals_its_runs_alone(train, program):
    """In double precision: Adam divides by tiny gradients, which blows rounding up."""
    used = protocol(steps=60, curriculum={"first": 2, "error": 0.3})
    together = train(used, *MEMBERS, network=double, program=program)
    stages = set()
    for member, one in zip(MEMBERS, together, strict=True):
        (alone,) = train(used, member, network=double)
        assert close(one, alone)
        assert (one.steps, one.stage, one.ended) == (alone.steps, alone.stage, alone.ended)
        assert one.best.preference == pytest.approx(alone.best.preference, abs=1e-9)
        stages.add((one.stage, one.steps))
    assert len(stages) > 1  # the cohort did split


@pytest.mark.parametrize("program", [SequentialGradients, BatchedGradients])
def test_one_run_that_diverges_leaves_the_others_alone(train, program):
    # A rate so large that the parameters overflow, beside one that trains.
    members = [Member(1e300, 0), Member(0.01, 1)]
    bad, good = train(protocol(), *members, network=double, program=program)
    (alone,) = train(protocol(), members[1], network=double)
    assert bad.status == "diverged"
    assert good.status == "finished"
    assert close(good, alone)


def test_dropout_does_not_depend_on_the_cohort(train):
    class Noisy(Sum):
        traits = Traits(vmap=False)

        def forward(self, batch):
            hidden = nn.functional.dropout(self.embed(batch.symbols).sum(1), 0.5, self.training)
            return self.read(hidden)

    together = train(protocol(), *MEMBERS, network=Noisy)
    for member, one in zip(MEMBERS, together, strict=True):
        (alone,) = train(protocol(), member, network=Noisy)
        assert same(one, alone)


def test_training_learns(train):
    used = protocol(steps=300, curriculum={"first": 1, "growth": 1.0}, batch=32)
    (done,) = train(used, Member(0.01, 0))
    assert done.best.measures["cross-entropy"].mean < 1.0


def test_a_loss_that_is_no_number_is_a_divergence(train):
    heard = []
    (done,) = train(protocol(), Member(0.01, 0, heard.append), network=Failing)
    assert done.status == "diverged"
    assert [p.step for p in heard] == [10]  # reported by the next evaluation
    assert done.steps == 20
    assert done.best.step == 10
    assert not math.isnan(done.best.measures["cross-entropy"].mean)


def test_a_time_limit_ends_a_run_at_an_evaluation(train):
    (done,) = train(protocol(time_limit=1e-9))
    assert (done.status, done.ended, done.steps) == ("timeout", "stopped", 10)
    (done,) = train(protocol(time_limit=1e9))
    assert (done.status, done.steps) == ("finished", 40)


def test_dropout_is_on_in_training_and_off_in_validation(train):
    modes = []

    class Watching(Sum):
        def forward(self, batch):
            modes.append(self.training)
            return super().forward(batch)

    train(protocol(), network=Watching)
    # 40 steps, and 3 validation cells after every 10
    assert modes == ([True] * 10 + [False] * 3) * 4


def test_batches_accumulate_to_one_step(train, monkeypatch):
    """Two batches equal one joint batch, independent of who samples the strings."""
    real = Task.sample

    def halves(self, stream, length, count):
        if "train" not in stream.key:
            return real(self, stream, length, count)
        *front, batch = stream.key
        both = real(self, Stream(*front, batch // 2), length, 2 * count)
        return both.rows(slice(batch % 2 * count, (batch % 2 + 1) * count))

    only = {"curriculum": {"kind": "uniform"}, "splits": {"train": [5, 5]}, "steps": 20}
    (at_once,) = train(protocol(batch=16, **only), network=double)
    monkeypatch.setattr(Task, "sample", halves)
    (accumulated,) = train(protocol(batch=8, accumulate=2, **only), network=double)
    assert close(accumulated, at_once)
    assert accumulated.strings == at_once.strings == 320


def test_a_schedule_comes_before_the_decay(train, rates):
    warm = {"name": "linear", "warm_up": 10, "final": 0.0}
    train(protocol(schedule=warm, decay={"steps": 20, "final": 0.5, "mastered": 0.0}))
    assert rates[:10] == pytest.approx([0.001 * step for step in range(1, 11)])
    assert rates[19] == pytest.approx(0.01 * 20 / 30)
    assert rates[29] == pytest.approx(0.01 * 10 / 30 * 0.75)
    assert rates[39] == 0.0


def test_a_plateau_lowers_the_rate_of_a_run(train, rates):
    plateau = {"name": "plateau", "factor": 0.1, "patience": 0, "metric": "train/error"}
    decay = {"steps": 10, "final": 1.0, "mastered": 0.0}
    (done,) = train(
        protocol(schedule=plateau, decay=decay, curriculum={"kind": "staged"}),
        network=Knowing,  # without an error from the start: nothing gets better
    )
    assert rates[::10] == pytest.approx([0.01, 0.01, 0.001, 0.0001])
    assert done.status == "finished"


# Which checkpoint of a run is preferred to which.


@pytest.mark.parametrize(
    ("new", "old", "better"),
    [
        ((0.5, -0.9), None, True),
        ((0.6, -0.9), (0.5, -0.1), True),
        ((0.5, -0.1), (0.6, -0.9), False),
        ((0.5, -0.1), (0.5, -0.2), True),
        ((0.5, -0.2), (0.5, -0.2), False),  # of equals the earlier one stays
    ],
)
def test_what_is_preferred_is_selected(new, old, better):
    made = [None if p is None else Checkpoint(1, 10, {}, p, torch.zeros(0)) for p in (new, old)]
    assert made[0].better_than(made[1]) is better


def test_what_cannot_be_told_is_preferred_to_nothing_else(host, monkeypatch):
    used, task = protocol(), host.task("first")

    def preference(nan):
        measures = {"accuracy": Measure(0, 0 if nan else 10), "cross-entropy": Measure(5, 10)}
        scores = [CellScore(1, 1, 10, measures)]
        monkeypatch.setattr(validation, "evaluate", lambda *_, **__: scores)
        return validation.Validator(task, used, CPU).score(nn.Identity(), 1, torch.zeros(1))

    assert not preference(nan=True).better_than(preference(nan=False))
    assert preference(nan=False).better_than(preference(nan=True))


def test_cells_count_the_same_where_a_checkpoint_is_chosen():
    few = CellScore(1, 1, 2, {"a": Measure(1, 2), "b": Measure(1, 4)})
    many = CellScore(9, 9, 2, {"a": Measure(2, 2), "b": Measure(90, 100)})
    found = validation.each_cell_alike([few, many])
    assert found["a"] == Measure(3, 4)
    assert found["b"].mean == pytest.approx((0.25 + 0.9) / 2)
