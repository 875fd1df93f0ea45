"""formalbench: which formal languages can a sequence model express, learn and extrapolate on?

Everything that a plugin's author or a notebook needs is importable from here: ``docs/library.md``
shows how to take data and score answers, ``docs/plugins.md`` says what each name is for. Names are
imported when they are used: to announce a plugin costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formalbench.api import compare, models, results, run, tasks, trained
    from formalbench.contracts.config import Config, option
    from formalbench.contracts.errors import RequestError
    from formalbench.contracts.example import Batch, Example, pad
    from formalbench.contracts.hooks import (
        DetachedExecutor,
        Progress,
        RunInfo,
        Session,
        Workplace,
        hookimpl,
    )
    from formalbench.contracts.metric import Measure, Metric, StringMetric
    from formalbench.contracts.network import ExtendedAlphabet, ParameterGroup, Traits
    from formalbench.contracts.objective import Chance, Objective
    from formalbench.contracts.optimiser import Optimiser, ParameterInfo, Schedule
    from formalbench.contracts.penalty import Penalty
    from formalbench.contracts.sampler import Sampler
    from formalbench.contracts.source import (
        Corpus,
        HasAutomaton,
        HasBrackets,
        HasFixedStrings,
        HasMembers,
        HasNearMisses,
        HasParts,
        HasPrefixClasses,
        HasProcess,
        HasQuestions,
        Labels,
        Language,
        Mask,
        PairedCorpus,
        Source,
        Split,
        Stream,
        Strings,
        Symbols,
        Transduction,
        balanced,
    )
    from formalbench.contracts.specs import (
        ExecutorSpec,
        MetricSpec,
        ModelSpec,
        ObjectiveSpec,
        OptimiserSpec,
        PenaltySpec,
        ProbeSpec,
        ProtocolSpec,
        ReproductionSpec,
        SamplerSpec,
        ScheduleSpec,
        Splits,
        SuiteSpec,
        TableSpec,
        TaskSpec,
        TrackerSpec,
    )
    from formalbench.contracts.task import Task
    from formalbench.contracts.theory import Theory
    from formalbench.files import read_yaml
    from formalbench.metrics.accuracy import AnswerAccuracy, StringAccuracy
    from formalbench.metrics.cross_entropy import CrossEntropy
    from formalbench.readout import read_asked
    from formalbench.scoring.evaluate import evaluate
    from formalbench.scoring.report import Report, SuiteReport
    from formalbench.task_handle import LabelledStrings, TaskHandle, label, load, sample
    from formalbench.theory.lookup import theory_of

__version__ = "0.3.0"

_PLACES = {
    "api": "compare models results run tasks trained",
    "contracts.config": "Config option",
    "contracts.errors": "RequestError",
    "contracts.example": "Batch Example pad",
    "contracts.hooks": "DetachedExecutor Progress RunInfo Session Workplace hookimpl",
    "contracts.metric": "Measure Metric StringMetric",
    "contracts.network": "ExtendedAlphabet ParameterGroup Traits",
    "contracts.objective": "Chance Objective",
    "contracts.optimiser": "Optimiser ParameterInfo Schedule",
    "contracts.penalty": "Penalty",
    "contracts.sampler": "Sampler",
    "contracts.source": (
        "Corpus HasAutomaton HasBrackets HasFixedStrings HasMembers HasNearMisses HasParts "
        "HasPrefixClasses HasProcess HasQuestions Labels Language Mask PairedCorpus Source "
        "Split Stream Strings Symbols Transduction balanced"
    ),
    "contracts.specs": (
        "ExecutorSpec MetricSpec ModelSpec ObjectiveSpec OptimiserSpec PenaltySpec ProbeSpec "
        "ProtocolSpec ReproductionSpec SamplerSpec ScheduleSpec Splits SuiteSpec TableSpec "
        "TaskSpec TrackerSpec"
    ),
    "contracts.task": "Task",
    "contracts.theory": "Theory",
    "files": "read_yaml",
    "metrics.accuracy": "AnswerAccuracy StringAccuracy",
    "metrics.cross_entropy": "CrossEntropy",
    "readout": "read_asked",
    "scoring.evaluate": "evaluate",
    "scoring.report": "Report SuiteReport",
    "task_handle": "LabelledStrings TaskHandle label load sample",
    "theory.lookup": "theory_of",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "AnswerAccuracy",
    "Batch",
    "Chance",
    "Config",
    "Corpus",
    "CrossEntropy",
    "DetachedExecutor",
    "Example",
    "ExecutorSpec",
    "ExtendedAlphabet",
    "HasAutomaton",
    "HasBrackets",
    "HasFixedStrings",
    "HasMembers",
    "HasNearMisses",
    "HasParts",
    "HasPrefixClasses",
    "HasProcess",
    "HasQuestions",
    "LabelledStrings",
    "Labels",
    "Language",
    "Mask",
    "Measure",
    "Metric",
    "MetricSpec",
    "ModelSpec",
    "Objective",
    "ObjectiveSpec",
    "Optimiser",
    "OptimiserSpec",
    "PairedCorpus",
    "ParameterGroup",
    "ParameterInfo",
    "Penalty",
    "PenaltySpec",
    "ProbeSpec",
    "Progress",
    "ProtocolSpec",
    "Report",
    "ReproductionSpec",
    "RequestError",
    "RunInfo",
    "Sampler",
    "SamplerSpec",
    "Schedule",
    "ScheduleSpec",
    "Session",
    "Source",
    "Split",
    "Splits",
    "Stream",
    "StringAccuracy",
    "StringMetric",
    "Strings",
    "SuiteReport",
    "SuiteSpec",
    "Symbols",
    "TableSpec",
    "Task",
    "TaskHandle",
    "TaskSpec",
    "Theory",
    "TrackerSpec",
    "Traits",
    "Transduction",
    "Workplace",
    "__version__",
    "balanced",
    "compare",
    "evaluate",
    "hookimpl",
    "label",
    "load",
    "models",
    "option",
    "pad",
    "read_asked",
    "read_yaml",
    "results",
    "run",
    "sample",
    "tasks",
    "theory_of",
    "trained",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
