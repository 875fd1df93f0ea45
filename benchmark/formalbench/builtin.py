"""The engine's built-in plugin: objectives, metrics, optimisers and more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import (
    ExecutorSpec,
    MetricSpec,
    ObjectiveSpec,
    OptimiserSpec,
    PenaltySpec,
    ProbeSpec,
    ProtocolSpec,
    SamplerSpec,
    ScheduleSpec,
)

_FOLDER = Path(__file__).with_name("protocols")
_OBJECTIVES = "formalbench.objectives."
_METRICS = "formalbench.metrics."
_PROBES = "formalbench.training.validation:"
_PROCESSES = "formalbench.running.processes:"
_SAMPLERS = "formalbench.training.curriculum:"


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce the protocols of this package."""
    yield ProtocolSpec(
        "quick", "the default, takes minutes: 2,000 steps, 16 test lengths", _FOLDER / "quick.yaml"
    )
    yield ProtocolSpec(
        "standard",
        "for publishing: trains until mastered, at most 20,000 steps; 32 test lengths",
        _FOLDER / "standard.yaml",
        earlier=(_FOLDER / "standard-v3.yaml",),
    )
    yield ProtocolSpec(
        "standard-long",
        "for what learns late: standard with at most 100,000 steps, never capped",
        _FOLDER / "standard-long.yaml",
    )


@hookimpl
def formalbench_objectives() -> Iterable[ObjectiveSpec]:
    """Announce the objectives of this package."""
    yield ObjectiveSpec(
        "classify", "the class of the whole string", f"{_OBJECTIVES}classify:Classify"
    )
    yield ObjectiveSpec("tag", "the class of every prefix", f"{_OBJECTIVES}tag:Tag")
    yield ObjectiveSpec(
        "next-symbols",
        "which symbols may come next, after every prefix",
        f"{_OBJECTIVES}next_symbols:NextSymbols",
        "Gers & Schmidhuber 2001; Suzgun et al. 2019",
    )
    yield ObjectiveSpec(
        "generate",
        "the distribution of the next symbol, after every prefix",
        f"{_OBJECTIVES}generate:Generate",
        "Hewitt et al. 2020; Yao et al. 2021",
    )
    yield ObjectiveSpec(
        "transduce",
        "the output string, read at blank symbols appended to the input",
        f"{_OBJECTIVES}transduce:Transduce",
    )
    yield ObjectiveSpec(
        "decode", "the output string, generated symbol by symbol", f"{_OBJECTIVES}transduce:Decode"
    )


@hookimpl
def formalbench_metrics() -> Iterable[MetricSpec]:
    """Announce the metrics of this package; each belongs to the objectives that name it."""
    yield MetricSpec(
        "accuracy",
        1,
        "share of strings with the right answer",
        f"{_METRICS}answers:Accuracy",
        objectives=(),
        named_by=("classify",),
    )
    yield MetricSpec(
        "mutual-information",
        1,
        "mutual information of answer and target, in bits; for at most 8 classes",
        f"{_METRICS}answers:MutualInformation",
        objectives=(),
        named_by=("classify",),
    )
    yield MetricSpec(
        "string-accuracy",
        1,
        "share of strings with all answers right",
        f"{_METRICS}answers:StringAccuracy",
        objectives=(),
        named_by=("tag", "next-symbols"),
    )
    yield MetricSpec(
        "answer-accuracy",
        1,
        "share of right answers",
        f"{_METRICS}answers:AnswerAccuracy",
        objectives=(),
        named_by=("transduce", "decode"),
    )
    yield MetricSpec(
        "close-bracket-string-accuracy",
        1,
        "share of strings in which every closing bracket has a probability of 80 % or more",
        f"{_METRICS}close_brackets:CloseBrackets",
        objectives=(),
        named_by=("generate",),
    )
    yield MetricSpec(
        "cross-entropy",
        1,
        "-log2 of the probability of the right answer, in bits per answer",
        f"{_METRICS}answers:CrossEntropy",
        objectives=(),
        named_by=("classify", "tag", "next-symbols", "generate", "transduce", "decode"),
    )


@hookimpl
def formalbench_probes() -> Iterable[ProbeSpec]:
    """Announce the probes of this package."""
    yield ProbeSpec(
        "attention-on-first",
        "attention of the answering position to the first symbol",
        f"{_PROBES}attention_on_first",
    )
    yield ProbeSpec(
        "attention-entropy",
        "entropy of the attention of the answering position",
        f"{_PROBES}attention_entropy",
    )


@hookimpl
def formalbench_optimisers() -> Iterable[OptimiserSpec]:
    """Announce the optimisers of this package."""
    from formalbench.training.configs import OPTIMISERS

    return OPTIMISERS


@hookimpl
def formalbench_schedules() -> Iterable[ScheduleSpec]:
    """Announce the learning rate schedules of this package."""
    from formalbench.training.configs import SCHEDULES

    return SCHEDULES


@hookimpl
def formalbench_samplers() -> Iterable[SamplerSpec]:
    """Announce the samplers of this package."""
    yield SamplerSpec(
        "uniform",
        "all training lengths equally often",
        "formalbench.contracts.training:Sampler",
    )
    yield SamplerSpec(
        "staged", "short strings first, longer ones later", f"{_SAMPLERS}StagedSampler"
    )
    yield SamplerSpec(
        "interleaved",
        "alternates between staged and uniform at each evaluation",
        f"{_SAMPLERS}InterleavedSampler",
    )
    yield SamplerSpec(
        "generated", "lengths from the task's own string process", f"{_SAMPLERS}ProcessSampler"
    )


@hookimpl
def formalbench_penalties() -> Iterable[PenaltySpec]:
    """Announce the penalties of this package."""
    yield PenaltySpec(
        "l1",
        "sum of the absolute values of all parameters",
        "formalbench.training.gradients:L1",
        "Tibshirani 1996",
    )


@hookimpl
def formalbench_executors() -> Iterable[ExecutorSpec]:
    """Announce the executors of this package."""
    yield ExecutorSpec(
        "serial", "one after another in this process", "formalbench.running.processes:make_serial"
    )
    yield ExecutorSpec("local", "worker processes on this machine", f"{_PROCESSES}make_local")
