"""From names to objectives, metrics and networks: what fits together, and what is refused."""

import pytest
import torch
from formalbench.checks.plugins import trial_task
from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.network import Example, Traits
from formalbench.contracts.objective import Metric
from formalbench.contracts.source import HasMembers, Language
from formalbench.contracts.specs import (
    MetricSpec,
    ModelSpec,
    ObjectiveSpec,
    Splits,
    TaskSpec,
)
from formalbench.objectives.classify import Classify
from formalbench_tasks.languages.modular_arithmetic import Parity
from refusals import refusal
from torch import nn


class FirstSymbol(Classify):
    """Which symbol does a string begin with? It is asked of any language."""

    name = "first-symbol"

    def answers(self, source):
        return source.alphabet

    def examples(self, source, strings_BN, stream):
        return Example(strings_BN, strings_BN[:, 0])


class Around(FirstSymbol):
    """The symbol at every position; an answer may see the whole string."""

    name, layout = "around", "each"

    def examples(self, source, strings_BN, stream):
        return Example(strings_BN, strings_BN)


class Past(Around):
    """The same, but of an answer's prefix only."""

    name, sees_all = "past", False


class Needy(FirstSymbol):
    name = "needy"
    needs = (HasMembers,)


class Logits(Metric):
    name = "logit-size"

    def measure(self, logits, example):
        return torch.stack((logits.abs().sum().double(), torch.tensor(float(logits.numel()))))


class Accuracy(Logits):
    name = "accuracy"


class Width(Config):
    width: int = option(4, "", minimum=1)


class Net(nn.Module):
    def __init__(self, task, config):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), config.width)
        self.width = config.width

    def forward(self, batch):
        return self.embed(batch.symbols)


class Backbone(Net):
    def __init__(self, task, config):
        super().__init__(task, config)
        self.traits = Traits(backbone=config.width)


class Seeing(Net):
    def __init__(self, task, config):
        super().__init__(task, config)
        self.traits = Traits(backbone=config.width, causal=False)


class Speaking(Net):
    traits = Traits(encoder_decoder=True)


class Mistaken(Net):
    traits = "causal"


@pytest.fixture
def known(host):
    """A host that also knows the objectives and the models above."""
    plugin = host.plugins[0]
    for one in (FirstSymbol, Around, Past, Needy):
        host.objectives.add(ObjectiveSpec(one.name, "", one), plugin)
    for one in (Net, Backbone, Seeing, Speaking, Mistaken):
        host.models.add(ModelSpec(one.__name__.lower(), 1, "", one, Width), plugin)
    return host


# Objectives.


def test_an_objective_of_a_plugin_can_be_asked_of_a_language_that_never_heard_of_it(known):
    task = known.task("cycle-navigation:first-symbol")
    assert task.name == "cycle-navigation:first-symbol"
    assert task.outputs == 3
    assert "first-symbol" not in known.select_task("cycle-navigation").spec.objectives
    assert known.select_task("cycle-navigation:first-symbol").objective == "first-symbol"


def test_an_objective_is_made_once(host):
    assert host.objective("tag") is host.objective("tag")
    assert host.task("parity:tag").objective is host.task("first:tag").objective
    with pytest.raises(RequestError, match="unknown objective 'tga': did you mean tag"):
        host.objective("tga")


@pytest.mark.parametrize("factory", [FirstSymbol, dict])
def test_an_objective_that_is_another_is_the_plugins_fault(host, factory):
    host.objectives.add(ObjectiveSpec("mine", "", factory), host.plugins[0])
    with pytest.raises(BrokenPluginError, match="the factory of the objective mine gave"):
        host.objective("mine")


def test_a_capability_of_a_plugins_own_is_named_as_it_is(known):
    class HasGrammar:
        pass

    class Derived(FirstSymbol):
        name, needs = "derived", (Language, HasGrammar)

    known.objectives.add(ObjectiveSpec("derived", "", Derived), known.plugins[0])
    assert refusal(lambda: known.task("parity:derived")) == (
        "parity does not support derived: use parity:classify or parity:tag or "
        "parity:next-symbols (derived needs a HasGrammar, and Parity is none (inherit HasGrammar))"
    )


# Metrics.


def test_an_objective_measures_cross_entropy(known):
    class Without(FirstSymbol):
        name = "without"

        def metrics(self, source):
            return (Logits(),)

    known.objectives.add(ObjectiveSpec("without", "", Without), known.plugins[0])
    with pytest.raises(RequestError, match=r"must name the metric cross-entropy .* logit-size"):
        known.task("parity:without")


def test_metrics_that_cannot_be_named_are_the_plugins_fault(known):
    class Fails(FirstSymbol):
        name = "fails"

        def metrics(self, source):
            raise LookupError("nothing to measure")

    known.objectives.add(ObjectiveSpec("fails", "", Fails), known.plugins[0])
    with pytest.raises(BrokenPluginError, match="nothing to measure"):
        known.task("parity:fails")


def test_a_metric_of_a_plugin_is_measured_where_it_says(host):
    host.metrics.add(MetricSpec("logit-size", 2, "", Logits, ("classify",)), host.plugins[0])
    task = host.task("parity")
    own = ["accuracy", "cross-entropy", "mutual-information"]
    assert [metric.name for metric in task.metrics] == [*own, "logit-size"]
    assert task.primary.name == "accuracy"
    assert [metric.name for metric in task.extra_metrics] == ["logit-size"]
    assert host.task("parity:tag").extra_metrics == ()


def test_two_metrics_of_one_name_are_refused(host):
    host.metrics.add(MetricSpec("accuracy", 1, "", Accuracy, ("classify",)), host.plugins[0])
    with pytest.raises(RequestError, match="metric 'accuracy' is defined twice"):
        host.task("parity")


def test_a_metric_that_is_another_is_the_plugins_fault(host):
    host.metrics.add(MetricSpec("size", 1, "", Logits, ("classify",)), host.plugins[0])
    with pytest.raises(BrokenPluginError, match="the factory of the metric size gave logit-size"):
        host.task("parity")


# Sources.


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"splits": lambda self, objective: (1, 2)}, "splits of mine gave a tuple"),
        ({"alphabet": (0, 1)}, "mine: the symbols of its alphabet must be text"),
        ({"alphabet": 5}, "'int' object is not iterable"),
        ({"num_classes": "2"}, "cannot be interpreted as an integer"),
    ],
)
def test_a_language_that_is_none_is_the_plugins_fault(host, values, problem):
    factory = type(
        "Mine", (Parity,), {"__init__": lambda self: None, "alphabet": ("0", "1"), **values}
    )
    host.tasks.add(TaskSpec("mine", 1, "", factory, splits=Splits((1, 5), (6, 9))), host.plugins[0])
    with pytest.raises(BrokenPluginError, match=problem):
        host.task("mine")


# Networks.


def test_a_model_that_names_its_objectives_does_no_others(known):
    known.models.add(ModelSpec("picky", 1, "", Net, Width, objectives=("tag",)), known.plugins[0])
    assert known.network("picky", known.task("parity:tag")).width == 4
    with pytest.raises(
        RequestError, match="model picky does not support classify: it supports tag"
    ):
        known.network("picky", known.task("parity"))


def test_a_network_that_sees_the_whole_string_answers_only_where_it_may(known):
    for name in ("parity", "parity:around"):
        assert known.network("seeing", known.task(name)).traits.causal is False
    for name in ("parity:past", "parity:tag", "parity:next-symbols"):
        with pytest.raises(RequestError, match="its answers depend on later symbols") as caught:
            known.network("seeing", known.task(name))
        assert "\n" not in str(caught.value)
    assert known.network("backbone", known.task("parity:past")).traits.causal


def test_steps_are_answered_by_encoder_decoders_only(known):
    class Steps(Around):
        name, layout = "steps", "decoded"

    known.objectives.add(ObjectiveSpec("steps", "", Steps), known.plugins[0])
    task = known.task("parity:steps")
    assert isinstance(known.network("speaking", task), Speaking)
    for name in ("net", "backbone"):
        said = f"model {name} does not support steps: it needs an encoder-decoder"
        with pytest.raises(RequestError, match=said):
            known.network(name, task)


def test_a_width_that_is_no_number_is_the_plugins_fault(known):
    class Wide(Backbone):
        def __init__(self, task, config):
            super().__init__(task, config)
            self.traits = Traits(backbone="4")

    known.models.add(ModelSpec("wide", 1, "", Wide, Width), known.plugins[0])
    with pytest.raises(BrokenPluginError, match="backbone is a str: pass the width D"):
        known.network("wide", known.task("parity"))


def test_traits_that_are_none_are_the_plugins_fault(known):
    with pytest.raises(BrokenPluginError, match="traits is a str, not a formalbench"):
        known.network("mistaken", known.task("parity"))


# Everything else.


def test_every_metric_of_an_objective_is_announced_with_it(host):
    for entry in host.objectives.all():
        name = entry.spec.name
        task = host.task(trial_task(host, name))
        announced = {one.spec.name for one in host.metrics.all() if name in one.spec.named_by}
        assert not announced.intersection(entry.spec.metrics)  # each is announced once
        announced |= {*entry.spec.metrics}
        assert {metric.name for metric in task.metrics} == announced
        assert task.extra_metrics == ()


# From a name to what it means: factories, patterns, and the nearest of what there is.


def task(name="mine", factory="nowhere:Nothing", **more):
    return TaskSpec(name, 1, "a task", factory, **more)


def test_factories_are_lazy_or_not(host):
    plugin = host.plugins[0]
    built = []
    host.tasks.add(task("eager", lambda: built.append(1) or host.task("parity").source), plugin)
    languages = "formalbench_tasks.languages"
    host.tasks.add(task("lazy", f"{languages}.modular_arithmetic:CycleNavigation"), plugin)
    host.tasks.add(task("nowhere", "formalbench_tasks.nowhere:Nothing"), plugin)
    host.tasks.add(task("nothing", f"{languages}.modular_arithmetic:Nothing"), plugin)
    assert not built
    assert host.task("eager").source.oracle([1]) == 1
    assert built == [1]
    assert type(host.task("lazy").source).__name__ == "CycleNavigation"
    for name in ("nowhere", "nothing"):
        with pytest.raises(BrokenPluginError):
            host.task(name)


def test_the_shortcut_of_a_task_is_at_hand_and_nothing_is_built(host):
    built = []
    spec = task("mine-{k}", built.append, shortcuts={"mine-1": 0.7})
    host.tasks.add(spec, host.plugins[0])
    assert (host.shortcut("mine-1"), host.shortcut("mine-1:classify")) == (0.7, 0.7)
    assert host.shortcut("mine-2") is None
    assert not built
    assert host.shortcut("d2") > 0.9
    assert host.shortcut("parity[p=0.5]") == host.shortcut("parity")
    for other in ("d2:tag", "parity[p=0.3]", "reverse-string"):
        assert host.shortcut(other) is None
    with pytest.raises(RequestError, match="unknown task 'mine'"):
        host.shortcut("mine")


class MineConfig(Config):
    a: int = option(1, "", minimum=1)
    b: str = option("x", "")


def test_a_config_reaches_the_factory(host):
    got = []

    def factory(config, **fields):
        got.append((config, fields))
        return host.task("parity").source

    spec = task("mine-{k}", factory, config=MineConfig, defaults={"b": "y"})
    host.tasks.add(spec, host.plugins[0])
    assert host.task("mine-7", {"a": 5}).parameters == {"a": 5}
    assert host.task("mine-8[a=3,b=x]").parameters == {"a": 3, "b": "x"}
    assert host.task("mine-9:classify[a=1]").parameters == {}
    assert got == [
        (MineConfig(a=5, b="y"), {"k": 7}),
        (MineConfig(a=3, b="x"), {"k": 8}),
        (MineConfig(a=1, b="y"), {"k": 9}),
    ]
    with pytest.raises(RequestError, match="mine-7: a=0: must be at least 1"):
        host.task("mine-7", {"a": 0})
    with pytest.raises(RequestError, match=r"mine-7: a=0: must be at least 1"):
        host.task("mine-7[a=0]")
    with pytest.raises(RequestError, match="unknown option of mine-7 'c'"):
        host.task("mine-7[c=0]")


def test_patterns(host):
    got = []

    def factory(**fields):
        got.append(fields)
        return host.task("parity").source

    spec = task("zyck-{k}-{D}", factory, objectives=("classify", "tag"))
    host.tasks.add(spec, host.plugins[0])
    built = host.task("zyck-2-13:tag")
    assert got == [{"k": 2, "D": 13}]
    assert built.name == "zyck-2-13:tag"
    assert "zyck-{k}-{D}" in [entry.spec.name for entry in host.tasks.all()]
    for name in ("zyck-2", "zyck-2-x", "zyck-2-3-4", "zyck-02-3"):
        with pytest.raises(RequestError, match="unknown task"):
            host.task(name)


def test_a_name_and_a_pattern_that_both_fit_are_a_clash(host):
    host.tasks.add(task("zyck-{k}-{D}"), host.plugins[0])
    host.tasks.add(task("zyck-2-3"), host.plugins[1])
    with pytest.raises(RequestError, match="defined twice") as caught:
        host.tasks.get("zyck-2-3")
    assert host.plugins[0].name in str(caught.value)
    assert host.plugins[1].name in str(caught.value)
    assert host.tasks.get("zyck-2-4")[1] == {"k": 2, "D": 4}


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("tasks", "tomita3", "tomita-3"),
        ("suites", "defualt", "did you mean default"),
        ("protocols", "quik", "did you mean quick"),
        ("protocols", "zzzzzz", "`formalbench list protocols` lists all"),
        ("suites", "zzzzzz", "`formalbench list suites` lists all"),
        ("optimisers", "zzzzzz", "known: adam, adamw, lion, muon, sgd"),
        ("tasks", "dyck-{k}", "task 'dyck-{k}' is a pattern: fill in k, as in dyck-2"),
        ("tasks", "dyck-{k}-{D}", "fill in k and D, as in dyck-2-2"),
        ("models", "exact-dyck-1-{D}", "fill in D, as in exact-dyck-1-2"),
    ],
)
def test_an_unknown_name_hears_of_the_nearest(host, kind, name, hint):
    assert hint in refusal(lambda: getattr(host, kind).get(name))


def test_an_objective_that_the_source_cannot_answer(host):
    assert refusal(lambda: host.select_task("modular-arithmetic:tag")) == (
        "modular-arithmetic does not support tag: use modular-arithmetic:classify (tag needs the "
        "class of every prefix, and ModularArithmetic does not have it (inherit "
        "formalbench.HasPrefixClasses))"
    )
