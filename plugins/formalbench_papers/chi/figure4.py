"""Influence of each symbol on the answer: gradients with respect to its vector.

A network may look its symbols up however it likes (RegularGPT computes whole tables of chunks,
recurrent networks gather what a symbol gives straight into their gates), so that there is no
one place to hook into. Instead every position is given a symbol of its own, whose row in the
embedding is a copy of the old symbol's: what comes out is the same, and the gradient of a
position's row is that of its vector.

Source: Chi et al. (2022b), "Dissecting Transformer Length Extrapolation via The Lens of Receptive
Field Analysis".

Legend: B strings, N symbols, V rows of the embedding, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Example, tensors, traits_of
from formalbench.contracts.source import Symbols
from formalbench.contracts.task import Task
from formalbench.documents.charts import BLUES, GREY, ORANGE
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import plural
from torch import Tensor, nn
from torch.func import functional_call

from formalbench_papers.chi import SOURCE
from formalbench_papers.chi.models import PROTOCOLS, QUICK_PROTOCOL, REGULARGPT, TRANSFORMER
from formalbench_papers.framework.bench import Bench, TrainedNetwork, records_of_networks, trained
from formalbench_papers.framework.claims import Claim, Findings, Row, across, value_range
from formalbench_papers.framework.curves import random_strings
from formalbench_papers.framework.measurements import Step
from formalbench_papers.framework.runs import CellPlan
from formalbench_papers.framework.tables import PaperModel
from formalbench_papers.index import experiment


def input_gradients(network: nn.Module, batch: Batch, answer: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the gradient of an answer with respect to the vector of every symbol, (B, N, D).

    Args:
        network: as it is tested; its parameters get no gradient.
        batch: the strings.
        answer: makes one number of the logits; a sum over strings, if each is to have its own.

    Raises:
        RequestError: if it has no embedding, or does not say which is that of symbols.
    """
    name, weight_VD = _embedding(network)
    symbols_BN = batch.symbols
    own = len(weight_VD) + torch.arange(symbols_BN.numel(), device=symbols_BN.device)
    rows_ND = weight_VD[symbols_BN.flatten()].requires_grad_()
    logits = functional_call(
        network,
        {name: torch.cat((weight_VD, rows_ND))},
        (batch._replace(symbols=own.view(symbols_BN.shape)),),
        tie_weights=False,  # a read-out that shares the embedding keeps its number of outputs
    )
    (gradient_ND,) = torch.autograd.grad(answer(logits), rows_ND)
    return gradient_ND.view(*symbols_BN.shape, weight_VD.shape[1])


def _embedding(network: nn.Module) -> tuple[str, Tensor]:
    """Return the name and the values of the matrix with a row per symbol."""
    symbol_embedding = traits_of(network).symbol_embedding
    modules = {name: m for name, m in network.named_modules() if isinstance(m, nn.Embedding)}
    named = {name: m for name, m in modules.items() if symbol_embedding in ("", name)}
    if len(named) != 1:
        raise RequestError(
            f"{type(network).__name__} has {len(modules)} torch.nn.Embedding: its traits must name "
            "that of symbols (symbol_embedding)"
        )
    ((name, module),) = named.items()
    return f"{name}.weight", module.weight.detach()


CHANGED_STRINGS = 4
"""Strings of which every symbol is changed, one at a time."""

SYMBOLS = 10_000
"""At a time: a Transformer's attention to 500 symbols is large, and so are RegularGPT's chunks."""

FIELD = 0.99
"""The share of the gradient that lies in the receptive field (Chi et al. 2022b)."""

Curve = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Field:
    """The receptive field of a network.

    Attributes:
        model: the title of the model.
        cumulative: the share of the gradient at a position and all later ones, a mean over
            strings; the earliest position first, so that it falls from 1.
        one: the same of one string, the median one by its distance from the diagonal.
        reach: how many of the most recent symbols hold 99 % of it, the mean over the strings.
        least: the least share of a position of a string, in units of an equal share.
        answers: the share of strings with one symbol changed that are answered right; None if
            it was not asked.
        accuracy: on the test of the run, at all its lengths.
        seed: of the run.
    """

    model: str
    cumulative: Sequence[float]
    one: Sequence[float]
    reach: float
    least: float
    answers: float | None
    accuracy: float
    seed: int

    @property
    def deviation(self) -> float:
        """The greatest distance of the curve from the diagonal."""
        return float(np.abs(np.array(self.cumulative) - diagonal(len(self.cumulative))).max())

    def line(self, color: str, label: str) -> Series:
        """Return the curve for a figure."""
        places = range(1, len(self.cumulative) + 1)
        return Series(places, self.cumulative, color, label)


def diagonal(length: int) -> Curve:
    """Return the curve of a gradient that is the same at every position."""
    return np.arange(length, 0, -1) / length


def shares(network: nn.Module, task: Task, strings_BN: Symbols) -> Curve:
    """Return each position's share of the norms of a string's gradients, (B, N).

    The gradient is that of the loss of the answers that the task scores with respect to the vector
    of a symbol.
    """
    parts = []
    batch = max(1, SYMBOLS // strings_BN.shape[1])
    for start in range(0, len(strings_BN), batch):
        part_BN = strings_BN[start : start + batch]
        example = tensors(task.examples(part_BN))

        def loss(logits: Tensor, example: Example = example) -> Tensor:
            return task.objective.loss(logits, example)

        gradient_BND = input_gradients(network, example.batch, loss)
        norm_BN = gradient_BND.norm(dim=2).numpy()
        parts.append(norm_BN / norm_BN.sum(axis=1, keepdims=True))
    return np.concatenate(parts)


def with_each_changed(task: Task, string_N: Symbols) -> Symbols:
    """Return the strings that differ from one in one symbol, the next of the alphabet: (N, N)."""
    changed_NN = np.tile(string_N, (len(string_N), 1))
    index = np.arange(len(string_N))
    changed_NN[index, index] = (string_N + 1) % len(task.alphabet)
    return changed_NN


def answered(network: nn.Module, task: Task, strings_BN: Symbols) -> float:
    """Return the share of strings answered right."""
    right, batch = 0.0, max(1, SYMBOLS // strings_BN.shape[1])
    for start in range(0, len(strings_BN), batch):
        example = tensors(task.examples(strings_BN[start : start + batch]))
        with torch.no_grad():
            logits = network(example.batch)
        right += float(task.objective.right(logits, example, task.primary).double().sum())
    return right / len(strings_BN)


def field_of(
    network: TrainedNetwork,
    model: str,
    name: str,
    strings_of: Callable[[Task], Symbols],
    step: Step,
    *,
    change: bool = False,
) -> Field:
    """Return the receptive field of a network on strings of one length; measure it once.

    Args:
        network: trained.
        model: its title.
        name: of the task it was trained on. The loss is that of the answers its test asks for: on
            a text the last token.
        strings_of: draws the strings, given the task of the test.
        step: all that decides the measurement beside the network and the task.
        change: whether to change the strings' symbols, too, and see whether the answers follow.
    """

    def look_inside() -> dict[str, Any]:
        task = network.bench.task(name).of("test")
        return asdict(_measured(network, model, task, strings_of(task), change=change))

    return Field(**network.find({"task": name, "find": "gradients", **step}, look_inside))


def _measured(
    network: TrainedNetwork, model: str, task: Task, strings_BN: Symbols, *, change: bool
) -> Field:
    share_BN = shares(network.module, task, strings_BN)
    cumulative_BN = np.cumsum(share_BN[:, ::-1], axis=1)[:, ::-1]
    length = strings_BN.shape[1]
    off_B = np.abs(cumulative_BN - diagonal(length)).max(axis=1)
    answers = None
    if change:
        changed = [with_each_changed(task, string_N) for string_N in strings_BN[:CHANGED_STRINGS]]
        answers = answered(network.module, task, np.concatenate(changed))
    return Field(
        model=model,
        cumulative=cumulative_BN.mean(axis=0).tolist(),
        one=cumulative_BN[np.argsort(off_B)[len(off_B) // 2]].tolist(),
        reach=float(((cumulative_BN < FIELD).sum(axis=1) + 1).mean()),
        least=float(share_BN.min() * length),
        answers=answers,
        accuracy=network.accuracy,
        seed=network.record.seed,
    )


LENGTH = 500

STRINGS = 100

STRAIGHT = 0.1
"""A curve nowhere further than this from the diagonal is a straight line; the limit is ours."""


@dataclass(frozen=True, slots=True)
class FieldLanguage:
    """One language: its task, and whether it is the paper's."""

    title: str
    task: str
    paper: str


PANELS = (
    FieldLanguage("PARITY", "parity", "Figure 4a"),
    FieldLanguage("Cycle Navigation", "cycle-navigation", "not shown"),
)


@experiment(
    "chi-fig4a",
    "The receptive field of RegularGPT on PARITY",
    f"{SOURCE}, Figure 4a and §7.4; the tool from Chi et al. (2022b)",
    about="How much each of 500 symbols changes the answer of a network trained on at most 40 "
    "symbols: the norm of the gradient with respect to its vector, added up from the most "
    "recent symbol (right) to the earliest (left). If all symbols have equal weight, the "
    "curve is a straight line from the lower right to the upper left.",
    reduced=QUICK_PROTOCOL,
    core_hours=(0.3, 90),
    inside=True,
)
def carry_out(bench: Bench) -> Findings:
    """Train RegularGPT on both languages, a Transformer on the paper's, and measure all."""
    plans = [_plan(bench, panel, REGULARGPT, None) for panel in PANELS]
    every = trained(bench, [*plans, _plan(bench, PANELS[0], TRANSFORMER, 1)])
    *networks, contrast = every
    fields: dict[str, list[Field]] = {}
    for panel, own in zip(PANELS, networks, strict=True):
        bench.report(f"{panel.title}: gradients of {STRINGS} strings")
        fields[panel.title] = [_field(network, REGULARGPT.title, panel) for network in own]
    claims = [
        claim
        for panel, own in zip(PANELS, networks, strict=True)
        for claim in _claims(panel, fields[panel.title], all(one.learned for one in own))
    ]
    others = [_field(network, TRANSFORMER.title, PANELS[0]) for network in contrast]
    fields[PANELS[0].title] += others
    remarks = [*_REMARKS, *map(_on_contrast, others)]
    return Findings(
        _rows(fields),
        claims,
        lambda: Figure([[_panel(panel, fields[panel.title]) for panel in PANELS]]),
        remarks,
        records=records_of_networks(every),
    )


def _field(network: TrainedNetwork, model: str, panel: FieldLanguage) -> Field:
    """Return the receptive field of a network; of RegularGPT, also whether answers follow."""
    change = model == REGULARGPT.title
    return field_of(
        network,
        model,
        panel.task,
        lambda task: random_strings(task, LENGTH, STRINGS),
        {"length": LENGTH, "strings": STRINGS, "change": change},
        change=change,
    )


def _plan(bench: Bench, panel: FieldLanguage, model: PaperModel, seeds: int | None) -> CellPlan:
    return CellPlan(
        model.title,
        panel.title,
        model.name,
        panel.task,
        PROTOCOLS[bench.scale],
        model.options(bench.scale),
        seeds=seeds,
    )


_REMARKS = (
    "The tool, as we understand §7.4 and Chi et al. (2022b): the norm of the gradient of the "
    "answer's loss with respect to the vector of each symbol, as a share of the sum over the "
    "string, added up from the most recent symbol to the earliest. Curves are means over "
    f"{STRINGS} random strings; the paper does not say over how many. Gradients are in double "
    "precision.",
    "The straightness of the paper's line can only be read off its figure. Its axis has no tick at "
    "0, so the most recent symbol seems to have much more than an equal share there as well.",
    f"Every symbol is also tested without gradients: in {CHANGED_STRINGS} strings "
    "each symbol is changed, one at a time, and the answer must follow.",
    "Cycle Navigation is not in the paper's figure.",
)


def _on_contrast(field: Field) -> str:
    return (
        f"For contrast a Transformer with relative positions, trained alike, on PARITY: right on "
        f"{100 * field.accuracy:.1f} % of the test strings, at most {field.deviation:.2f} from the "
        f"diagonal, 99 % of the gradient in {field.reach:.0f} symbols. A slanted line says that "
        "all symbols count, not that they are counted right."
    )


def _claims(panel: FieldLanguage, fields: Sequence[Field], learned: bool) -> list[Claim]:
    paper = "§7.4" if panel is PANELS[0] else panel.paper
    answers = [field.answers for field in fields if field.answers is not None]
    least = min((field.least for field in fields), default=0.0)
    halves = [100 * field.cumulative[LENGTH // 2] for field in fields]
    deviations = [field.deviation for field in fields]
    matters = across(
        field.answers is not None and field.answers >= 0.99 and field.least > 0 for field in fields
    )
    straight = across(deviation <= STRAIGHT for deviation in deviations)
    return [
        Claim(
            f"{panel.title}: the receptive field covers all {LENGTH} positions: with any one "
            "symbol changed, 99 % of the answers are right",
            paper,
            f"{value_range([100 * share for share in answers], 2)} %; the least gradient of a "
            f"symbol is {least:.1g} of an equal share; 99 % of the gradient is in the last "
            f"{value_range([field.reach for field in fields], 0)} symbols "
            f"({plural(len(fields), 'network')})"
            if fields
            else "",
            matters if learned else "cannot tell",
        ),
        Claim(
            f"{panel.title}: the cumulative gradient is a straight line (nowhere more than "
            f"{STRAIGHT} from the diagonal: our limit, where the paper says “slanted”)",
            panel.paper,
            f"at most {value_range(deviations, 2)} from the diagonal; {value_range(halves, 0)} % "
            f"of the gradient is in the last {LENGTH // 2} symbols"
            if fields
            else "",
            straight if learned else "cannot tell",
        ),
    ]


def _rows(fields: dict[str, list[Field]]) -> list[Row]:
    return [
        {
            "language": language,
            "model": field.model,
            "seed": field.seed,
            "position": position,
            "cumulative": round(mean, 6),
            "one_string": round(one, 6),
        }
        for language, measured in fields.items()
        for field in measured
        for position, (mean, one) in enumerate(
            zip(field.cumulative, field.one, strict=True), start=1
        )
    ]


def _panel(panel: FieldLanguage, fields: Sequence[Field]) -> Panel:
    lines = []
    for field in fields:
        ours = field.model == REGULARGPT.title
        color = BLUES[1 + field.seed % 3] if ours else ORANGE
        label = f"{field.model}, mean of strings{', each seed' * ours}"
        lines.append(field.line(color, label))
    for field in fields[:1]:
        places = range(1, LENGTH + 1)
        lines.append(Series(places, field.one, GREY, "RegularGPT, one string", width=0.8))
    return field_panel(LENGTH, "diagonal", lines, title=panel.title)


def field_panel(length: int, label: str, lines: Sequence[Series], title: str = "") -> Panel:
    """Return the curves of fields against the position, with the diagonal under them."""
    straight = diagonal(length).tolist()
    return Panel(
        [Series(range(1, length + 1), straight, GREY, label, "--", width=1), *lines],
        title=title,
        x="position",
        y="cumulative share of the gradient",
        xlim=(0, length),
        ylim=(0, 1.02),
    )
