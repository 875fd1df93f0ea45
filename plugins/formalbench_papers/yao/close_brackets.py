"""What the experiments of Yao et al. on learned models share: the models, and how they did.

Reference: Yao et al. (2021), sections 6.1 and 6.2, appendix D.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.objective import Measure
from formalbench.contracts.record import Record
from formalbench.documents.figures import Series
from formalbench.documents.text import percent
from formalbench.metrics.close_brackets import MACRO, MICRO
from formalbench.statistics.intervals import RunAccuracy

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Answer, Claim, Row, at_least, every, higher
from formalbench_papers.framework.runs import CellPlan, CellRecords, ran_out
from formalbench_papers.framework.scores import UNLEARNED, Score, score_of

K = TypeVar("K")

PAPER = "yao"
"""The protocol with the authors' batches and schedule, and at most 120,000 updates."""

DEEP = "yao-15"
"""The same for languages of depth 15."""

NEAR_PERFECT = 0.95
"""What "near-perfect" is taken to mean: the paper gives no number; its text calls so what
its figures show above this."""

REDUCED = (
    "for a Transformer one learning rate, 0.01, instead of two; 40,000 steps of 512 "
    "fresh tokens instead of up to 100 passes over 2,000,000; 100,000 tokens of validation instead "
    "of 200,000"
)
"""What ``quick`` has less in Figure 4."""

REMARKS = (
    "Models: GPT-2's block as the Huggingface library has it, so layer norm comes before each "
    "branch (pre-LN), with GELU; one head, feed-forward width equal to the memory dimension, no "
    "dropout. The paper does not say where its layer norms are. Initial weights are PyTorch's "
    "defaults, and the read-out is not tied to the embedding. The LSTM has one layer and "
    "embeddings as wide as its state; in the authors' code they have 2k + 10 numbers.",
    "Every training step has fresh strings of one length, drawn as the paper's process draws "
    "lengths; the paper goes through the same 2·10⁶ tokens again and again. The empty string is "
    "left out, because it has no bracket to predict. A step is a budget of tokens, as many as ten "
    "strings have on average: the paper gives no batch size, its code has ten strings.",
    "At the scale paper there are at most 120,000 updates, where 100 epochs of the authors' code "
    "have 490,000. The rate is halved after each 4,900 updates without a gain on validation (2,000 "
    "updates of twice as many tokens for languages of depth 15), as after each epoch of the "
    "authors' code. Training stops after three such epochs. The gain is measured by the loss in "
    "the paper, and by the share of validation strings without an error here. At the scale quick "
    "the rate falls linearly at the end. Gradients are clipped to norm 1.",
    "Checkpoint and learning rate are chosen by the share of validation strings without any "
    "error, then by cross-entropy; what is reported is micro accuracy, over positions, as in "
    "the paper. One claim is about macro accuracy, over distances (Hewitt et al. 2020).",
    f"The training lengths count as learned from {NEAR_PERFECT:.0%} on validation. Trials that the "
    "last step of a protocol ended might have gone on to learn. So the verdict is “cannot tell” if "
    "they miss a level on validation; and, if they did not learn the training lengths, also if "
    "they miss a level on longer strings or other trials are better.",
)


FIGURE_4 = "dyck-8-10:generate"

QUICK = "yao-fig4-quick"

QUICK_LSTM = "yao-fig4-lstm-quick"
"""The same with both of the paper's rates: the greater one suits the Transformer, and an LSTM takes
half as long."""

BUDGET = (
    "for a Transformer one learning rate, 0.01, in place of the better of 0.01 and 0.001; 2·10⁷ "
    "training tokens, each seen once, where the paper has up to 100 epochs of 2·10⁶; 10⁵ "
    "validation tokens of 2·10⁵. All 10⁶ test tokens. Rate and steps were set by hand after single "
    "runs; these were also tested on longer strings, but not on the test strings."
)
"""What ``quick`` has less in Figure 4, as a remark says it."""


def transformer(width: int, layers: int = 2, positions: str = "scalar-6000") -> dict[str, Value]:
    """Return the options of the paper's Transformer."""
    return {
        "width": width,
        "layers": layers,
        "positions": positions,
        "heads": 1,
        "feed_forward": 1,
        "causal": True,
    }


class Trials(CellRecords):
    """What came of the trials of one setting; `chosen` are those of the rate by validation."""

    def shares(self, split: str, metric: str = MICRO) -> list[float]:
        """Return an accuracy of each trial on validation or test; 0 for one that failed."""
        read = _validated if split == "validation" else _tested
        measures = [read(record, metric) for record in self.chosen]
        return [measure.mean if measure else 0.0 for measure in measures]

    @cached_property
    def mastered(self) -> bool:
        """Whether they learned the training lengths: near-perfect on validation."""
        return at_least(self.validation, NEAR_PERFECT) is True

    @cached_property
    def validation(self) -> Score:
        """The mean over the trials, with its interval."""
        strings = [one.selected.strings if one.selected else 0.0 for one in self.chosen]
        return replace(self._score("validation", strings), cut_off=self.ran_out)

    @cached_property
    def test(self) -> Score:
        """The score of these trials on the longer test strings."""
        strings = [sum(one.test.cells.strings) if one.test else 0.0 for one in self.chosen]
        score = self._score("test", strings)
        return replace(score, cut_off=self.ran_out and not self.mastered)

    @property
    def ran_out(self) -> bool:
        """Whether the last step ended a trial: no protocol here trains for as long as the paper."""
        return any(map(ran_out, self.chosen))

    def score(self, split: str) -> Score:
        """Return the score on validation or test."""
        return self.validation if split == "validation" else self.test

    def _score(self, split: str, strings: Sequence[float]) -> Score:
        runs = [RunAccuracy(*pair) for pair in zip(self.shares(split), strings, strict=True)]
        key = (split, self.plan.model, self.plan.row, self.plan.column)
        return score_of(runs, None, key, failing=0.0, missing=self.missing)

    def score_text(self, split: str) -> str:
        """Return the mean of the trials in percent, its interval, and each of them.

        Example: ``95.7 % (95.1–96.2; trials 96.0, 95.4)``. With `UNLEARNED` where it is so.
        """
        score, values = self.score(split), self.shares(split)
        mean = f"{percent(score.mean)} % ({score.interval}"
        each = ", ".join(percent(value) for value in values)
        unlearned = UNLEARNED if (self.validation.mean or 0.0) < NEAR_PERFECT else ""
        return f"{mean}; {'trials' if len(values) > 1 else 'trial'} {each}{unlearned})"

    def higher(self, other: Trials, split: str, by: float = 0.0, metric: str = MICRO) -> Answer:
        """Return whether these trials are above others on a split (see `claims.higher`).

        Trials that ran out of steps before they had learned the training lengths are behind no
        others.
        """
        ones, others = (one.shares(split, metric) for one in (self, other))
        answer = higher(ones, others, by, missing=self.missing + other.missing)
        behind = other if answer is True else self
        return "cannot tell" if answer is not None and behind.test.cut_off else answer

    def reaches(self, least: float) -> Answer:
        """Return whether they reach a share on the longer test strings.

        Trials that did not learn the training lengths do not say no.
        """
        reached = at_least(self.test, least)
        return reached if self.mastered or reached is not False else "cannot tell"

    def rows(self, **keys: Value) -> list[Row]:
        """Return the data: a line per trial, `keys` first."""
        return [{**keys, **_numbers(record)} for record in self.chosen]


def _validated(record: Record, metric: str) -> Measure | None:
    """Return a metric on validation; None of a trial that did not finish."""
    if record.test is None or record.selected is None:
        return None
    value = record.selected.metrics.get(metric)
    return None if value is None else Measure(value.total, value.count)


def _tested(record: Record, metric: str) -> Measure | None:
    return None if record.test is None else record.test.cells.whole(metric)


def _numbers(record: Record) -> Mapping[str, str | int | float]:
    numbers: dict[str, str | int | float] = {
        "learning_rate": record.learning_rate or 0.0,
        "seed": record.seed,
        "status": record.status,
        "steps": record.training.steps if record.training else 0,
        "ended": record.training.ended if record.training else "",
    }
    for name, read in (("validation", _validated), ("test", _tested)):
        micro, macro = read(record, MICRO), read(record, MACRO)
        numbers[f"{name}_micro"] = round(micro.mean, 6) if micro else ""
        numbers[f"{name}_macro"] = round(macro.mean, 6) if macro else ""
        numbers[f"{name}_positions"] = micro.count if micro else ""
    return numbers | {"test_id": record.test_id}


def train(
    bench: Bench, wanted: Mapping[K, CellPlan], now: Callable[[K], bool] = lambda _: True
) -> dict[K, Trials]:
    """Train settings, and return what there is of each under its key.

    Args:
        bench: trains.
        wanted: every setting of the paper, those that decide first.
        now: whether a setting belongs to the scale.
    """
    return {
        key: Trials(cell.plan, cell.records) for key, cell in bench.train_each(wanted, now).items()
    }


def sizes_text(trained: Iterable[tuple[str, int]]) -> str:
    """Return the sizes that were trained of each model, such as ``LSTM: 30, 40``."""
    sizes: dict[str, list[str]] = {}
    for model, size in sorted(trained):
        sizes.setdefault(model, []).append(str(size))
    return "; ".join(f"{model}: {', '.join(some)}" for model, some in sizes.items())


@dataclass(frozen=True, slots=True)
class Lead:
    """A finding of the paper: some trials are ahead of others.

    Attributes:
        said: what is compared, as ``POS/N and COS``.
        ahead, behind: the trials.
        split: ``validation`` or ``test``.
    """

    said: str
    ahead: Trials
    behind: Trials
    split: str

    def gap(self, metric: str) -> float:
        """Return by how many points the first are ahead, on average."""
        ones, others = (one.shares(self.split, metric) for one in (self.ahead, self.behind))
        return 100 * (fmean(ones) - fmean(others))

    @property
    def alike(self) -> Answer:
        """Whether both metrics agree."""
        answers = {
            self.ahead.higher(self.behind, self.split, metric=metric) for metric in (MICRO, MACRO)
        }
        return "cannot tell" if "cannot tell" in answers else len(answers) == 1


def similar_by_distance(comparisons: Sequence[Lead], of: int) -> Claim:
    """Claim that findings do not depend on whether accuracy is over positions or distances.

    Args:
        comparisons: those that were run.
        of: how many there are in the paper.
    """
    return Claim(
        "The findings are similar with accuracy over distances (macro): the same models are ahead",
        "“the findings remain similar with either metrics” (appendix D.1)",
        "; ".join(
            f"{one.said}, {one.split}: {one.gap(MICRO):+.1f} points, macro {one.gap(MACRO):+.1f}"
            for one in comparisons
        ),
        every((one.alike for one in comparisons), of),
    )


def failed(outcomes: Iterable[Trials]) -> list[str]:
    """Return a remark if trials did not finish."""
    count = sum(record.test is None for one in outcomes for record in one.chosen)
    return [f"{count} trials did not finish; they count as 0."] if count else []


def lines_of(trials: Mapping[float, Sequence[float]], label: str, color: str) -> list[Series]:
    """Return the means as a line, and every trial as a dot, by their place on the axis."""
    means = [100 * sum(values) / len(values) for values in trials.values()]
    dots = [
        Series([place] * len(values), [100 * one for one in values], color, style=".", alpha=0.45)
        for place, values in trials.items()
    ]
    return [Series(list(trials), means, color, label, "o-"), *dots]
