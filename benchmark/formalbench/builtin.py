"""What the engine itself provides, as a plugin: it costs nothing to announce."""

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
_PROBES = "formalbench.probes:"
_OPTIMISERS = "formalbench.training.optimisers:"
_PROCESSES = "formalbench.running.processes:"
_SCHEDULES = "formalbench.training.schedules:"
_SAMPLERS = "formalbench.training.curriculum:"
_CONFIGS = "formalbench.training.configs:"


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce the protocols of this package."""
    yield ProtocolSpec(
        "quick", "the default, minutes: 2,000 steps, 16 test lengths", _FOLDER / "quick.yaml"
    )
    yield ProtocolSpec(
        "standard",
        "for publishing: until mastered, at most 20,000 steps; 32 test lengths",
        _FOLDER / "standard.yaml",
        earlier=(_FOLDER / "standard-v3.yaml",),
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
        "the answer to a string, a symbol at each of the blanks behind it",
        f"{_OBJECTIVES}transduce:Transduce",
    )
    yield ObjectiveSpec(
        "decode", "the answer to a string, symbol by symbol", f"{_OBJECTIVES}transduce:Decode"
    )


@hookimpl
def formalbench_metrics() -> Iterable[MetricSpec]:
    """Announce the metrics of this package; each belongs to the objectives that name it."""
    yield MetricSpec(
        "accuracy",
        1,
        "the share of strings whose one answer is right",
        f"{_METRICS}accuracy:Accuracy",
        objectives=(),
        named_by=("classify",),
    )
    yield MetricSpec(
        "mutual-information",
        1,
        "what the answer tells of the right one, in bits; of at most 8 classes",
        f"{_METRICS}mutual_information:MutualInformation",
        objectives=(),
        named_by=("classify",),
    )
    yield MetricSpec(
        "string-accuracy",
        1,
        "the share of strings whose answers are all right",
        f"{_METRICS}accuracy:StringAccuracy",
        objectives=(),
        named_by=("tag", "next-symbols"),
    )
    yield MetricSpec(
        "answer-accuracy",
        1,
        "the share of answers that are right",
        f"{_METRICS}accuracy:AnswerAccuracy",
        objectives=(),
        named_by=("transduce", "decode"),
    )
    yield MetricSpec(
        "close-bracket-string-accuracy",
        1,
        "the share of strings in which every closing bracket is predicted with 80 % or more",
        f"{_METRICS}close_brackets:CloseBrackets",
        objectives=(),
        named_by=("generate",),
    )
    yield MetricSpec(
        "cross-entropy",
        1,
        "-log2 of the probability of the right answer, in bits per answer",
        f"{_METRICS}cross_entropy:CrossEntropy",
        objectives=(),
        named_by=("classify", "tag", "next-symbols", "generate", "transduce", "decode"),
    )


@hookimpl
def formalbench_probes() -> Iterable[ProbeSpec]:
    """Announce the probes of this package."""
    yield ProbeSpec(
        "attention-on-first",
        "how much the position that is read attends to the first symbol",
        f"{_PROBES}attention_on_first",
    )
    yield ProbeSpec(
        "attention-entropy",
        "how spread out the attention of the position that is read is",
        f"{_PROBES}attention_entropy",
    )


@hookimpl
def formalbench_optimisers() -> Iterable[OptimiserSpec]:
    """Announce the optimisers of this package."""
    yield OptimiserSpec(
        "adam",
        "adaptive moments; weight decay is part of the gradient",
        f"{_OPTIMISERS}Adam",
        f"{_CONFIGS}AdamConfig",
        "Kingma & Ba 2015",
    )
    yield OptimiserSpec(
        "adamw",
        "adaptive moments, with a weight decay of its own",
        f"{_OPTIMISERS}AdamW",
        f"{_CONFIGS}AdamWConfig",
        "Loshchilov & Hutter 2019",
    )
    yield OptimiserSpec(
        "sgd",
        "gradient descent, with momentum if wanted",
        f"{_OPTIMISERS}Sgd",
        f"{_CONFIGS}SgdConfig",
    )
    yield OptimiserSpec(
        "lion",
        "the sign of a momentum, with a weight decay of its own",
        f"{_OPTIMISERS}Lion",
        f"{_CONFIGS}LionConfig",
        "Chen et al. 2023",
    )
    yield OptimiserSpec(
        "muon",
        "orthogonalised momentum for hidden matrices, AdamW for the rest",
        f"{_OPTIMISERS}Muon",
        f"{_CONFIGS}MuonConfig",
        "Jordan et al. 2024; Liu et al. 2025",
    )


@hookimpl
def formalbench_schedules() -> Iterable[ScheduleSpec]:
    """Announce the schedules of this package."""
    yield ScheduleSpec(
        "constant", "the rate itself", f"{_SCHEDULES}ConstantSchedule", f"{_CONFIGS}ConstantConfig"
    )
    yield ScheduleSpec(
        "linear",
        "up, then down in a line",
        f"{_SCHEDULES}LinearSchedule",
        f"{_CONFIGS}LinearConfig",
    )
    yield ScheduleSpec(
        "cosine",
        "up, then down along half a cosine",
        f"{_SCHEDULES}CosineSchedule",
        f"{_CONFIGS}CosineConfig",
    )
    yield ScheduleSpec(
        "inverse-sqrt",
        "up, then down with the root of the steps",
        f"{_SCHEDULES}InverseSqrtSchedule",
        f"{_CONFIGS}InverseSqrtConfig",
    )
    yield ScheduleSpec(
        "plateau",
        "down whenever validation gets no better",
        f"{_SCHEDULES}PlateauSchedule",
        f"{_CONFIGS}PlateauConfig",
    )


@hookimpl
def formalbench_samplers() -> Iterable[SamplerSpec]:
    """Announce the samplers of this package."""
    yield SamplerSpec(
        "uniform",
        "all lengths of the training split alike",
        "formalbench.contracts.sampler:Sampler",
    )
    yield SamplerSpec("staged", "short strings first, longer ones later", f"{_SAMPLERS}Staged")
    yield SamplerSpec(
        "interleaved",
        "staged and uniform by turns, from evaluation to evaluation",
        f"{_SAMPLERS}InterleavedStages",
    )
    yield SamplerSpec(
        "generated", "lengths as the task's own process has them", f"{_SAMPLERS}Generated"
    )


@hookimpl
def formalbench_penalties() -> Iterable[PenaltySpec]:
    """Announce the penalties of this package."""
    yield PenaltySpec(
        "l1",
        "the sum of the sizes of all parameters",
        "formalbench.training.penalties:L1",
        "Tibshirani 1996",
    )


@hookimpl
def formalbench_executors() -> Iterable[ExecutorSpec]:
    """Announce the executors of this package."""
    yield ExecutorSpec(
        "serial", "one after another, in this process", "formalbench.running.processes:make_serial"
    )
    yield ExecutorSpec("local", "processes of this machine", f"{_PROCESSES}make_local")
