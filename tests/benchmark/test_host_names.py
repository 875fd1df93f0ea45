"""From names to objectives, metrics and networks: what fits together, and what is refused."""

import pytest
import torch
from formalbench.checks.plugins import trial_task
from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.network import Batch, Example, Traits
from formalbench.contracts.objective import Metric
from formalbench.contracts.source import HasMembers, Language
from formalbench.contracts.specs import MetricSpec, ModelSpec, ObjectiveSpec, TaskSpec
from formalbench.objectives.classify import Classify
from formalbench.readout import Readout
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
    assert "first-symbol" not in known.task_entry("cycle-navigation")[0].spec.objectives
    assert known.task_entry("cycle-navigation:first-symbol")[1] == "first-symbol"


def test_what_a_source_lacks_is_named(known):
    class Bare(Language):
        alphabet = ("a",)

        def sample(self, stream, length, count):
            return stream.integers(1, (count, length))

        def classify(self, strings):
            return strings.sum(1)

        def oracle(self, string):
            return 0

    known.tasks.add(TaskSpec("bare", 1, "", Bare, ("classify", "needy")), known.plugins[0])
    assert known.task("bare").source_name == "bare"
    with pytest.raises(RequestError) as caught:
        known.task("bare:needy")
    assert str(caught.value) == (
        "bare: needy needs members and what may follow a prefix, and Bare does not have it "
        "(inherit formalbench.HasMembers)"
    )


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
    with pytest.raises(RequestError) as caught:
        known.task("parity:derived")
    assert str(caught.value) == (
        "parity: derived needs a HasGrammar, and Parity is none (inherit HasGrammar)"
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
    with pytest.raises(RequestError, match="metric 'accuracy' is announced twice"):
        host.task("parity")


def test_a_metric_that_is_another_is_the_plugins_fault(host):
    host.metrics.add(MetricSpec("size", 1, "", Logits, ("classify",)), host.plugins[0])
    with pytest.raises(BrokenPluginError, match="the factory of the metric size gave logit-size"):
        host.task("parity")


# Networks.


def test_a_config_reaches_a_network(known):
    task = known.task("parity")
    assert known.network("net", task).width == 4
    assert known.network("net", task, {"width": 7}).width == 7
    assert known.network("net[width=9]", task).width == 9
    with pytest.raises(RequestError, match="net: width=0: must be at least 1"):
        known.network("net[width=0]", task)
    with pytest.raises(RequestError, match="net: width=0: must be at least 1"):
        known.network("net", task, {"width": 0})


def test_a_backbone_is_read_out(known):
    task = known.task("parity:tag")
    network = known.network("backbone[width=5]", task)
    assert isinstance(network, Readout)
    assert network(Batch(torch.zeros(3, 6, dtype=torch.int64))).shape == (3, 6, task.outputs)
    assert not isinstance(known.network("net", task), Readout)


def test_a_model_that_names_its_objectives_does_no_others(known):
    known.models.add(ModelSpec("picky", 1, "", Net, Width, objectives=("tag",)), known.plugins[0])
    assert known.network("picky", known.task("parity:tag")).width == 4
    with pytest.raises(RequestError, match="model picky does not do classify: it does tag"):
        known.network("picky", known.task("parity"))


def test_a_network_that_sees_the_whole_string_answers_only_where_it_may(known):
    for name in ("parity", "parity:around"):
        assert known.network("seeing", known.task(name)).traits.causal is False
    for name in ("parity:past", "parity:tag", "parity:next-symbols"):
        with pytest.raises(RequestError, match="may not see what follows it") as caught:
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
        with pytest.raises(RequestError, match=f"model {name} does not do steps: .* step by step"):
            known.network(name, task)


def test_traits_that_are_none_are_the_plugins_fault(known):
    with pytest.raises(BrokenPluginError, match="traits is a str, not a formalbench"):
        known.network("mistaken", known.task("parity"))


# Everything else.


def test_what_the_engine_and_the_texts_announce(host):
    def names(registry, plugin="formalbench"):
        return {entry.spec.name for entry in registry.all() if entry.plugin.name == plugin}

    assert names(host.objectives) == {
        *("classify", "tag", "next-symbols", "generate", "transduce", "decode")
    }
    assert names(host.objectives, "formalbench-text") == {"causal-lm", "masked-lm", "translate"}
    assert names(host.optimisers) == {"adam", "adamw", "lion", "muon", "sgd"}
    assert names(host.schedules) == {"constant", "linear", "cosine", "inverse-sqrt", "plateau"}
    assert names(host.executors) == {"serial", "local"}
    assert names(host.probes) == {"attention-on-first", "attention-entropy"}
    assert names(host.metrics, "formalbench-text") == {"perplexity", "bleu"}
    for name in names(host.objectives):
        assert host.objective(name).name == name


def test_every_metric_of_an_objective_is_announced_with_it(host):
    for entry in host.objectives.all():
        name = entry.spec.name
        task = host.task(trial_task(host, name))
        announced = {one.spec.name for one in host.metrics.all() if name in one.spec.named_by}
        assert not announced.intersection(entry.spec.metrics)  # each is announced once
        announced |= {*entry.spec.metrics}
        assert {metric.name for metric in task.metrics} == announced
        assert task.extra_metrics == ()


@pytest.mark.parametrize(
    "kind", ["optimisers", "schedules", "executors", "trackers", "probes", "metrics"]
)
def test_every_factory_that_the_engine_announces_can_be_found(host, kind):
    from formalbench.host.host import load
    from formalbench.host.options import make_config

    for entry in host.registries[kind].all():
        assert callable(load(entry.spec.factory))
        if hasattr(entry.spec, "config"):
            make_config(entry.spec)
