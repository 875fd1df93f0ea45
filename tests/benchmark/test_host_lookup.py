"""From a name to what it means: factories, patterns, and the nearest of what there is."""

import pytest
from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.specs import (
    TaskSpec,
)


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
    with pytest.raises(RequestError, match="announced twice") as caught:
        host.tasks.get("zyck-2-3")
    assert host.plugins[0].name in str(caught.value)
    assert host.plugins[1].name in str(caught.value)
    assert host.tasks.get("zyck-2-4")[1] == {"k": 2, "D": 4}


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("tasks", "partiy", "did you mean parity"),
        ("tasks", "tomita3", "tomita-3"),
        ("models", "lsmt", "did you mean lstm"),
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
    with pytest.raises(RequestError) as caught:
        getattr(host, kind).get(name)
    assert hint in str(caught.value)


def test_an_objective_that_the_source_cannot_answer(host):
    with pytest.raises(RequestError) as caught:
        host.task_entry("modular-arithmetic:tag")
    assert str(caught.value) == (
        "modular-arithmetic: tag needs the class of every prefix, and ModularArithmetic does not "
        "have it (inherit formalbench.HasPrefixClasses)"
    )
