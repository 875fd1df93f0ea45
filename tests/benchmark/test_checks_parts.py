"""The checks of metrics, optimisers and other parts of a plugin."""

import pytest
from formalbench.checks import check_plugin
from formalbench.checks.plugins import check_parts, keep, part_promises
from formalbench.contracts.training import Optimiser, Penalty

PARTS = """
    from formalbench import Metric, MetricSpec, ProbeSpec, hookimpl

    class Zero(Metric):
        name = "{name}"

        def measure(self, logits, example):
            return logits.new_zeros(2)

    @hookimpl
    def formalbench_metrics():
        yield MetricSpec("zero", 1, "for tests", {factory}, ("classify",))

    @hookimpl
    def formalbench_probes():
        yield ProbeSpec("nothing", "for tests", lambda trace: dict())
"""


@pytest.mark.parametrize(
    ("name", "factory", "problem"),
    [
        ("zero", "Zero", ""),
        ("nought", "Zero", "its name is 'nought', not 'zero'"),
        ("zero", "dict", "the factory returned a dict, no Metric"),
    ],
)
def test_metrics_and_the_like_are_made_by_their_factories(write, name, factory, problem):
    path = write("parts.py", PARTS.format(name=name, factory=factory))
    checks = {one.subject: one.problem for one in check_plugin(path)}
    assert checks["metric zero"] == problem
    assert checks["probe nothing"] == ""
    assert ("metric zero on parity:classify" in checks) == (not problem)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("return logits.new_zeros(2)", "return logits.nowhere", "no attribute 'nowhere'"),
        (
            "return logits.new_zeros(2)",
            "return logits.new_tensor([1, 1])",
            "1 of 1 in padded strings, 3 of 3 in the same",
        ),
        ('("classify",)', '("clasify",)', "no registered task has the objective clasify"),
    ],
)
def test_a_metric_with_a_defect(write, old, new, problem):
    path = write("parts.py", PARTS.format(name="zero", factory="Zero").replace(old, new))
    broken = [one.problem for one in check_plugin(path) if not one.passed]
    assert any(problem in line for line in broken), broken


class Steps(Optimiser):
    """Gradient descent."""

    slots = ("momentum",)

    def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        slots[0].lerp_(gradient_RP, 0.1)
        parameters_RP.sub_(rate * slots[0])


class StepsTogether(Steps):
    def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        parameters_RP.sub_(rate * gradient_RP / gradient_RP.norm())


class StepsNowhere(Steps):
    def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        parameters_RP = parameters_RP - rate * gradient_RP


class StepsFar(Steps):
    def step(self, parameters_RP, gradient_RP, slots, rate, scalars, decay):
        parameters_RP.div_(slots[0])


@pytest.mark.parametrize(
    ("optimiser", "problems"),
    [
        (Steps, []),
        (StepsTogether, ["the update of a run depends on other runs"]),
        (StepsNowhere, ["nothing changed"]),
        (StepsFar, ["a parameter is not finite"]),
    ],
)
def test_an_optimiser_with_a_defect(optimiser, problems):
    checks = keep("optimiser", part_promises("optimiser", optimiser()))
    assert [one.problem for one in checks if not one.passed] == problems


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        (lambda logits, parameters: logits.square().mean(), ""),
        (lambda logits, parameters: parameters["hidden.weight"].abs().sum(), ""),
        (lambda logits, parameters: 0.5, "it is a float, not a tensor"),
        (lambda logits, parameters: logits.square(), "it has the shape (1, 8), not ()"),
        (lambda logits, parameters: logits.sum().detach(), "depends on neither"),
        (lambda logits, parameters: logits.sum().square() / 0, "it is inf"),
        (lambda logits, parameters: logits[9].sum(), "IndexError"),
        (lambda logits, parameters: logits.sum() * bool(logits.sum() > 0), "vmap"),
    ],
)
def test_a_penalty_with_a_defect(term, problem):
    class Term(Penalty):
        def term(self, logits, trace, parameters):
            return term(logits, parameters)

    (check,) = keep("penalty", part_promises("penalty", Term()))
    assert problem in check.problem
    assert check.passed is (not problem)


def test_the_engines_own_optimisers_and_schedules_keep_their_promises(host):
    engine = next(entry.plugin for entry in host.optimisers.all() if entry.spec.name == "adam")
    checks = [one for one in check_parts(host, engine) if one.subject.split()[0] != "executor"]
    assert {"optimiser adamw", "optimiser sgd", "schedule plateau"} < {c.subject for c in checks}
    assert [one for one in checks if not one.passed] == []
